#pragma once

#include <string>

#include "core/batch_size.hpp"
#include "pg/engine/candidates.hpp"
#include "pg/engine/chain.hpp"
#include "pg/engine/run_record.hpp"

namespace backfill::pg {

// A run that one session drives from end to end, committing as it goes. To be used inside a non-atomic CALL, on an open
// non-atomic SPI connection.
class Run {
public:
	// context: lives as long as the run.
	Run(Oid engine_owner, const std::string &pipeline, MemoryContext context);

	// Throws what ended the run early, after the run's rows say so.
	void drive();
	// Gives back what outlives transactions; to be called whatever happened.
	void release();

	std::int64_t id() const noexcept { return frame_.run_id; }
	std::string tally_line() const { return tally_.line(); }

private:
	void take_all();
	void take_page(const std::vector<Item> &items);
	void take_batch(const std::vector<Item> &items, const std::vector<int> &members, const std::vector<int> &first);
	void write_progress(const core::Tally &tally);
	void narrate(const BatchReport &report) const;
	[[noreturn]] void break_off(const std::string &why, const std::string &hint);
	void finish(const std::string &state, const std::string &sqlstate, const std::string &error);

	Pipeline pipeline_;
	RunRecord record_;
	RunFrame frame_;
	Candidates candidates_;
	core::FailurePattern pattern_;
	core::BatchSize batch_size_;
	core::Tally tally_;
	MemoryContext context_; // as long as the run
	MemoryContext page_;    // as long as a page of items
	TimestampTz last_write_ = 0;
};

} // namespace backfill::pg
