#include "worker/delivery/pace.hpp"

#include <algorithm>

#include "worker/log.hpp"
#include "worker/metrics.hpp"

namespace backfill::worker {

Pace::Pace(std::string channel, const core::Breaker::Policy &policy, double per_second)
	: channel_(std::move(channel)), breaker_(policy),
	  spacing_(per_second > 0 ? static_cast<Time::rep>(1000 / per_second) : 0) {}

Pace::Leave Pace::ask(Time now) {
	const std::scoped_lock lock(mutex_);
	if (now < paused_until_)
		return {false, false, paused_until_ - now};
	const bool open = breaker_.is_open();
	if (!breaker_.may_try(now))
		return {false, true, breaker_.retry_at() - now};
	return {true, open, Time(0)};
}

void Pace::unused(Time now) {
	const std::scoped_lock lock(mutex_);
	breaker_.unused(now);
}

Pace::Time Pace::take_turn(Time now) {
	const std::scoped_lock lock(mutex_);
	const Time turn = std::max(now, next_turn_);
	next_turn_ = turn + spacing_;
	return turn - now;
}

bool Pace::report(const Outcome &outcome, Time now) {
	const std::scoped_lock lock(mutex_);
	const bool was_open = breaker_.is_open();
	if (outcome.retry_after && outcome.attempt != core::Attempt::refused)
		paused_until_ = std::max(paused_until_, now + *outcome.retry_after);
	if (outcome.throttled) {
		// Up, and busy: it waits, and a pause without a time is a second.
		paused_until_ = std::max(paused_until_, now + std::chrono::seconds(1));
		breaker_.succeeded();
	} else if (outcome.attempt == core::Attempt::sent || (outcome.attempt == core::Attempt::refused && !outcome.about_channel)) {
		breaker_.succeeded();
	} else {
		breaker_.failed(now);
	}
	const bool open = breaker_.is_open();
	if (open != was_open) {
		log::write(open ? log::Level::warning : log::Level::info, open ? "channel_paused" : "channel_resumed",
		           {{"channel", channel_}, {"reason", outcome.reason}});
		metrics::set("pg_backfill_channel_paused", "channel=\"" + channel_ + "\"", open ? 1 : 0);
	}
	return open;
}

} // namespace backfill::worker
