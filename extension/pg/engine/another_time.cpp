#include "pg/engine/another_time.hpp"

extern "C" {
#include "access/parallel.h"
#include "access/xact.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/analyze.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/plancache.h"
#include "utils/timestamp.h"
}

namespace backfill::pg {

namespace {

TimestampTz clock_shift = 0;
bool is_hooked = false;
post_parse_analyze_hook_type next_hook = nullptr;

// The clock itself cannot be put, but a query can be made to ask for clock_timestamp() + shift. Functions of language SQL
// that the planner inlines, or that were parsed when they were created, go on asking the clock.
void shift_clock_timestamp(FuncExpr *call) noexcept {
	Interval *const shift = static_cast<Interval *>(palloc0(sizeof(Interval)));
	shift->time = clock_shift;
	Expr *const clock = reinterpret_cast<Expr *>(copyObjectImpl(call));
	call->funcid = F_TIMESTAMPTZ_PL_INTERVAL;
	call->args = list_make2(clock, makeConst(INTERVALOID, -1, InvalidOid, sizeof(Interval), IntervalPGetDatum(shift), false, false));
}

// timeofday() is clock_timestamp() as a text.
void shift_timeofday(FuncExpr *call) noexcept {
	FuncExpr *const clock = makeFuncExpr(F_CLOCK_TIMESTAMP, TIMESTAMPTZOID, NIL, InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
	shift_clock_timestamp(clock);
	call->funcid = F_TO_CHAR_TIMESTAMPTZ_TEXT;
	call->inputcollid = DEFAULT_COLLATION_OID;
	call->args = list_make2(clock, makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1,
	                                         CStringGetTextDatum("Dy Mon DD HH24:MI:SS.US YYYY TZ"), false, false));
}

bool shift_calls(Node *node, void *context) noexcept;

// PostgreSQL 15 declares tree walkers without their parameters.
bool (*const walker)() = reinterpret_cast<bool (*)()>(reinterpret_cast<void (*)()>(shift_calls));

bool shift_calls(Node *node, void *context) noexcept {
	if (node == nullptr)
		return false;
	if (IsA(node, Query))
		return query_tree_walker(reinterpret_cast<Query *>(node), walker, context, 0);
	if (IsA(node, FuncExpr)) {
		FuncExpr *const call = reinterpret_cast<FuncExpr *>(node);
		if (call->funcid == F_CLOCK_TIMESTAMP || call->funcid == F_TIMEOFDAY) {
			call->funcid == F_TIMEOFDAY ? shift_timeofday(call) : shift_clock_timestamp(call);
			return false;
		}
	}
	return expression_tree_walker(node, walker, context);
}

// Before the rewriter puts defaults in: they say when a row was written.
void after_parse_analysis(ParseState *state, Query *query, JumbleState *jumble) noexcept {
	if (next_hook != nullptr)
		next_hook(state, query, jumble);
	if (clock_shift != 0)
		shift_calls(reinterpret_cast<Node *>(query), nullptr);
}

} // namespace

detail::StartTimes detail::start_times() noexcept {
	return {GetCurrentTransactionStartTimestamp(), GetCurrentStatementStartTimestamp()};
}

// PostgreSQL has one way to set both, which is for parallel workers.
void detail::set_start_times(const StartTimes &times) noexcept {
	const int number = ParallelWorkerNumber;
	ParallelWorkerNumber = 0;
	SetParallelStartTimestamps(times.transaction, times.statement);
	ParallelWorkerNumber = number;
}

// Once in the chain of hooks it stays: another library may come after it.
void detail::shift_clock(TimestampTz shift) noexcept {
	if (!is_hooked) {
		next_hook = post_parse_analyze_hook;
		post_parse_analyze_hook = after_parse_analysis;
		is_hooked = true;
	}
	clock_shift = shift;
	ResetPlanCache();
}

} // namespace backfill::pg
