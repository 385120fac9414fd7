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

void require_own_transactions(FunctionCallInfo fcinfo, const std::string &procedure) {
	const Node *const context = fcinfo->context;
	if (context == nullptr || !IsA(context, CallContext) || reinterpret_cast<const CallContext *>(context)->atomic)
		throw Error(ErrorCode::in_transaction, procedure + " cannot run inside a transaction block",
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

// A run of the pipeline for fn, given back whatever happens.
template <class Fn>
void with_run(FunctionCallInfo fcinfo, const std::string &pipeline, Purpose purpose, Fn fn) {
	MemoryContext const context = call(
		[]() noexcept { return AllocSetContextCreate(CurrentMemoryContext, "backfill run", ALLOCSET_DEFAULT_SIZES); });
	Run run(owner_of_function(fcinfo), pipeline, context, purpose);
	try {
		fn(run);
	} catch (...) {
		run.release();
		throw;
	}
	run.release();
	call([&]() noexcept { MemoryContextDelete(context); });
}

// The same on a connection that may commit.
template <class Fn>
void with_committing_run(FunctionCallInfo fcinfo, const std::string &pipeline, Fn fn) {
	require_own_transactions(fcinfo, "backfill.run");
	call([]() noexcept { SPI_connect_ext(SPI_OPT_NONATOMIC); });
	with_run(fcinfo, pipeline, Purpose::run, fn);
	call([]() noexcept { SPI_finish(); });
}

struct Slot {
	TimestampTz from;
	TimestampTz to;
};

// The slots of the replay that is to be rehearsed, after refusing what a replay refuses.
std::vector<Slot> slots_of(FunctionCallInfo fcinfo, std::int32_t pipeline_id) {
	const Args args(fcinfo);
	return as_engine(owner_of_function(fcinfo), [&] {
		return with_spi([&] {
			static constinit Statement check("SELECT backfill._check_replay($1, $2, $3, false)");
			check.run({Param::of(pipeline_id), args.pass(3, TEXTOID), args.pass(4, BOOLOID)});
			static constinit Statement statement(
				"SELECT s.slot_from, s.slot_to FROM backfill._replay_bounds($1, $2, $3) b, "
				"backfill._slots($1, b.replay_from, b.replay_to) s ORDER BY s.slot_from");
			const Result rows =
				statement.run({Param::of(pipeline_id), args.pass(1, TIMESTAMPOID), args.pass(2, TIMESTAMPOID)});
			std::vector<Slot> slots;
			for (std::uint64_t i = 0; i < rows.rows(); ++i)
				slots.push_back({rows.timestamptz(i, 1), rows.timestamptz(i, 2)});
			return slots;
		});
	});
}

std::string rehearsal_report(FunctionCallInfo fcinfo, bool with_messages) {
	return as_engine(owner_of_function(fcinfo), [&] {
		return with_spi([&] {
			static constinit Statement statement("SELECT backfill._rehearsal_report($1)::text");
			return statement.run({Param::of(with_messages)}).text(0, 1);
		});
	});
}

} // namespace

// (pipeline, INOUT run_id, INOUT tally)
BACKFILL_FUNCTION(pg_backfill_run) {
	std::int64_t run_id = 0;
	std::string tally;
	const std::string pipeline = Args(fcinfo).text(0, "pipeline");
	std::int64_t next = 0; // none
	with_committing_run(fcinfo, pipeline, [&](Run &run) {
		run.drive_live();
		run_id = run.id();
		tally = run.tally_line();
		next = run.goes_on_with().value_or(0);
	});
	// Where each missed slot is a run, this one was the oldest.
	while (next != 0)
		with_committing_run(fcinfo, pipeline, [&](Run &run) {
			if (!run.drive_requested(std::exchange(next, 0)))
				return;
			run_id = run.id();
			tally = run.tally_line();
			next = run.goes_on_with().value_or(0);
		});
	return result_row(fcinfo, run_id, tally);
}

// (procedure)
BACKFILL_FUNCTION(pg_backfill__require_own_transactions) {
	require_own_transactions(fcinfo, Args(fcinfo).text(0, "procedure"));
	return 0;
}

// (pipeline, run_id, INOUT tally)
BACKFILL_FUNCTION(pg_backfill__run_requested) {
	const std::int64_t run_id = Args(fcinfo).int8(1, "run_id");
	std::optional<std::string> tally;
	with_committing_run(fcinfo, Args(fcinfo).text(0, "pipeline"), [&](Run &run) {
		if (run.drive_requested(run_id))
			tally = run.tally_line();
	});
	return call([&]() noexcept {
		TupleDesc columns = nullptr;
		get_call_result_type(fcinfo, nullptr, &columns);
		Datum value = tally ? CStringGetTextDatum(tally->c_str()) : 0;
		bool null = !tally;
		return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(columns), &value, &null));
	});
}

// (pipeline, range_from, range_to, redo, deliver, with_messages)
BACKFILL_FUNCTION(pg_backfill__rehearse) {
	const Args args(fcinfo);
	const std::string pipeline = args.text(0, "pipeline");
	const std::string redo = args.text(3, "redo");
	const bool redo_all = redo == "all";
	const bool deliver = args.boolean(4, "deliver");
	const bool live = args.is_null(1) && args.is_null(2);
	if (live && (redo != "lacking" || deliver))
		throw Error(ErrorCode::invalid_argument, "redo and deliver are for replays",
		            "Give the range of time that would be replayed.");
	std::string report;
	with_run(fcinfo, pipeline, Purpose::look, [&](Run &run) {
		const std::vector<Slot> slots = live ? std::vector<Slot>{} : slots_of(fcinfo, run.pipeline_id());
		rolled_back([&] {
			if (live)
				run.rehearse(std::nullopt, 0, redo_all, deliver);
			for (const Slot &slot : slots)
				run.rehearse(slot.from, slot.to, redo_all, deliver);
			report = rehearsal_report(fcinfo, args.boolean(5, "with_messages"));
		});
	});
	return call([&]() noexcept { return CStringGetTextDatum(report.c_str()); });
}

} // namespace backfill::pg
