#pragma once

#include <optional>
#include <string>

#include "core/pace.hpp"
#include "core/speed.hpp"
#include "pg/engine/candidates.hpp"
#include "pg/engine/chain.hpp"

namespace backfill::pg {

// What a run has done so far.
struct Progress {
	core::Tally tally;
	std::int64_t candidates = 0;
	core::Speed speed;
};

// Keys (after, upto] that a batch of a shared run stands for.
struct Range {
	std::optional<std::string> after; // nothing: from the first on
	std::string upto;
	std::int64_t done = 0; // items of it that lacked nothing, and were not given
};

// The rows that a run writes about itself, as the engine. For people: nothing here decides what is skipped.
class RunRecord {
public:
	RunRecord(Oid engine_owner, const Pipeline &pipeline) : engine_(engine_owner), pipeline_(pipeline) {}

	void require_operator() const; // refuses callers who may not run the pipeline
	// A live run that starts now and belongs to this session.
	RunFrame begin_live() const;
	// A run that waits; progress: what it had done when it was interrupted. Nothing if somebody else was faster.
	std::optional<RunFrame> claim(std::int64_t run_id, Progress &progress) const;
	// A run to be rolled back: of a slot of a replay, or a live one where from is nothing.
	RunFrame begin_rehearsal(std::optional<TimestampTz> from, TimestampTz to, bool redo_all, bool deliver) const;

	bool has_failures() const; // whether items of the pipeline failed in their last live run
	std::vector<std::string> known_failures(const std::vector<std::string> &items) const; // those of the items; sorted
	// Items that failed in earlier live runs and that this one's range does not reach; ranges in order.
	std::vector<EarlierFailures> failing_earlier(const RunFrame &frame) const;
	// Those of them that are candidates no more.
	void forget_failures(const RunFrame &frame, const std::vector<std::string> &asked, const std::vector<std::string> &found) const;

	// How many of this run's items only come from there.
	void note_asked_again(const RunFrame &frame, std::int64_t items) const;

	// What a batch changed or failed, in the batch's own transaction. all: skips too. Counts the failures that are new
	// into the report's tally.
	void write_batch(const RunFrame &frame, BatchReport &report, bool all) const;
	// Counts so far, which include the items up to last_key; extends the lease. False: the run is not ours any more.
	bool write_progress(const RunFrame &frame, const Progress &progress, const std::optional<std::string> &last_key) const;
	// Keeps the run ours until the transaction ends, without writing; false: it is not any more. pace: as it is wished now.
	bool hold(const RunFrame &frame, core::Pace &pace) const;
	// The live run that waits for a session, if one does.
	std::optional<std::int64_t> waiting_live_run() const;
	// A run that several sessions share, which stays this holder's until the transaction ends; throws if it is not.
	RunFrame held(std::int64_t run_id, std::int64_t token) const;
	// Adds a batch of such a run to it; false: it is not ours any more.
	bool count_batch(const RunFrame &frame, const Range &range, const core::Tally &tally) const;
	// Closes the run. sqlstate and error: what ended it early, else empty.
	void finish(const RunFrame &frame, const std::string &state, const std::string &sqlstate, const std::string &error) const;
	// After a live run, in a transaction of its own.
	void keep_house() const;

private:
	void keep_in_range(const RunFrame &frame, const BatchReport &report) const;
	void write_events(const RunFrame &frame, const BatchReport &report, bool all) const;

	Oid engine_;
	const Pipeline &pipeline_;
};

// Of the items that failed in earlier live runs and lie before the range of this one, those that still are candidates. The
// others are forgotten.
FoundItems still_failing(const RunRecord &record, const Pipeline &pipeline, const RunFrame &frame);

} // namespace backfill::pg
