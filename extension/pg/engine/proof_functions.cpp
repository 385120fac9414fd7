#include "pg/args.hpp"
#include "pg/engine/proof.hpp"

extern "C" {
#include "funcapi.h"
}

namespace backfill::pg {
using core::Error;
using core::ErrorCode;

namespace {

std::vector<Finding> prove(Oid engine, const std::string &pipeline, int items) {
	MemoryContext const context = call(
		[]() noexcept { return AllocSetContextCreate(CurrentMemoryContext, "backfill proof", ALLOCSET_DEFAULT_SIZES); });
	Proof proof(engine, pipeline, context);
	try {
		std::vector<Finding> findings = proof.prove(items);
		proof.release();
		call([&]() noexcept { MemoryContextDelete(context); });
		return findings;
	} catch (...) {
		proof.release();
		throw;
	}
}

Datum text_or_nothing(const std::string &value, bool *null) {
	*null = value.empty();
	return value.empty() ? 0 : Param::of(value).value;
}

} // namespace

// (pipeline, items) -> rows of (step, finding, items, detail, hint)
BACKFILL_FUNCTION(pg_backfill_prove) {
	if (RunContext::current() != nullptr)
		throw Error(ErrorCode::wrong_state, "a step cannot prove a pipeline", "Call backfill.prove outside of runs.");
	const Args args(fcinfo);
	const std::string pipeline = args.text(0, "pipeline");
	if (args.is_null(1) || DatumGetInt32(args.datum(1)) < 1 || DatumGetInt32(args.datum(1)) > Proof::most_items)
		throw Error(ErrorCode::invalid_argument, "items is not between 1 and " + std::to_string(Proof::most_items),
		            "Give the number of items to try, 100 if nothing speaks against it.");
	call([&]() noexcept { InitMaterializedSRF(fcinfo, 0); });
	ReturnSetInfo *const rows = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
	for (const Finding &finding : prove(owner_of_function(fcinfo), pipeline, DatumGetInt32(args.datum(1)))) {
		Datum values[5];
		bool nulls[5] = {};
		values[0] = text_or_nothing(finding.step, &nulls[0]);
		values[1] = Param::of(finding.finding).value;
		values[2] = Int64GetDatum(finding.items);
		values[3] = text_or_nothing(finding.detail, &nulls[3]);
		values[4] = text_or_nothing(finding.hint, &nulls[4]);
		call([&]() noexcept { tuplestore_putvalues(rows->setResult, rows->setDesc, values, nulls); });
	}
	return 0;
}

} // namespace backfill::pg
