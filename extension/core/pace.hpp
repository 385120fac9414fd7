#pragma once

#include <algorithm>
#include <optional>

namespace backfill::core {

// Keeps a run to so many items a second, evenly: a batch is no larger than a second's share, and the next one begins when
// the last one's share of time is over. Times are milliseconds of one clock that is passed in.
class Pace {
public:
	// Holds from now on, also for the wait that a batch has already caused. Nothing: no bound.
	void set(std::optional<double> items_per_second, std::optional<int> batch_limit) noexcept {
		rate_ = items_per_second;
		limit_ = batch_limit;
	}

	// The most items of the next batch, of those that fit otherwise; at least one.
	int most_items(int fitting) const noexcept {
		if (limit_)
			fitting = std::min(fitting, *limit_);
		if (rate_ && *rate_ < fitting)
			fitting = static_cast<int>(*rate_);
		return std::max(fitting, 1);
	}

	void worked(int items, double began) noexcept {
		items_ = items;
		began_ = began;
	}

	// How long the next batch has to wait.
	double wait(double now) const noexcept {
		return rate_ ? std::max(0.0, began_ + items_ * 1000.0 / *rate_ - now) : 0;
	}

private:
	std::optional<double> rate_;
	std::optional<int> limit_;
	int items_ = 0; // of the last batch
	double began_ = 0;
};

} // namespace backfill::core
