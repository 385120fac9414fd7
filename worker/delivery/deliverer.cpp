#include "worker/delivery/deliverer.hpp"

#include <exception>
#include <list>
#include <set>
#include <thread>

#include "worker/connection.hpp"
#include "worker/delivery/deadline.hpp"
#include "worker/delivery/sender.hpp"
#include "worker/log.hpp"
#include "worker/stop.hpp"
#include "worker/version.hpp"

namespace backfill::worker {

namespace {

constexpr std::chrono::milliseconds warn_every = std::chrono::minutes(1);

// Channels and how many messages wait in each.
std::vector<Row> pending(const std::string &target) {
	Connection connection(target);
	require_same_version(connection);
	return connection.query("SELECT channel, pending FROM backfill.channel_status WHERE pending > 0 OR lapsed > 0 ORDER BY channel");
}

void drain_channel(const std::string &target, const DeliverySettings &settings, const ChannelSettings &channel, DeliveryTally &tally) {
	Pace pace(channel.name, channel.breaker, channel.per_second);
	Sender(target, settings, channel, pace, tally).drain();
}

} // namespace

Deliverer::Deliverer(std::string target, Configuration &configuration)
	: target_(std::move(target)), settings_(DeliverySettings::read(configuration)) {}

std::vector<std::string> Deliverer::waiting_channels() {
	std::vector<std::string> names;
	for (const Row &row : pending(target_))
		names.push_back(row.at(0).value_or(""));
	return names;
}

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
		for (const std::string &name : waiting_channels())
			if (!settings_.channels.contains(name))
				log::warning("channel_not_configured", {{"channel", name}, {"hint", "messages wait there; this worker has no [channel." + name + "]"}});
	} catch (const std::exception &) {
		// The senders say it.
	}
}

void Deliverer::serve_inert() {
	log::info("delivering_nothing", {{"reason", "no channel is configured, so all are inert"}});
	std::string last;
	while (!stop::requested()) {
		try {
			for (const std::string &name : waiting_channels()) {
				DeliveryTally tally;
				const ChannelSettings channel = DeliverySettings::inert_channel(name);
				drain_channel(target_, settings_, channel, tally);
			}
			last.clear();
		} catch (const std::exception &error) {
			if (last != error.what())
				log::error("delivery_interrupted", {{"error", error.what()}});
			last = error.what();
		}
		deadline::wait(settings_.rescan);
	}
}

std::vector<Deliverer::Drained> Deliverer::drain() {
	std::map<std::string, ChannelSettings> channels = settings_.channels;
	if (channels.empty())
		for (const std::string &name : waiting_channels())
			channels.emplace(name, DeliverySettings::inert_channel(name));
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

	std::map<std::string, long long> waiting;
	for (const Row &row : pending(target_))
		waiting[row.at(0).value_or("")] = std::stoll(row.at(1).value_or("0"));
	std::vector<Drained> drained;
	auto tally = tallies.begin();
	for (const auto &[name, channel] : channels) {
		drained.push_back({name, channel.kind, tally->sent, tally->inert, tally->failed, tally->given_back, tally->dead, tally->unknown, waiting[name]});
		waiting.erase(name);
		++tally;
	}
	for (const auto &[name, count] : waiting)
		drained.push_back({name, "not configured", 0, 0, 0, 0, 0, 0, count});
	return drained;
}

} // namespace backfill::worker
