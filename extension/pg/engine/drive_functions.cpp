// What a driver calls: candidates and batches of a run that several sessions share. Each call is a transaction of its own.
#include "pg/args.hpp"
#include "pg/engine/candidates.hpp"
#include "pg/engine/chain.hpp"
#include "pg/engine/item_args.hpp"
#include "pg/engine/kept_pipeline.hpp"
#include "pg/engine/run_record.hpp"
#include "pg/engine/settings.hpp"

extern "C" {
#include "funcapi.h"
#include "utils/json.h"
}

namespace backfill::pg {
using core::Error;
using core::ErrorCode;
using core::ItemResult;

namespace {

// The run of (run_id, token), for as long as the transaction lasts.
struct Driven {
	Pipeline &pipeline;
	RunRecord record;
	RunFrame frame;
};

// An item's check has to see what was committed before the item was locked.
void require_read_committed() {
	if (call([]() noexcept { return IsolationUsesXactSnapshot(); }))
		throw Error(ErrorCode::wrong_state, "a run is driven in transactions that are read committed",
		            "SET default_transaction_isolation = 'read committed' where it is driven.");
}

Driven driven_run(FunctionCallInfo fcinfo) {
	if (RunContext::current() != nullptr)
		throw Error(ErrorCode::wrong_state, "a step cannot drive a run", "Ask for one with backfill.request_run.");
	require_read_committed();
	const Args args(fcinfo);
	const std::int64_t run_id = args.int8(0, "run_id");
	const std::int64_t token = args.int8(1, "token");
	const Oid engine = owner_of_function(fcinfo);
	struct Named {
		std::string name;
		std::int64_t stamp;
	};
	const Named named = as_engine(engine, [&] {
		return with_spi([&] {
			static constinit Statement statement("SELECT pipeline, stamp FROM backfill._driven_pipeline($1, $2)");
			const Result row = statement.run({Param::of(run_id), Param::of(token)});
			return Named{row.text(0, 1), row.int8(0, 2)};
		});
	});
	Pipeline &pipeline = kept_pipeline(engine, named.name, named.stamp);
	const RunRecord record(engine, pipeline);
	Driven run{pipeline, record, record.held(run_id, token)};
	run.frame.batch_is_statement = true;
	return run;
}

// fn; what a timeout ends is told from what somebody cancels.
template <class Fn>
auto within_timeout(Fn fn) {
	try {
		return fn();
	} catch (const PgError &error) {
		if (!is_statement_timeout(*error.data()))
			throw;
		throw Error(ErrorCode::timed_out, "statement_timeout is shorter than a statement of the run took",
		            "Give the role that drives runs more time: ALTER ROLE ... SET statement_timeout.");
	}
}

std::string json_text(const std::string &text) {
	return call([&]() noexcept {
		StringInfoData json;
		initStringInfo(&json);
		escape_json(&json, text.c_str());
		return json.data;
	});
}

std::string events_as_json(const BatchReport &report, core::Narrate narrate) {
	std::string json;
	for (const StepEvent &event : report.events) {
		const core::Decision &decision = event.decision;
		if (!core::is_told(narrate, decision))
			continue;
		json += (json.empty() ? "{\"item\":" : ",{\"item\":") + json_text(decision.item) + ",\"step\":\"" + decision.step +
		        "\",\"status\":\"" + core::name_of(decision.status) + "\",\"reason\":" + json_text(decision.reason) +
		        ",\"ms\":" + std::to_string(event.milliseconds) + "}";
	}
	return "[" + json + "]";
}

// What the driver needs to see that nearly all items fail alike.
std::string attempts_as_json(const core::FailurePattern &pattern) {
	std::string json;
	const auto add = [&](const std::string &step, const std::string &sqlstate, std::int64_t items) {
		json += (json.empty() ? "{\"step\":\"" : ",{\"step\":\"") + step + "\",\"sqlstate\":\"" + sqlstate +
		        "\",\"items\":" + std::to_string(items) + "}";
	};
	for (const auto &[step, items] : pattern.attempted())
		add(step, "", items);
	for (const auto &[key, items] : pattern.failed())
		add(key.first, key.second, items);
	return "[" + json + "]";
}

core::Narrate narrate_of(const std::string &name) {
	for (const auto &[known, narrate] : {std::pair{"all", core::Narrate::all}, {"changes", core::Narrate::changes}, {"none", core::Narrate::none}})
		if (name == known)
			return narrate;
	throw Error(ErrorCode::invalid_argument, "narrate \"" + name + "\" is not known", "Use all, changes or none.");
}

Param json_param(const std::string &json) {
	Param param = Param::of(json);
	param.type = JSONOID;
	return param;
}

Datum row_of(FunctionCallInfo fcinfo, std::initializer_list<Param> columns) {
	return call([&]() noexcept {
		Datum values[16];
		bool nulls[16];
		int count = 0;
		for (const Param &column : columns) {
			values[count] = column.value;
			nulls[count++] = column.is_null;
		}
		TupleDesc described = nullptr;
		get_call_result_type(fcinfo, nullptr, &described);
		return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(described), values, nulls));
	});
}

// Why a batch was rolled back, and is to be done in another way.
struct Undone {
	bool too_large = false;
	std::optional<std::string> impure_step;
};

