// What a step can ask about the run it is a part of.
#include "pg/args.hpp"
#include "pg/engine/run_context.hpp"

extern "C" {
#include "funcapi.h"
}

namespace backfill::pg {

namespace {

Datum row(FunctionCallInfo fcinfo, Datum *values, bool *nulls) {
	return call([&]() noexcept {
		TupleDesc columns = nullptr;
		get_call_result_type(fcinfo, nullptr, &columns);
		return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(columns), values, nulls));
	});
}

Datum text_datum(const std::string &value) {
	return Param::of(value).value;
}

} // namespace

// (item_key)
BACKFILL_FUNCTION(pg_backfill__run_context) {
	constexpr int columns = 9;
	Datum values[columns] = {};
	bool nulls[columns] = {true, true, true, true, true, true, true, true, true};
	if (const RunContext *const context = RunContext::current()) {
		const RunFrame &frame = context->frame();
		values[0] = Int64GetDatum(frame.run_id);
		values[1] = Int32GetDatum(context->pipeline().id);
		values[2] = text_datum(frame.mode);
		values[3] = BoolGetDatum(frame.deliver);
		values[4] = TimestampTzGetDatum(frame.run_time);
		values[5] = TimestampTzGetDatum(frame.window_from);
		values[6] = TimestampTzGetDatum(frame.window_to);
		std::fill(nulls, nulls + 7, false);
		if (const Item *const item = context->item(Args(fcinfo).text_or_null(0))) {
			values[7] = text_datum(context->pipeline().keys.text_of(item->key));
			values[8] = TimestampTzGetDatum(item->time);
			nulls[7] = false;
			nulls[8] = !item->has_time;
		}
	}
	return row(fcinfo, values, nulls);
}

BACKFILL_FUNCTION(pg_backfill_mode) {
	const RunContext *const context = RunContext::current();
	if (context == nullptr) {
		fcinfo->isnull = true;
		return 0;
	}
	return text_datum(context->frame().rehearsal ? "rehearsal" : context->frame().mode);
}

BACKFILL_FUNCTION(pg_backfill_is_replay) {
	const RunContext *const context = RunContext::current();
	return BoolGetDatum(context != nullptr && context->frame().mode == "replay");
}

BACKFILL_FUNCTION(pg_backfill_run_time) {
	const RunContext *const context = RunContext::current();
	return TimestampTzGetDatum(context != nullptr ? context->frame().run_time : GetCurrentTransactionStartTimestamp());
}

BACKFILL_FUNCTION(pg_backfill_run_window) {
	const RunContext *const context = RunContext::current();
	Datum values[2] = {};
	bool nulls[2] = {true, true};
	if (context != nullptr) {
		values[0] = TimestampTzGetDatum(context->frame().window_from);
		values[1] = TimestampTzGetDatum(context->frame().window_to);
		nulls[0] = nulls[1] = false;
	}
	return row(fcinfo, values, nulls);
}

BACKFILL_FUNCTION(pg_backfill__acting_owner) {
	fcinfo->isnull = !OidIsValid(ActingOwner::current());
	return ObjectIdGetDatum(ActingOwner::current());
}

} // namespace backfill::pg
