#include "pg/engine/command.hpp"

#include "pg/identity.hpp"

extern "C" {
#include "access/relation.h"
#include "optimizer/cost.h"
#include "storage/bufmgr.h"
#include "utils/plancache.h"
#include "utils/rel.h"
#include "utils/resowner.h"
}

namespace backfill::pg {

namespace {

BlockNumber blocks_of(Oid relation) noexcept {
	Relation rel = try_relation_open(relation, AccessShareLock);
	if (rel == nullptr)
		return 0;
	const BlockNumber blocks = RELKIND_HAS_STORAGE(rel->rd_rel->relkind) ? RelationGetNumberOfBlocks(rel) : 0;
	relation_close(rel, AccessShareLock);
	return blocks;
}

// In so few blocks any way to a row is a short one.
constexpr BlockNumber small_table = 4;

} // namespace

void Command::prepare() {
	const char *const sql = sql_.c_str();
	Oid *const types = types_.data();
	const int count = static_cast<int>(types_.size());
	plan_ = call([&]() noexcept {
		SPIPlanPtr plan = SPI_prepare_cursor(sql, count, types, CURSOR_OPT_GENERIC_PLAN);
		if (plan == nullptr)
			elog(ERROR, "could not prepare a command: %s", SPI_result_code_string(SPI_result));
		SPI_keepplan(plan);
		return plan;
	});
	readings_.clear();
}

// Makes sure that a valid generic plan exists, planned with the settings of this moment. True if it needs nothing that
// was switched off.
bool Command::plan_once() {
	SPIPlanPtr plan = plan_;
	struct Planned {
		CachedPlan *cached;
		bool cheap;
		List *relations;
	};
	const Planned planned = call([&]() noexcept {
		Planned result{SPI_plan_get_cached_plan(plan), true, NIL};
		if (result.cached == nullptr)
			return result;
		ListCell *cell;
		foreach (cell, result.cached->stmt_list) {
			const PlannedStmt *const statement = lfirst_node(PlannedStmt, cell);
			if (statement->planTree != nullptr && statement->planTree->total_cost >= disable_cost)
				result.cheap = false;
			result.relations = list_concat(result.relations, statement->relationOids);
		}
		return result;
	});
	if (planned.cached == nullptr)
		return true;
	if (planned.cached != known_) {
		known_ = planned.cached;
		readings_.clear();
		const int count = call([&]() noexcept { return list_length(planned.relations); });
		for (int i = 0; i < count; ++i) {
			const Oid relation = list_nth_oid(planned.relations, i);
			readings_.push_back({relation, call([&]() noexcept { return blocks_of(relation); })});
		}
	}
	call([&]() noexcept { ReleaseCachedPlan(planned.cached, CurrentResourceOwner); });
	return planned.cheap;
}

void Command::plan() {
	if (plan_ == nullptr)
		prepare();
	plan_as_now();
	if (!outgrown())
		return;
	// In a small table the wrong index is as good as the right one. The plans of the functions that the command calls
	// are as old as its own.
	known_ = nullptr;
	call([]() noexcept { ResetPlanCache(); });
	plan_as_now();
}

void Command::plan_as_now() {
	if (by_index_) {
		// A batch is a few hundred keys and the tables behind it may be of any size: a nested loop over indexes is
		// right, whatever the statistics of a table that was empty a moment ago say. JIT would take the penalty for
		// real cost.
		Oid user;
		int security;
		GetUserIdAndSecContext(&user, &security);
		const bool cheap = with_identity(
			user, 0,
			{{"enable_seqscan", "off"},
		     {"enable_bitmapscan", "off"},
		     {"enable_hashjoin", "off"},
		     {"enable_mergejoin", "off"},
		     {"enable_nestloop", "on"},
		     {"enable_indexscan", "on"},
		     {"jit", "off"}},
			[&] { return plan_once(); });
		if (cheap)
			return;
		by_index_ = false; // no index serves it: better the planner's own choice
		release();
		prepare();
	}
	plan_once();
}

bool Command::outgrown() const {
	for (const TableRead &table : readings_) {
		const Oid relation = table.relation;
		const BlockNumber now = call([&]() noexcept { return blocks_of(relation); });
		if (now > small_table && now / 2 > table.blocks)
			return true;
	}
	return false;
}

Result Command::run(std::initializer_list<Param> params) {
	plan();
	Datum values[4];
	char nulls[4];
	int count = 0;
	for (const Param &param : params) {
		values[count] = param.value;
		nulls[count++] = param.is_null ? 'n' : ' ';
	}
	SPIPlanPtr plan = plan_;
	call([&]() noexcept {
		const int code = SPI_execute_plan(plan, values, nulls, false, 0);
		if (code < 0)
			elog(ERROR, "could not run a command: %s", SPI_result_code_string(code));
	});
	return {SPI_tuptable, SPI_processed};
}

void Command::release() {
	if (plan_ == nullptr)
		return;
	SPIPlanPtr const plan = plan_;
	plan_ = nullptr;
	known_ = nullptr;
	call([&]() noexcept { SPI_freeplan(plan); });
}

} // namespace backfill::pg
