#pragma once

#include <chrono>

namespace backfill::core {

// Stops trying a channel whose provider is down. Closed: all may try. After `threshold` failures in a row it opens;
// when its time has passed one attempt may try (half open): success closes it, failure opens it for twice as long.
// Time is passed in, any steady scale. Only failures that say something about the provider are to be reported, not a
// refusal of one message.
class Breaker {
public:
	using Time = std::chrono::milliseconds;

	struct Policy {
		int threshold = 5;
		Time first_pause{std::chrono::seconds{10}};
		Time longest_pause{std::chrono::minutes{10}};
	};

	explicit Breaker(Policy policy) noexcept : policy_(policy), pause_(policy.first_pause) {}

	// Whether an attempt may start now. True while half open takes the one trial; the next asker waits for its result
	// or, should the trial never report, for another pause.
	bool may_try(Time now) noexcept;
	// The trial was not made: there was nothing to send.
	void unused(Time now) noexcept;
	void succeeded() noexcept;
	void failed(Time now) noexcept;

	bool is_open() const noexcept { return failures_ >= policy_.threshold; }
	// When the next trial is due; meaningful while open.
	Time retry_at() const noexcept { return retry_at_; }

private:
	Policy policy_;
	int failures_ = 0; // in a row
	bool trial_ = false;
	Time pause_;
	Time retry_at_{0};
};

} // namespace backfill::core
