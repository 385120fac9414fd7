#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pg/engine/pipeline.hpp"

namespace backfill::pg {

// A run as its steps see it: frozen when the run was created.
struct RunFrame {
	std::int64_t run_id = 0;
	std::int64_t lease_token = 0;
	std::string mode;       // live or replay
	bool rehearsal = false; // of such a run: all of it is rolled back
	bool deliver = false;
	bool redo_all = false;
	bool batch_is_statement = false; // of a client, so that a statement_timeout is about one batch and not about the run
	bool catches_up = false; // live, of a slot that was missed
	TimestampTz run_time = 0;
	TimestampTz window_from = 0;
	TimestampTz window_to = 0;
	TimestampTz scan_from = 0;
	TimestampTz scan_to = 0;
	std::string left_out; // a range of time that lies too far back to be looked at, for people; empty: none
	std::optional<std::string> resume_after; // key, as text, of the last item that is already counted
	std::string done_ahead = "[]"; // ranges of keys beyond it that are counted too: JSON array of [after, upto]
};

// What this backend works on at this moment, for functions that are called inside a step. One at a time.
class RunContext {
public:
	RunContext(const Pipeline &pipeline, const RunFrame &frame) noexcept;
	~RunContext();
	RunContext(const RunContext &) = delete;
	RunContext &operator=(const RunContext &) = delete;

	static const RunContext *current() noexcept;

	// The items of the command that runs now; several: a batch, where functions must name their item.
	void enter(const std::vector<Item> &items, const std::vector<int> &members, bool batch) noexcept;
	void leave() noexcept { items_ = nullptr; }

	const Pipeline &pipeline() const noexcept { return pipeline_; }
	const RunFrame &frame() const noexcept { return frame_; }

	// The item that a function inside the step means. Errors: a batch and no key, or a key that is not in it. Null
	// outside a step.
	const Item *item(const std::optional<std::string> &key) const;

private:
	const Pipeline &pipeline_;
	const RunFrame &frame_;
	const RunContext *outer_;
	const std::vector<Item> *items_ = nullptr;
	const std::vector<int> *members_ = nullptr;
	bool batch_ = false;
	mutable std::vector<std::pair<std::string, int>> by_text_; // sorted; made when first asked for
};

} // namespace backfill::pg
