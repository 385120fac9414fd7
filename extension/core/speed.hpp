#pragma once

#include <cmath>
#include <optional>

namespace backfill::core {

// How fast a run is of late, apart for items that are only looked at and for items that are worked on: a hundred times as
// long, so that one average over both would be wrong by as much wherever their share changes. What is older than a few
// thousand items fades.
class Speed {
public:
	static constexpr double half_life_items = 4096;

	// So many items were looked at together, of which some lack something and will be worked on.
	void looked(int items, int lacking, double ms) noexcept {
		fade(looked_, items, ms, items);
		lacking_ = lacking_ * kept(items) + lacking;
	}

	void worked(int items, double ms) noexcept { fade(worked_, items, ms, items); }

	// Milliseconds an item; nothing as long as there was none.
	std::optional<double> look_ms() const noexcept { return looked_.each(); }
	std::optional<double> work_ms() const noexcept { return worked_.each(); }
	// The share of items that lacked something.
	std::optional<double> work_share() const noexcept {
		return looked_.items > 0 ? std::optional(lacking_ / looked_.items) : std::nullopt;
	}

private:
	struct Total {
		double items = 0;
		double ms = 0;
		std::optional<double> each() const noexcept { return items > 0 ? std::optional(ms / items) : std::nullopt; }
	};

	static double kept(int newer) noexcept { return std::exp2(-newer / half_life_items); }
	static void fade(Total &total, int items, double ms, int newer) noexcept {
		total = {total.items * kept(newer) + items, total.ms * kept(newer) + ms};
	}

	Total looked_;
	Total worked_;
	double lacking_ = 0;
};

} // namespace backfill::core