// fn in a subtransaction, whose error is the caller's.
template <class Fn>
Undone try_batch(Fn fn) {
	Undone undone;
	try {
		within_timeout([&] {
			if (const auto error = subtransaction(fn))
				error->rethrow();
		});
	} catch (const SubtransactionsExhausted &) {
		undone.too_large = true;
	} catch (const ImpureCheck &check) {
		undone.impure_step = check.step;
	}
	return undone;
}

// A null key is told at the end: what has one is done before the run fails for it.
void put_candidates(FunctionCallInfo fcinfo, const Pipeline &pipeline, const std::vector<Item> &items, bool null_key,
                    std::optional<std::int64_t> count) {
	ReturnSetInfo *const returned = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
	as_owner(pipeline, [&] {
		for (const Item &item : items) {
			const std::string key = pipeline.keys.text_of(item.key);
			call([&]() noexcept {
				Datum values[] = {CStringGetTextDatum(key.c_str()), TimestampTzGetDatum(item.time), Int64GetDatum(count.value_or(0))};
				bool nulls[] = {false, !item.has_time, !count.has_value()};
				tuplestore_putvalues(returned->setResult, returned->setDesc, values, nulls);
			});
		}
		if (null_key)
			call([&]() noexcept {
				Datum values[3] = {};
				bool nulls[] = {true, true, true};
				tuplestore_putvalues(returned->setResult, returned->setDesc, values, nulls);
			});
	});
}

} // namespace

// (run_id, token, after, limit, count)
BACKFILL_FUNCTION(pg_backfill_run_candidates) {
	const Args args(fcinfo);
	const std::int32_t most = DatumGetInt32(args.datum(3));
	if (args.is_null(3) || most < 1)
		throw Error(ErrorCode::invalid_argument, "limit must be positive", "Give how many candidates a page has, such as 50000.");
	const bool counts = args.boolean(4, "count");
	Driven run = driven_run(fcinfo);
	if (const auto after = args.text_or_null(2))
		run.frame.resume_after = after;
	call([&]() noexcept { InitMaterializedSRF(fcinfo, 0); });
	Candidates candidates;
	try {
		within_timeout([&] {
			candidates.scan(run.pipeline, run.frame, CurrentMemoryContext, still_failing(run.record, run.pipeline, run.frame),
			                counts ? std::nullopt : std::optional(most));
		});
		if (counts)
			run.record.note_asked_again(run.frame, candidates.also_count());
		// Refuses a null key if there is no other.
		const std::vector<Item> items = candidates.next(run.pipeline, most);
		put_candidates(fcinfo, run.pipeline, items, candidates.null_key(),
		               counts ? std::optional(candidates.count()) : std::nullopt);
	} catch (...) {
		candidates.release();
		throw;
	}
	candidates.release();
	return 0;
}

// (run_id, token, keys, times, OUT first_steps, OUT impure_step)
BACKFILL_FUNCTION(pg_backfill_check_batch) {
	Driven run = driven_run(fcinfo);
	const std::vector<Item> items = items_of(run.pipeline, Args(fcinfo), 2, 3);
	std::vector<int> first;
	const Undone undone = try_batch([&] { first = first_lacking(run.pipeline, run.frame, items); });
	const Param steps = undone.impure_step ? Param::null(INT4ARRAYOID) : Param::of(first);
	return row_of(fcinfo, {steps, Param::of(undone.impure_step)});
}

// (run_id, token, after, upto, done, keys, times, first_steps, narrate, OUT ...)
BACKFILL_FUNCTION(pg_backfill_run_batch) {
	const Args args(fcinfo);
	const core::Narrate narrate = narrate_of(args.text(8, "narrate"));
	const Range range{args.text_or_null(2), args.text(3, "upto"), args.int8(4, "done")};
	Driven run = driven_run(fcinfo);
	const std::vector<Item> items = items_of(run.pipeline, args, 5, 6);
	const std::vector<int> first = steps_of(run.pipeline, args, 7, items.size());
	std::vector<int> members(items.size());
	for (std::size_t i = 0; i < items.size(); ++i)
		members[i] = static_cast<int>(i);
	core::FailurePattern pattern;
	std::vector<std::string> keys;
	for (const Item &item : items)
		keys.push_back(run.pipeline.keys.text_of(item.key));
	pattern.ignore(run.record.known_failures(keys));
	BatchReport report;
	const Undone undone = try_batch([&] {
		report = process(run.pipeline, run.frame, items, members, first, pattern);
		run.record.write_batch(run.frame, report, settings::keep_all_events());
		if (!run.record.count_batch(run.frame, range, report.tally))
			throw Error(ErrorCode::lease_lost, "run " + std::to_string(run.frame.run_id) + " was paused or ended, and its batch is undone",
			            "See SELECT * FROM backfill.run_history.");
	});
	const char *const result = undone.too_large ? "too_large" : undone.impure_step ? "impure" : "done";
	if (undone.too_large || undone.impure_step) {
		report = BatchReport{};
		pattern = core::FailurePattern{};
	}
	const core::Tally &tally = report.tally;
	return row_of(fcinfo, {Param::of(result), Param::of(careful_batch(run.pipeline)), Param::of(undone.impure_step),
	                       Param::of(report.fell_back), Param::of(tally.items(ItemResult::changed)),
	                       Param::of(tally.items(ItemResult::unchanged)), Param::of(tally.items(ItemResult::skipped)),
	                       Param::of(tally.items(ItemResult::failed)), Param::of(tally.newly_failed()),
	                       json_param(tally.steps_as_json()), json_param(attempts_as_json(pattern)),
	                       json_param(events_as_json(report, narrate))});
}

} // namespace backfill::pg
