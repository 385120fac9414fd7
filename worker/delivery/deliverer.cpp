#include "worker/delivery/deliverer.hpp"

#include <exception>
#include <list>
#include <thread>
#include <utility>

#include "worker/connection.hpp"
#include "worker/delivery/deadline.hpp"
#include "worker/delivery/sender.hpp"
#include "worker/log.hpp"
#include "worker/metrics.hpp"
#include "worker/stop.hpp"
#include "worker/version.hpp"

namespace backfill::worker {

namespace {

constexpr std::chrono::milliseconds warn_every = std::chrono::minutes(1);

struct Waiting {
	std::string channel;
	long long pending; // may be none, where a claim has lapsed
};

// A row of channel, pending, claimed, unknown, dead.
void measure(const Row &row, metrics::Values &messages) {
	constexpr const char *states[] = {"pending", "claimed", "unknown", "dead"};
	std::size_t column = 1;
	for (const char *const state : states)
		messages["channel=\"" + row.at(0).value() + "\",state=\"" + state + "\""] = std::stod(row.at(column++).value());
}

// Channels in which something waits. Whoever measures learns of all that the database has.
std::vector<Waiting> waiting(const std::string &target) {
	Connection connection(target);
	require_same_version(connection);
	std::vector<Waiting> found;
	metrics::Values messages;
	for (const Row &row : connection.query("SELECT channel, pending, claimed, unknown, dead, pending > 0 OR lapsed > 0 FROM backfill.channel_status ORDER BY channel")) {
		measure(row, messages);
		if (row.at(5) == "t")
			found.push_back({row.at(0).value(), std::stoll(row.at(1).value())});
	}
	metrics::replace("pg_backfill_outbox_messages", std::move(messages));
	return found;
}

void drain_channel(const std::string &target, const DeliverySettings &settings, const ChannelSettings &channel, DeliveryTally &tally) {
	Pace pace(channel.name, channel.breaker, channel.per_second);
	Sender(target, settings, channel, pace, tally).drain();
}

// Where that was not asked for it may be a configuration that was forgotten.
void tell_inert(const std::vector<Waiting> &ended, bool asked_for) {
	long long messages = 0;
	for (const Waiting &found : ended)
		messages += found.pending;
	log::write(asked_for ? log::Level::info : log::Level::warning, "delivering_nothing",
	           {{"messages", messages}, {"hint", "no channel is configured, so messages end as suppressed (inert) and are not sent"}});
}

} // namespace

Deliverer::Deliverer(std::string target, DeliverySettings settings)
	: target_(std::move(target)), settings_(std::move(settings)) {}

void Deliverer::serve() {
	if (settings_.channels.empty()) {
		serve_inert();
		return;
	}
	std::list<Pace> paces;
	DeliveryTally tally;
	std::vector<std::thread> threads;
	for (const auto &[name, channel] : settings_.channels) {
		log::info("delivering", {{"channel", name}, {"kind", channel.kind}, {"inert", channel.inert ? "yes" : "no"},
		                         {"when_unknown", channel.hold ? "hold" : "retry"}});
		Pace &pace = paces.emplace_back(name, channel.breaker, channel.per_second);
		for (int sender = 0; sender < channel.senders; ++sender)
			threads.emplace_back([this, &channel = channel, &pace, &tally] { Sender(target_, settings_, channel, pace, tally).serve(); });
	}
	do
		warn_of_channels();
	while (deadline::wait(warn_every));
	for (std::thread &thread : threads)
		thread.join();
}

// Nobody else may be doing it, and then nobody would notice.
void Deliverer::warn_of_channels() {
	try {
		for (const Waiting &found : waiting(target_))
			if (!settings_.channels.contains(found.channel))
				log::warning("channel_not_configured", {{"channel", found.channel},
				                                        {"hint", "messages wait there; this worker has no [channel." + found.channel + "]"}});
	} catch (const std::exception &) {
		// The senders say it.
	}
}

void Deliverer::serve_inert() {
	std::string last;
	bool told = false;
	while (!stop::requested()) {
		try {
			const std::vector<Waiting> ended = waiting(target_);
			if (!std::exchange(told, true))
				tell_inert(ended, settings_.inert);
			for (const Waiting &found : ended) {
				DeliveryTally tally;
				const ChannelSettings channel = DeliverySettings::inert_channel(found.channel);
				drain_channel(target_, settings_, channel, tally);
			}
			last.clear();
		} catch (const std::exception &error) {
			if (last != error.what())
				log::error("delivery_interrupted", {{"error", explained(error)}});
			last = error.what();
		}
		deadline::wait(settings_.rescan);
	}
}

std::vector<Deliverer::Drained> Deliverer::drain() {
	std::map<std::string, ChannelSettings> channels = settings_.channels;
	if (channels.empty())
		for (const Waiting &found : waiting(target_))
			channels.emplace(found.channel, DeliverySettings::inert_channel(found.channel));
	std::vector<std::thread> threads;
	std::list<DeliveryTally> tallies;
	std::list<std::exception_ptr> failures;
	for (const auto &[name, channel] : channels)
		threads.emplace_back([this, &channel = channel, &tally = tallies.emplace_back(), &failure = failures.emplace_back()] {
			try {
				drain_channel(target_, settings_, channel, tally);
			} catch (...) {
				failure = std::current_exception();
			}
		});
	for (std::thread &thread : threads)
		thread.join();
	for (const std::exception_ptr &failure : failures)
		if (failure)
			std::rethrow_exception(failure);

	std::map<std::string, long long> left;
	for (const Waiting &found : waiting(target_))
		left[found.channel] = found.pending;
	std::vector<Drained> drained;
	auto tally = tallies.begin();
	for (const auto &[name, channel] : channels) {
		drained.push_back({name, channel.kind, tally->sent, tally->inert, tally->failed, tally->given_back, tally->dead, tally->unknown, left[name]});
		left.erase(name);
		++tally;
	}
	for (const auto &[name, count] : left)
		drained.push_back({name, "not configured", 0, 0, 0, 0, 0, 0, count});
	return drained;
}

} // namespace backfill::worker
