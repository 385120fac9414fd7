#pragma once

#include <chrono>
#include <mutex>
#include <string>

#include "core/breaker.hpp"
#include "worker/channel/channel.hpp"

namespace backfill::worker {

// When the senders of a channel may try it: its breaker, its rate, and what its receiver asked for. One for all of them.
class Pace {
public:
	using Time = std::chrono::milliseconds;

	Pace(std::string channel, const core::Breaker::Policy &policy, double per_second);

	struct Leave {
		bool may_try = false;
		bool only_one = false; // the trial of an open breaker
		Time wait{0};          // until it is worth asking again
	};
	Leave ask(Time now);
	// Nothing was there to try with: the trial is for the next one who asks.
	void unused(Time now);
	// How long until the next message may go; it has that turn.
	Time take_turn(Time now);

	// Answers whether the breaker is open: then what failed is an outage, which uses up no attempts.
	bool report(const Outcome &outcome, Time now);

private:
	std::mutex mutex_;
	std::string channel_;
	core::Breaker breaker_;
	Time spacing_;
	Time next_turn_{0};
	Time paused_until_{0};
};

} // namespace backfill::worker
