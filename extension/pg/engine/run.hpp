#pragma once

#include <string>

#include "core/batch_size.hpp"
#include "pg/engine/candidates.hpp"
#include "pg/engine/chain.hpp"
#include "pg/engine/run_record.hpp"

namespace backfill::pg {

// A run that one session drives from end to end: page by page, batch by batch. It commits as it goes, for which it has
// to be used inside a non-atomic CALL, on an open non-atomic SPI connection; a rehearsal does the same in the
// transaction that is open, and its caller rolls it back.
class Run {
public:
	// context: lives as long as the run. Refuses callers who may not run the pipeline.
	Run(Oid engine_owner, const std::string &pipeline, MemoryContext context, Purpose purpose);

	// Each throws what ended the run early, after the run's rows say so.
	void drive_live();
	bool drive_requested(std::int64_t run_id); // false: somebody else was faster
	void rehearse(std::optional<TimestampTz> from, TimestampTz to, bool redo_all, bool deliver);

	// Gives back what outlives transactions; to be called whatever happened.
	void release();

	// The run that does the next slot that was missed, or the present one. Nothing: this one did not do one, was ended, or
	// somebody else took it.
	std::optional<std::int64_t> goes_on_with();

	std::int64_t id() const noexcept { return frame_.run_id; }
	std::int32_t pipeline_id() const noexcept { return pipeline_.id; }
	std::string tally_line() const;

private:
	template <class Fn>
	void transaction(Fn fn) const;
	void drive();
	void scan();
	void take_all();
	void take_page(const std::vector<Item> &items);
	void take_batch(const std::vector<Item> &items, const std::vector<int> &members, const std::vector<int> &first);
	void hold();
	void ignore_known_failures(const std::vector<Item> &items, const std::vector<int> &members);
	void wait_for_turn(const std::vector<Item> &items);
	void count_done(core::Tally &tally, std::int64_t items) const;
	void write_progress(const Progress &progress, const std::optional<std::string> &last_key);
	void narrate(const BatchReport &report) const;
	bool is_heard(int level) const;
	void tell(int level, const std::string &line) const;
	[[noreturn]] void break_off(const std::string &why, const std::string &hint);
	void succeed();
	void keep_house() const;
	void finish(const std::string &state, const std::string &sqlstate = {}, const std::string &error = {});

	Pipeline pipeline_;
	RunRecord record_;
	RunFrame frame_;
	Progress progress_;
	Candidates candidates_;
	core::FailurePattern pattern_;
	core::BatchSize batch_size_;
	core::Pace pace_;
	bool succeeded_ = false;
	bool has_failures_ = false; // of earlier runs
	int counted_ = 0; // items of the page that progress_ includes
	MemoryContext context_; // as long as the run
	MemoryContext page_;    // as long as a page of items
	TimestampTz last_write_ = 0;
};

} // namespace backfill::pg
