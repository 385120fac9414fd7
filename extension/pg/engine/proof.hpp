#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pg/engine/another_time.hpp"
#include "pg/engine/observation.hpp"
#include "pg/engine/run_record.hpp"

namespace backfill::pg {

// Something a proof found, or, without a step, its verdict.
struct Finding {
	std::string step;
	std::string finding;
	std::int64_t items;
	std::string detail;
	std::string hint;
};

// Tries a pipeline on real items, again and again from the same beginning, to find what is not safe to run twice. All of
// it happens in subtransactions of the open transaction that are rolled back.
class Proof {
public:
	static constexpr int most_items = 256; // one batch: each holds a lock

	// context: lives as long as the proof. Refuses callers who may not run the pipeline.
	Proof(Oid engine_owner, const std::string &pipeline, MemoryContext context);
	std::vector<Finding> prove(int items);
	void release() { pipeline_.release(); }

private:
	// What one step did in a making.
	struct StepMade {
		Written written;
		std::vector<std::string> free_sequences;
		std::vector<std::string> sequences;
		std::vector<Oid> read;
		bool notified = false;
	};
	struct Making {
		std::vector<StepMade> steps;
		BatchReport report;
		core::Tables numbers; // all rows that it added
	};
	enum class Output { fresh, found };

	// proof_items.cpp
	void pick(int most);
	void add_items(const RunFrame &frame, int most);

	// proof.cpp
	RunFrame begin(bool redo_all) const;
	template <class Fn>
	auto in_run(bool redo_all, Fn fn); // fn(chain), in a new run and as the pipeline's owner
	Making make(bool redo_all);
	void compare_makings();
	void compare(const Making &one, const Making &two, bool shifted);
	void look_for_absent(const Making &making);
	void second_pass();
	std::set<std::string> failures(const Making &making, int step) const;
	bool same_failures(const Making &one, const Making &two) const;
	void look_for_other_failures(const Making &one, const Making &two, bool shifted);

	// proof_checks.cpp
	void ask_checks();
	void ask_check(int step, const std::vector<int> &members);
	std::vector<int> watch_check(int step, const std::vector<int> &members);
	std::vector<int> lacking(int step, const std::vector<int> &members);
	std::vector<std::vector<int>> done_so_far();
	Written do_again(int step, const std::vector<int> &members);
	void do_all_again(Output output, const Making &making);
	bool is_made(const Making &making, int step, int member) const;
	void look_cleared(int step, const std::vector<int> &members);
	void look_again(int step, const std::vector<int> &members, Output output);
	void one_before_the_others(const Making &making);
	void look_for_strangers(int first);
	std::vector<std::vector<int>> lacking_alone(const std::vector<int> &members);

	// proof_inputs.cpp
	struct Input { // a column that the work may read, and how to change it for the items
		std::string table;
		std::string column;
		Oid owner;
		bool may_change;
		bool has_other; // else it is only written as it is
		std::string update; // $1: keys
	};
	struct Unnoticed { // a change of an input, and the items that the check takes for done all the same
		int step;
		Input input;
		bool is_source; // of a table that no step makes
		std::vector<int> members;
	};
	std::vector<Input> inputs_in(const std::set<Oid> &read) const;
	std::optional<std::int64_t> change(const Input &input) const;
	void change_inputs(const Making &making);
	std::vector<int> change_before(const Unnoticed &changed);
	void change_input(Unnoticed changed, const Making &making);
	bool note_unnoticed(const Unnoticed &changed, const core::Tables &before, const Written &after, Output output);

	// proof_fresh.cpp
	struct Fresh {
		Written written;
		BatchReport report;
	};
	void make_afresh();
	Fresh make_step(int step, const std::vector<int> &members);
	std::vector<int> ended_alike(const std::vector<int> &members, const BatchReport &one, const BatchReport &two) const;
	void look_afresh(const Unnoticed &unnoticed, const Observation &before);

	// proof_words.cpp
	const std::string &name(int step) const { return pipeline_.steps[static_cast<std::size_t>(step)].name; }
	bool has(int step, const std::string &finding) const;
	void note(int step, const std::string &finding, std::size_t items, const std::string &detail);
	void note_differences(int step, const std::string &finding, std::size_t items, const std::vector<core::Difference> &differences,
	                      const std::string &when);
	void note_unchanged(const std::string &table, const std::string &hint);
	void note_unchanged(const Input &input);
	Finding verdict(const Making &making) const;
	std::string what_was_made(const core::Tally &tally) const;

	Oid engine_;
	Pipeline pipeline_;
	RunRecord record_;
	RunFrame frame_; // the times of all runs of the proof
	std::vector<Item> items_; // in key order
	std::vector<int> all_;    // their positions
	std::vector<std::set<core::ColumnName>> known_; // by step: what differs from making to making
	std::vector<Unnoticed> unnoticed_;
	std::map<std::string, std::string> unchanged_; // what was not changed to see whether a check notices it, and why
	std::vector<Finding> findings_;
};

// Another time, for what must not depend on it. Back, to a time of which there are partitions: another day, hour, minute
// and second.
inline constexpr TimestampTz other_time = -(USECS_PER_DAY + USECS_PER_HOUR + USECS_PER_MINUTE + USECS_PER_SEC);
// And of another month and year, where not everything need go.
inline constexpr TimestampTz other_year = -400 * USECS_PER_DAY;

// Of the outbox or the counters, and not of a user's table.
inline bool is_told(const std::string &table) {
	return table.starts_with("backfill.");
}

template <class Fn>
auto Proof::in_run(bool redo_all, Fn fn) {
	const RunFrame frame = begin(redo_all);
	RunContext context(pipeline_, frame);
	core::FailurePattern pattern;
	Chain chain(pipeline_, context, pattern);
	return as_owner(pipeline_, [&] {
		with_spi([] { call([]() noexcept { SPI_execute("SET CONSTRAINTS ALL IMMEDIATE", false, 0); }); });
		return fn(chain);
	});
}

} // namespace backfill::pg
