#include "worker/delivery/sender.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <thread>
#include <utility>

#include "worker/delivery/deadline.hpp"
#include "worker/failpoint.hpp"
#include "worker/log.hpp"
#include "worker/metrics.hpp"
#include "worker/stop.hpp"
#include "worker/version.hpp"

namespace backfill::worker {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds longest_kept = seconds(1);
constexpr milliseconds longest_backoff = seconds(30);

double jitter() {
	thread_local std::mt19937_64 random{std::random_device{}()};
	return std::uniform_real_distribution<double>(0, 1)(random);
}

} // namespace

Sender::Sender(std::string target, const DeliverySettings &settings, const ChannelSettings &channel, Pace &pace, DeliveryTally &tally)
	: target_(std::move(target)), settings_(settings), channel_(channel), pace_(pace), tally_(tally), way_(channel.open()) {}

void Sender::connect() {
	if (connection_)
		return;
	const std::optional<std::string> bound_to = Binding(settings_.binding_file).read();
	if (!bound_to && !channel_.inert)
		throw NotBound("this worker is not bound to a database\nHINT:  Run pg_backfill bind with this configuration, if this is the one to deliver for.");
	auto connection = std::make_unique<Connection>(target_);
	require_same_version(*connection);
	connection_ = std::move(connection);
	outbox_.emplace(*connection_, channel_, bound_to);
}

void Sender::disconnect() {
	outbox_.reset();
	connection_.reset();
}

// A right that is lacking stays so until somebody does something: to say it once is enough.
void Sender::complain(const std::exception &error, milliseconds wait) {
	const auto *const query = dynamic_cast<const QueryError *>(&error);
	const bool is_refusal = query != nullptr && query->is_refusal();
	if (is_refusal && std::exchange(told_of_refusal_, true))
		return;
	const bool is_bound = dynamic_cast<const NotBound *>(&error) == nullptr;
	log::error(is_bound ? "delivery_interrupted" : "delivery_not_bound",
	           {{"channel", channel_.name}, {"error", explained(error)}, {"retry_ms", wait.count()}});
}

void Sender::serve() {
	milliseconds backoff = std::min<milliseconds>(settings_.rescan, seconds(1));
	while (!stop::requested()) {
		try {
			connect();
			const Turn done = turn();
			told_of_refusal_ = false;
			backoff = std::min<milliseconds>(settings_.rescan, seconds(1));
			if (done == Turn::empty)
				deadline::wait(settings_.poll);
			else if (done == Turn::not_now)
				deadline::wait(std::clamp(not_now_, milliseconds(1), settings_.rescan));
		} catch (const std::exception &error) {
			complain(error, backoff);
			disconnect();
			deadline::wait(backoff);
			backoff = std::min(backoff * 2, longest_backoff);
		}
	}
	say_at_last();
}

void Sender::drain() {
	connect();
	low_ = 0;
	while (!stop::requested()) {
		const Turn done = turn();
		if (done == Turn::not_now || (done == Turn::empty && low_ == 0))
			break;
		if (done == Turn::empty)
			low_ = 0;
	}
	say_at_last();
}

Sender::Turn Sender::turn() {
	say_kept();
	const milliseconds now = deadline::now();
	const Pace::Leave leave = pace_.ask(now);
	if (!leave.may_try) {
		not_now_ = leave.wait;
		return Turn::not_now;
	}
	// Retries, lapsed leases and late commits lie below what was claimed last.
	if (now - scanned_at_ >= settings_.rescan) {
		low_ = 0;
		scanned_at_ = now;
	}
	Claim claim = leave.only_one ? claim_trial() : outbox_->claim(channel_.batch, low_);
	if (claim.messages.empty()) {
		pace_.unused(now);
		return Turn::empty;
	}
	(leave.only_one ? tried_ : low_) = claim.messages.back().message.id;
	send_all(std::move(claim));
	return Turn::sent;
}

// While the channel is not trusted each trial is of another message, or a few that cannot be delivered would keep all
// that are behind them.
Claim Sender::claim_trial() {
	Claim claim = outbox_->claim(1, tried_);
	return claim.messages.empty() && tried_ > 0 ? outbox_->claim(1, 0) : claim;
}

void Sender::send_all(Claim claim) {
	go_on_ = true;
	lease_until_ = claim.lease_until;
	while (!claim.messages.empty() && send_next(claim)) {
	}
	if (!claim.messages.empty())
		give_back(claim);
	say_kept();
}

bool Sender::send_next(Claim &claim) {
	if (stop::requested() || !wait_for_turn())
		return false;
	if (!lease_lasts(claim))
		return false;
	const Claimed claimed = std::move(claim.messages.front());
	claim.messages.pop_front();
	if (deadline::now() >= claimed.expires) {
		// The database's clock says so when it is claimed again, which ends it.
		keep({Word::Kind::given_back, claimed.message.token, "", milliseconds(0), {claimed.message.id}});
		scanned_at_ = milliseconds(0);
		return true;
	}
	attempt(claimed);
	return go_on_;
}

bool Sender::wait_for_turn() {
	if (channel_.inert)
		return true;
	const milliseconds left = pace_.take_turn(deadline::now());
	if (left.count() <= 0)
		return true;
	say_kept();
	return deadline::wait(left);
}

bool Sender::lease_lasts(Claim &claim) {
	// Twice: ending a connection to a server that does not answer may take as long again.
	if (claim.lease_until - deadline::now() > channel_.timeout * 2 + channel_.timeout / 10)
		return true;
	say_kept();
	outbox_->heartbeat(claim);
	lease_until_ = claim.lease_until;
	return !claim.messages.empty();
}

