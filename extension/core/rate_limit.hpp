#pragma once

#include <algorithm>
#include <optional>

namespace backfill::core {

// Items a second, at most one second's worth at once. Time is passed in, in seconds of a clock that never goes back.
class RateLimit {
public:
	// Nothing: as fast as it goes. A change takes effect at once, also for who waits.
	void set(std::optional<double> items_per_second) noexcept { rate_ = items_per_second; }
	std::optional<double> rate() const noexcept { return rate_; }

	// The most items that should be asked for at once.
	int portion(int items) const noexcept {
		return rate_ ? std::clamp(static_cast<int>(std::min(*rate_, 1e6)), 1, std::max(items, 1)) : items;
	}

	// Takes `items` if they may start now; otherwise how many seconds to wait before asking again.
	double take(double now, int items) noexcept {
		if (!rate_) {
			saved_ = 0;
			last_ = now;
			return 0;
		}
		const double most = std::max(*rate_, 1.0);
		saved_ = std::min(saved_ + (now - last_) * *rate_, most);
		last_ = now;
		const double needed = std::min(static_cast<double>(items), most);
		if (saved_ < needed - 1e-9)
			return (needed - saved_) / *rate_;
		saved_ -= items;
		return 0;
	}

private:
	std::optional<double> rate_;
	double saved_ = 0; // items that may start; below zero: more than a second's worth were asked for at once
	double last_ = 0;
};

} // namespace backfill::core
