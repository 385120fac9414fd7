#pragma once

#include <algorithm>

namespace backfill::core {

// How many items the next batch takes, so that a batch lasts about target_ms and its locks stay short.
class BatchSize {
public:
	static constexpr int most = 256; // item locks live in the shared lock table: 64 a connection by default
	static constexpr double target_ms = 1000;

	int items() const noexcept { return items_; }

	// A batch of `items` took `ms`. Shrinks at once, grows at most twofold a batch.
	void took(int items, double ms) noexcept {
		if (items <= 0 || ms <= 0)
			return;
		const double fitting = target_ms * items / ms;
		items_ = static_cast<int>(std::clamp(std::min(fitting, 2.0 * items_), 1.0, double{most}));
	}

	// An item of the batch failed, so that others were done more than once: the next batch has less to do again. It
	// grows back as long as none fails.
	void fell_back() noexcept { items_ = std::min(items_, std::max(items_ / 4, fewest_after_failure)); }

private:
	static constexpr int fewest_after_failure = 16;

	int items_ = most;
};

} // namespace backfill::core