void Sender::attempt(const Claimed &claimed) {
	const Message &message = claimed.message;
	const auto began = std::chrono::steady_clock::now();
	const auto taken = [&] { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count(); };
	if (channel_.inert) {
		rehearse(message);
		return;
	}
	Outcome outcome;
	try {
		failpoint::reach("sending");
		outcome = way_->send(message);
		failpoint::reach("sent");
	} catch (const rule::TemplateFailed &failure) {
		log::warning("message_cannot_be_made", {{"message", message.id}, {"channel", channel_.name}, {"error", failure.what()}});
		const Word word{Word::Kind::dead, message.token, failure.reason(), milliseconds(0), {message.id}};
		record(message, word, taken());
		keep(word);
		return;
	}
	settle(message, outcome, taken());
}

// Everything but the sending, so that what is wrong shows here too.
void Sender::rehearse(const Message &message) {
	std::string what, reason;
	try {
		what = way_->describe(message);
	} catch (const rule::TemplateFailed &failure) {
		reason = failure.reason();
	}
	log::info("would_send", {{"message", message.id}, {"channel", channel_.name}, {"type", message.type}, {"key", message.key},
	                         {"what", what}, {"reason", reason}});
	const Word word{Word::Kind::inert, message.token, reason, milliseconds(0), {message.id}};
	record(message, word, 0);
	keep(word);
}

void Sender::settle(const Message &message, const Outcome &outcome, double milliseconds) {
	const bool open = pace_.report(outcome, deadline::now());
	go_on_ = !open && !outcome.throttled;
	Word word = word_for(message, outcome);
	// An outage uses up no attempts. What was only refused for now has proved that it was not taken.
	if (word.kind == Word::Kind::retry && open)
		word.kind = Word::Kind::given_back;
	record(message, word, milliseconds);
	keep(std::move(word));
}

Word Sender::word_for(const Message &message, const Outcome &outcome) const {
	Word word{Word::Kind::sent, message.token, outcome.reason, milliseconds(0), {message.id}};
	word.retry_in = core::retry_delay(channel_.retry, message.attempt, jitter(), outcome.retry_after);
	switch (outcome.attempt) {
	case core::Attempt::sent: word.reason.clear(); break;
	case core::Attempt::nothing_left: word.kind = Word::Kind::given_back; break;
	case core::Attempt::retry: word.kind = Word::Kind::retry; break;
	case core::Attempt::refused: word.kind = Word::Kind::dead; break;
	case core::Attempt::unknown: word.kind = channel_.hold ? Word::Kind::unknown_held : Word::Kind::unknown_retry; break;
	}
	return word;
}

void Sender::record(const Message &message, const Word &word, double milliseconds) {
	struct Told {
		const char *status;
		std::atomic<long long> DeliveryTally::*count;
	};
	static constexpr Told told[] = {{"sent", &DeliveryTally::sent},       {"inert", &DeliveryTally::inert},
	                                {"dead", &DeliveryTally::dead},       {"failed", &DeliveryTally::failed},
	                                {"unknown", &DeliveryTally::unknown}, {"unknown", &DeliveryTally::unknown},
	                                {"given_back", &DeliveryTally::given_back}};
	const Told &what = told[static_cast<size_t>(word.kind)];
	++(tally_.*what.count);
	metrics::count("pg_backfill_deliveries_total", "channel=\"" + channel_.name + "\",status=\"" + what.status + "\"");
	const bool good = word.kind == Word::Kind::sent || word.kind == Word::Kind::inert;
	log::write(good ? log::Level::info : log::Level::warning, "delivery",
	           {{"message", message.id}, {"channel", channel_.name}, {"type", message.type}, {"attempt", message.attempt},
	            {"status", what.status}, {"reason", word.reason}, {"ms", std::round(milliseconds * 1000) / 1000}});
}

// The claim's attempt is given back with it: nothing of these was begun.
void Sender::give_back(const Claim &claim) {
	Word word{Word::Kind::given_back, claim.messages.front().message.token, "", milliseconds(0), {}};
	for (const Claimed &claimed : claim.messages)
		word.messages.push_back(claimed.message.id);
	keep(std::move(word));
	scanned_at_ = milliseconds(0);
}

void Sender::keep(Word word) {
	if (kept_.empty())
		kept_since_ = deadline::now();
	Word *const last = kept_.empty() ? nullptr : &kept_.back();
	if (last != nullptr && last->kind == word.kind && last->token == word.token && word.kind <= Word::Kind::inert)
		last->messages.insert(last->messages.end(), word.messages.begin(), word.messages.end());
	else
		kept_.push_back(std::move(word));
	// Where a second sending would do harm each word is said before the next byte leaves.
	if (channel_.hold || deadline::now() - kept_since_ >= longest_kept)
		say_kept();
}

void Sender::say_kept() {
	while (!kept_.empty()) {
		try {
			outbox_->say(kept_.front());
		} catch (const QueryError &error) {
			// Tried again with a new session, but not for ever.
			if (deadline::now() < lease_until_)
				throw;
			log::error("word_lost", {{"channel", channel_.name}, {"token", kept_.front().token}, {"error", error.what()}});
		}
		kept_.pop_front();
	}
}

void Sender::say_at_last() {
	while (!kept_.empty()) {
		try {
			connect();
			say_kept();
		} catch (const std::exception &error) {
			complain(error, milliseconds(100));
			disconnect();
			if (deadline::passed(settings_.shutdown) || !stop::requested())
				return;
			std::this_thread::sleep_for(milliseconds(100));
		}
	}
}

} // namespace backfill::worker
