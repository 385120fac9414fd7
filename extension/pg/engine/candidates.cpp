#include "pg/engine/candidates.hpp"

#include "core/error.hpp"
#include "pg/engine/command_check.hpp"

extern "C" {
#include "executor/tstoreReceiver.h"
#include "executor/tuptable.h"
#include "nodes/params.h"
#include "tcop/dest.h"
#include "utils/ruleutils.h"
}

namespace backfill::pg {

namespace {

// The candidate query as a relation of (k, t), in the key type and as keys are compared, whatever collation its column has.
std::string typed_query(const Pipeline &pipeline) {
	const CandidateQuery query = candidate_query(pipeline.candidates);
	// The line end closes a comment at the end of the query.
	return "SELECT q.k::" + format_type(pipeline.keys.oid()) + " AS k, " + (query.has_time ? "q.t" : "NULL") +
	       "::pg_catalog.timestamptz AS t FROM (" + query.sql + "\n) AS q(k" + (query.has_time ? ", t" : "") + ")";
}

// $3: what it goes on after, if it does; the last two: further keys and times, if there are any.
std::string sorted_query(const Pipeline &pipeline, bool resumes, bool has_more) {
	const std::string key = format_type(pipeline.keys.oid());
	const Oid collation = pipeline.keys.collation();
	const std::string collate =
		OidIsValid(collation) ? std::string(" COLLATE ") + call([&]() noexcept { return generate_collation_name(collation); })
							  : std::string();
	const std::string more = !has_more ? ""
	                                   : " UNION ALL SELECT m.k::" + key + ", m.t FROM ROWS FROM (pg_catalog.unnest($" +
	                                         (resumes ? "4" : "3") + "::pg_catalog.text[]), pg_catalog.unnest($" + (resumes ? "5" : "4") +
	                                         "::pg_catalog.timestamptz[])) AS m(k, t)";
	return "SELECT DISTINCT ON (1) c.k" + collate + ", c.t FROM (" + typed_query(pipeline) + more + ") AS c" +
	       (resumes ? " WHERE c.k > $3::pg_catalog.text::" + key + collate : "") + " ORDER BY 1, 2 DESC NULLS LAST";
}

} // namespace

FoundItems Candidates::find(const Pipeline &pipeline, const RunFrame &frame, const std::vector<EarlierFailures> &failures) {
	FoundItems found;
	const RunContext run(pipeline, frame);
	as_owner(pipeline, [&] {
		with_spi([&] {
			// Planned for the range it is given: without it, the planner takes any range for a large one.
			const std::string sql = "SELECT DISTINCT k.written, c.t FROM (" + typed_query(pipeline) +
			                        ") AS c, pg_catalog.format('%s', c.k) AS k(written) WHERE k.written = ANY ($3)";
			for (const EarlierFailures &earlier : failures) {
				Oid types[] = {TIMESTAMPTZOID, TIMESTAMPTZOID, TEXTARRAYOID};
				Datum values[] = {TimestampTzGetDatum(earlier.ask_from), TimestampTzGetDatum(earlier.ask_to),
				                  Param::of(earlier.items).value};
				const int code = call([&]() noexcept {
					return SPI_execute_with_args(sql.c_str(), 3, types, values, nullptr, false, 0);
				});
				if (code < 0)
					throw std::logic_error("the candidate query failed");
				const Result rows(SPI_tuptable, SPI_processed);
				for (std::uint64_t i = 0; i < rows.rows(); ++i)
					if (!rows.is_null(i, 1)) {
						found.keys.push_back(rows.text(i, 1));
						found.times.push_back(rows.is_null(i, 2) ? std::nullopt : std::optional(rows.timestamptz(i, 2)));
					}
				call([&]() noexcept { SPI_freetuptable(rows.table()); });
			}
		});
	});
	return found;
}

void Candidates::scan(const Pipeline &pipeline, const RunFrame &frame, MemoryContext context, const FoundItems &also) {
	// The query may ask what it is a part of: a replay has other candidates than a live run.
	const RunContext run(pipeline, frame);
	as_owner(pipeline, [&] {
		const bool resumes = frame.resume_after.has_value();
		const bool has_more = !also.keys.empty();
		const std::string sql = sorted_query(pipeline, resumes, has_more);
		with_spi([&] {
			ParamExternData given[5];
			int count = 0;
			const auto add = [&](const Param &param) { given[count++] = {param.value, param.is_null, PARAM_FLAG_CONST, param.type}; };
			add(Param::timestamptz(frame.scan_from));
			add(Param::timestamptz(frame.scan_to));
			if (resumes)
				add(Param::of(*frame.resume_after));
			if (has_more) {
				add(Param::of(also.keys));
				add(Param::of(also.times));
			}
			call([&]() noexcept {
				Oid types[5];
				for (int i = 0; i < count; ++i)
					types[i] = given[i].ptype;
				// Planned for the range it is given: without it, the planner takes any range for a large one.
				SPIPlanPtr plan = SPI_prepare_cursor(sql.c_str(), count, types, CURSOR_OPT_CUSTOM_PLAN);
				if (plan == nullptr)
					elog(ERROR, "could not prepare the candidate query: %s", SPI_result_code_string(SPI_result));
				ParamListInfo params = makeParamList(count);
				for (int i = 0; i < count; ++i)
					params->params[i] = given[i];

				MemoryContext const old = MemoryContextSwitchTo(context);
				CachedPlanSource *const source = static_cast<CachedPlanSource *>(linitial(SPI_plan_get_plan_sources(plan)));
				slot_ = MakeSingleTupleTableSlot(CreateTupleDescCopy(source->resultDesc), &TTSOpsMinimalTuple);
				store_ = tuplestore_begin_heap(false, true, work_mem);
				MemoryContextSwitchTo(old);
				DestReceiver *const receiver = CreateDestReceiver(DestTuplestore);
				SetTuplestoreDestReceiverParams(receiver, store_, context, true, nullptr, nullptr);
				SPIExecuteOptions options{};
				options.params = params;
				options.dest = receiver;
				const int code = SPI_execute_plan_extended(plan, &options);
				if (code < 0)
					elog(ERROR, "could not run the candidate query: %s", SPI_result_code_string(code));
				receiver->rDestroy(receiver);

				count_ = tuplestore_tuple_count(store_);
			});
		});
	});
}

std::vector<Item> Candidates::next(const Pipeline &pipeline, int most) {
	std::vector<Item> items;
	items.reserve(static_cast<std::size_t>(most));
	while (!null_key_ && static_cast<int>(items.size()) < most) {
		Item item{};
		const bool found = call([&]() noexcept {
			if (!tuplestore_gettupleslot(store_, true, false, slot_))
				return false;
			bool no_time = true;
			item.key = slot_getattr(slot_, 1, &null_key_);
			const Datum time = slot_getattr(slot_, 2, &no_time);
			item.has_time = !no_time;
			item.time = no_time ? 0 : DatumGetTimestampTz(time);
			return true;
		});
		if (!found)
			break;
		if (null_key_)
			continue; // nulls sort last: what has a key is handed out first
		item.key = pipeline.keys.copy(item.key);
		items.push_back(item);
	}
	// A tuple that was read from disk lies in the current memory context, which may not live as long as the slot.
	call([&]() noexcept { ExecClearTuple(slot_); });
	if (null_key_ && items.empty())
		throw core::Error(core::ErrorCode::wrong_state,
		                  "candidate query of pipeline \"" + pipeline.name + "\" returned a null key",
		                  "Exclude rows without a key.");
	return items;
}

void Candidates::release() {
	if (store_ == nullptr)
		return;
	Tuplestorestate *const store = store_;
	store_ = nullptr;
	call([&]() noexcept {
		ExecDropSingleTupleTableSlot(slot_);
		tuplestore_end(store);
	});
}

} // namespace backfill::pg
