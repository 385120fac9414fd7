#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/failure_pattern.hpp"
#include "core/narration.hpp"
#include "core/tally.hpp"
#include "pg/engine/run_context.hpp"
#include "pg/subtransaction.hpp"

namespace backfill::pg {

// A decision with what people need to mend it.
struct StepEvent {
	core::Decision decision;
	std::string sqlstate; // empty unless an SQL error
	std::string message;
	double milliseconds = 0; // an item's part of the time that the step took
};

// What became of a set of items.
struct BatchReport {
	core::Tally tally;
	std::vector<StepEvent> events;      // one per item and step, in the order they were decided
	std::vector<std::string> failed;    // keys as text
	std::vector<std::optional<TimestampTz>> failed_times;
	std::vector<std::string> recovered; // keys as text of the items that did not fail
	std::vector<std::optional<TimestampTz>> busy; // times of the items that were busy in another run
	std::vector<int> going_on;          // positions of the items whose chain did not end
	bool fell_back = false;             // a step failed for several items at once and was done in parts
};

// A transaction that used up its subtransactions (a rehearsal may have more: it is one transaction). The batch has to be
// done again in smaller pieces, since an item's chain is never split over two transactions.
struct SubtransactionsExhausted {};

// A check that wrote.
struct ImpureCheck {
	std::string step;
};

// Takes items through the steps of a pipeline, in the current transaction and as the pipeline's owner.
class Chain {
public:
	// Past 64 subtransactions a backend's snapshots get slower for everybody.
	static constexpr int most_subtransactions = 60;

	Chain(Pipeline &pipeline, RunContext &context, core::FailurePattern &pattern)
		: pipeline_(pipeline), context_(context), pattern_(pattern) {}

	// The first step that each item lacks the output of, or -1: positions in items, which are sorted by key. Writes
	// nothing.
	std::vector<int> first_lacking(const std::vector<Item> &items);

	// Takes `members` (positions in items) through the chain. first: as above, names the step of an item that is busy.
	BatchReport process(const std::vector<Item> &items, const std::vector<int> &members, const std::vector<int> &first);

	// For proofs. One step alone; again: its work is done though the output may be there, and nothing is cleared.
	BatchReport process_step(int step, const std::vector<Item> &items, const std::vector<int> &members, bool again);
	// The check of one step alone: those of `members` that lack its output.
	std::vector<int> lacking_at(int step, const std::vector<Item> &items, const std::vector<int> &members) {
		return lacking(pipeline_.steps[static_cast<std::size_t>(step)], items, members);
	}
	// Removes the output of a step that can be cleared.
	void clear_step(int step, const std::vector<Item> &items, const std::vector<int> &members);
	// Called before (false) and after (true) each step of process().
	void watch(std::function<void(int step, bool over)> watcher) { watcher_ = std::move(watcher); }

private:
	struct Turn; // chain_turn.hpp

	std::vector<int> lacking(Step &step, const std::vector<Item> &items, const std::vector<int> &members);
	std::vector<int> lacking_one_by_one(Step &step, const std::vector<Item> &items, const std::vector<int> &members);
	std::vector<Turn> begin(const std::vector<Item> &items, const std::vector<int> &members, const std::vector<int> &first);
	BatchReport end(const std::vector<Turn> &turns);
	bool is_redone(const Step &step) const; // made again though it may be there
	bool lock(const Item &item) const;
	void take_step(Step &step, std::vector<Turn> &turns);
	void attempt(Step &step, std::vector<Turn> &turns, const std::vector<int> &members);
	void require_redone(Step &step, const std::vector<int> &members, const std::vector<Turn> &turns);
	void work(Step &step, const std::vector<int> &members, std::vector<Turn> &turns);
	void note_outcomes(const Result &result, const std::vector<int> &members, bool batch, std::vector<Turn> &turns);
	void decide(const Step &step, Turn &turn, const core::Verdict &verdict, const SqlError *error = nullptr);

	Pipeline &pipeline_;
	RunContext &context_;
	core::FailurePattern &pattern_;
	const std::vector<Item> *items_ = nullptr;
	BatchReport report_;
	int subtransactions_ = 0;
	bool again_ = false;
	std::function<void(int, bool)> watcher_;
};

// The two turns of a set of items, as the pipeline's owner: what they lack, in the run's context, and the way through the
// chain, in the transaction that is open.
std::vector<int> first_lacking(Pipeline &pipeline, const RunFrame &frame, const std::vector<Item> &items);
BatchReport process(Pipeline &pipeline, const RunFrame &frame, const std::vector<Item> &items, const std::vector<int> &members,
                    const std::vector<int> &first, core::FailurePattern &pattern);

// So many items fit into a transaction even if each of them needs a subtransaction of its own at each step.
int careful_batch(const Pipeline &pipeline);

} // namespace backfill::pg
