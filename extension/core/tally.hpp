#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "core/outcome.hpp"

namespace backfill::core {

// How a run counts an item: one of these each, so that they add up to the candidates.
enum class ItemResult { changed, unchanged, skipped, failed };

// What happened to one item on its way through the chain.
struct ItemTrace {
	bool changed = false; // some step changed it
	bool failed = false;
	bool cut_short = false; // stopped, or busy in another run
};
// failed before changed before skipped before unchanged.
ItemResult result_of(const ItemTrace &trace) noexcept;

// Counts of a run, or of a part of one.
class Tally {
public:
	using StepKey = std::tuple<std::string, Status, std::string>; // step, status, reason

	void count_item(const ItemTrace &trace, std::int64_t items = 1);
	void count_result(ItemResult result, std::int64_t items);
	void count_step(const std::string &step, Status status, const std::string &reason, std::int64_t items = 1);
	void count_new_failures(std::int64_t items) { newly_failed_ += items; }
	void add(const Tally &other);

	std::int64_t items(ItemResult result) const noexcept { return items_[static_cast<int>(result)]; }
	std::int64_t newly_failed() const noexcept { return newly_failed_; }
	std::int64_t candidates() const noexcept;
	const std::map<StepKey, std::int64_t> &steps() const noexcept { return steps_; }

	// [{"step": "price", "status": "ok", "reason": "", "items": 3}, ...]
	std::string steps_as_json() const;
	// "12 candidates: 3 changed, 5 unchanged, 3 skipped (no_report 3), 1 failed (invalid_json 1)"
	std::string line() const;

private:
	std::string reasons(Status status) const;

	std::int64_t items_[4] = {0, 0, 0, 0};
	std::int64_t newly_failed_ = 0; // of the failed items of a live run, those that did not fail before
	std::map<StepKey, std::int64_t> steps_;
};

} // namespace backfill::core
