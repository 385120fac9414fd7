#include "pg/args.hpp"
#include "pg/engine/run.hpp"

extern "C" {
#include "funcapi.h"
#include "nodes/parsenodes.h"
}

namespace backfill::pg {
using core::Error;
using core::ErrorCode;

namespace {

void require_own_transactions(FunctionCallInfo fcinfo) {
	const Node *const context = fcinfo->context;
	if (context == nullptr || !IsA(context, CallContext) || reinterpret_cast<const CallContext *>(context)->atomic)
		throw Error(ErrorCode::in_transaction, "backfill.run cannot run inside a transaction block",
		            "It commits as it goes: CALL it on its own, outside BEGIN and outside functions.");
}

Datum result_row(FunctionCallInfo fcinfo, std::int64_t run_id, const std::string &tally) {
	return call([&]() noexcept {
		TupleDesc columns = nullptr;
		get_call_result_type(fcinfo, nullptr, &columns);
		Datum values[] = {Int64GetDatum(run_id), CStringGetTextDatum(tally.c_str())};
		bool nulls[] = {false, false};
		return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(columns), values, nulls));
	});
}

} // namespace

// (pipeline, INOUT run_id, INOUT tally)
BACKFILL_FUNCTION(pg_backfill_run) {
	require_own_transactions(fcinfo);
	const std::string pipeline = Args(fcinfo).text(0, "pipeline");
	call([]() noexcept { SPI_connect_ext(SPI_OPT_NONATOMIC); });
	MemoryContext const context = call(
		[]() noexcept { return AllocSetContextCreate(CurrentMemoryContext, "backfill run", ALLOCSET_DEFAULT_SIZES); });
	Run run(owner_of_function(fcinfo), pipeline, context);
	try {
		run.drive();
	} catch (...) {
		run.release();
		throw;
	}
	run.release();
	call([]() noexcept { SPI_finish(); });
	return result_row(fcinfo, run.id(), run.tally_line());
}

} // namespace backfill::pg
