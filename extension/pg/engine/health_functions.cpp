// The judging rules for SQL: a pipeline's history in arrays, and what core thinks of the present.
#include "core/health.hpp"
#include "pg/args.hpp"

extern "C" {
#include "funcapi.h"
#include "utils/array.h"
}

namespace backfill::pg {
using core::Error;
using core::ErrorCode;

namespace {

// The elements of a bigint[], float8[] or boolean[].
template <class Element>
std::vector<Element> elements_of(Datum value) {
	struct Plain {
		const Element *first;
		int count;
		bool has_null;
	};
	const Plain plain = call([&]() noexcept {
		ArrayType *const array = DatumGetArrayTypeP(value);
		return Plain{reinterpret_cast<const Element *>(ARR_DATA_PTR(array)), ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)),
		             array_contains_nulls(array)};
	});
	if (plain.has_null)
		throw Error(ErrorCode::invalid_argument, "a history has no nulls");
	return std::vector<Element>(plain.first, plain.first + plain.count);
}

core::Slot slot_of(const std::string &name) {
	const auto slot = core::read_slot(name);
	if (!slot)
		throw Error(ErrorCode::invalid_argument, "slot \"" + name + "\" is not known");
	return *slot;
}

void require_alike(std::size_t one, std::size_t other) {
	if (one != other)
		throw Error(ErrorCode::invalid_argument, "the arrays of a history differ in length");
}

} // namespace

// (measure, slot, at[], value[], unusual[], at, value, candidates, threshold, is_open)
BACKFILL_FUNCTION(pg_backfill__judge) {
	const Args args(fcinfo);
	const auto measure = core::read_measure(args.text(0, "measure"));
	if (!measure)
		throw Error(ErrorCode::invalid_argument, "measure is not known");
	const core::Slot slot = slot_of(args.text(1, "slot"));
	const auto at = elements_of<std::int64_t>(args.datum(2));
	const auto value = elements_of<double>(args.datum(3));
	const auto unusual = elements_of<bool>(args.datum(4));
	require_alike(at.size(), value.size());
	require_alike(at.size(), unusual.size());
	std::vector<core::Sample> history;
	for (std::size_t i = 0; i < at.size(); ++i)
		history.push_back({at[i], value[i], unusual[i]});
	const core::Judgement verdict = core::judge(
		*measure, slot, history,
		{.at = DatumGetInt64(args.datum(5)),
	     .value = DatumGetFloat8(args.datum(6)),
	     .candidates = DatumGetFloat8(args.datum(7)),
	     .threshold = args.is_null(8) ? core::default_threshold(*measure) : DatumGetFloat8(args.datum(8)),
	     .is_open = DatumGetBool(args.datum(9))});
	return call([&]() noexcept {
		TupleDesc columns = nullptr;
		get_call_result_type(fcinfo, nullptr, &columns);
		Datum values[] = {BoolGetDatum(verdict.known),   BoolGetDatum(verdict.unusual), BoolGetDatum(verdict.slowly),
		                  Float8GetDatum(verdict.usual), Float8GetDatum(verdict.bound), Int32GetDatum(verdict.samples)};
		bool nulls[] = {false, false, false, false, false, false};
		return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(columns), values, nulls));
	});
}

// (slot, at[], after[], at, threshold)
BACKFILL_FUNCTION(pg_backfill__overdue_after) {
	const Args args(fcinfo);
	const core::Slot slot = slot_of(args.text(0, "slot"));
	const auto at = elements_of<std::int64_t>(args.datum(1));
	const auto after = elements_of<double>(args.datum(2));
	require_alike(at.size(), after.size());
	std::vector<core::Start> starts;
	for (std::size_t i = 0; i < at.size(); ++i)
		starts.push_back({at[i], after[i]});
	const auto seconds =
		core::overdue_after(slot, starts, DatumGetInt64(args.datum(3)),
	                        args.is_null(4) ? core::default_overdue_threshold : DatumGetFloat8(args.datum(4)));
	if (!seconds) {
		fcinfo->isnull = true;
		return 0;
	}
	return Float8GetDatum(*seconds);
}

} // namespace backfill::pg
