#pragma once

#include <optional>
#include <string>

#include "pg/engine/chain.hpp"

namespace backfill::pg {

// The rows that a run writes about itself, as the engine. For people: nothing here decides what is skipped.
class RunRecord {
public:
	RunRecord(Oid engine_owner, const Pipeline &pipeline) : engine_(engine_owner), pipeline_(pipeline) {}

	// A live run that starts now and belongs to this session.
	RunFrame begin_live();
	// What a batch changed or failed, in the batch's own transaction. all: skips too. Counts failures that are not the
	// item's first into the report's tally.
	void write_batch(const RunFrame &frame, BatchReport &report, bool all);
	// Progress so far; extends the lease. False: somebody else ended the run.
	bool write_progress(const RunFrame &frame, const core::Tally &tally, std::int64_t candidates);
	// Whether the run may go on, without writing.
	bool may_go_on(const RunFrame &frame);
	// Closes the run. sqlstate and error: what ended it early, else empty.
	void finish(const RunFrame &frame, const core::Tally &tally, std::int64_t candidates, const std::string &state,
	            const std::string &sqlstate, const std::string &error);

private:
	void write_events(const RunFrame &frame, const BatchReport &report, bool all);

	Oid engine_;
	const Pipeline &pipeline_;
};

} // namespace backfill::pg
