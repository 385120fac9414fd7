// The work of a step: for all items at once as long as that goes, and in parts where it fails.
#include <algorithm>

#include "pg/engine/chain_turn.hpp"
#include "pg/engine/outcome_type.hpp"

namespace backfill::pg {

// An item of a step that is made again failed without an SQL error.
struct RedoFailed {
	core::Verdict verdict;
};

// Optimistic: all at once; a part that fails is rolled back and split again, so that a poisoned item costs itself only.
// Four parts: with two, the good items beside a bad one are done more often, with more, a batch has more subtransactions.
void Chain::attempt(Step &step, std::vector<Turn> &turns, const std::vector<int> &todo) {
	if (++subtransactions_ > most_subtransactions && !context_.frame().rehearsal)
		throw SubtransactionsExhausted{};
	std::optional<SqlError> error;
	std::optional<core::Verdict> failure;
	try {
		error = subtransaction([&] {
			work(step, todo, turns);
			if (is_redone(step))
				require_redone(step, todo, turns);
		});
		if (!error)
			return;
		// A timeout comes once a statement, so the parts have the time that they need.
		const bool only_slow = context_.frame().batch_is_statement && is_statement_timeout(*error->data);
		if (error->is_operator_intervention() && !only_slow)
			error->rethrow();
		failure = {core::Status::failed, core::reason::of_sqlstate(error->sqlstate), false, true};
	} catch (const RedoFailed &redo) {
		failure = redo.verdict;
	}
	--subtransactions_; // what is rolled back leaves nothing behind
	context_.leave();
	for (const int i : todo)
		turns[i].said.reset();
	if (todo.size() == 1) {
		Turn &turn = turns[todo.front()];
		turn.errored = true;
		// Somebody else made the output while this one worked: the unique key has done what it is for.
		if (error && error->sqlstate == "23505" && !is_redone(step) && lacking(step, *items_, {turn.member}).empty()) {
			decide(step, turn, {core::Status::skipped, core::reason::done, false, false});
			return;
		}
		if (error && pattern_.counts(turn.key))
			pattern_.failed(step.name, error->sqlstate);
		decide(step, turn, *failure, error ? &*error : nullptr);
		return;
	}
	report_.fell_back = true;
	const std::size_t part = (todo.size() + 3) / 4;
	for (std::size_t from = 0; from < todo.size(); from += part) {
		const auto begin = todo.begin() + static_cast<std::ptrdiff_t>(from);
		attempt(step, turns, {begin, begin + static_cast<std::ptrdiff_t>(std::min(part, todo.size() - from))});
	}
}

// Throws what rolls the work back, and the clearing before it: an output that cannot be made again stays as it was.
void Chain::require_redone(Step &step, const std::vector<int> &todo, const std::vector<Turn> &turns) {
	std::vector<int> members;
	for (const int i : todo)
		members.push_back(turns[i].member);
	const std::vector<int> after = lacking(step, *items_, members);
	for (const int i : todo) {
		const core::Verdict verdict =
			core::judge(turns[i].said, std::binary_search(after.begin(), after.end(), turns[i].member));
		if (verdict.status == core::Status::failed)
			throw RedoFailed{verdict};
	}
}

void Chain::work(Step &step, const std::vector<int> &todo, std::vector<Turn> &turns) {
	std::vector<int> members;
	for (const int i : todo)
		members.push_back(turns[i].member);
	const auto run = [&](const std::vector<int> &given, const std::vector<int> &whose, Param param) {
		context_.enter(*items_, given, step.batch);
		with_spi([&] {
			if (is_redone(step))
				step.clear->run({param});
			note_outcomes(step.work.run({param}), whose, step.batch, turns);
		});
		context_.leave();
	};
	if (step.batch)
		run(members, todo, pipeline_.keys.array_of(*items_, members));
	else
		for (const int i : todo)
			run({turns[i].member}, {i}, pipeline_.keys.one((*items_)[turns[i].member]));
}

void Chain::note_outcomes(const Result &result, const std::vector<int> &todo, bool batch, std::vector<Turn> &turns) {
	const int column = batch ? 2 : 1;
	if (result.rows() == 0 || result.columns() != column ||
	    call([&]() noexcept { return SPI_gettypeid(result.table()->tupdesc, column); }) != outcome_type())
		return;
	if (!batch) {
		turns[todo.front()].said = outcome_of(result, 0, column);
		return;
	}
	const std::vector<int> positions = pipeline_.keys.positions(*items_, result);
	for (std::size_t row = 0; row < positions.size(); ++row) {
		const auto turn = std::lower_bound(todo.begin(), todo.end(), positions[row],
		                                   [&](int i, int member) { return turns[i].member < member; });
		if (turn != todo.end() && turns[*turn].member == positions[row])
			turns[*turn].said = outcome_of(result, row, column);
	}
}

} // namespace backfill::pg
