#include "core/breaker.hpp"

#include <algorithm>

namespace backfill::core {

bool Breaker::may_try(Time now) noexcept {
	if (!is_open())
		return true;
	if (now < retry_at_)
		return false;
	retry_at_ = now + pause_;
	trial_ = true;
	return true;
}

void Breaker::unused(Time now) noexcept {
	if (!trial_)
		return;
	trial_ = false;
	retry_at_ = now;
}

void Breaker::succeeded() noexcept {
	failures_ = 0;
	trial_ = false;
	pause_ = policy_.first_pause;
}

void Breaker::failed(Time now) noexcept {
	if (is_open()) {
		if (!trial_)
			return; // started before the breaker opened
		trial_ = false;
		pause_ = std::min(pause_ * 2, policy_.longest_pause);
	} else if (++failures_ < policy_.threshold) {
		return;
	}
	retry_at_ = now + pause_;
}

} // namespace backfill::core
