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

// The parameters that a scan has beyond its range.
struct Resumption {
	bool after;    // $3: a key, as text
	bool by_parts; // $4: ranges beyond it
	bool has_more; // $5, $6: further keys and their times
};

// The candidate query as a relation of (k, t), in the key type, whatever type its column has.
std::string typed_query(const Pipeline &pipeline) {
	const CandidateQuery query = candidate_query(pipeline.candidates);
	// The line end closes a comment at the end of the query.
	return "SELECT q.k::" + format_type(pipeline.keys.oid()) + " AS k, " + (query.has_time ? "q.t" : "NULL") +
	       "::pg_catalog.timestamptz AS t FROM (" + query.sql + "\n) AS q(k" + (query.has_time ? ", t" : "") + ")";
}

std::string not_counted(const std::string &typed, const Resumption &resumption) {
	if (!resumption.after && !resumption.by_parts)
		return "";
	return std::string(" WHERE ") + (resumption.after ? "c.k > $3::pg_catalog.text" + typed : "true") +
	       (resumption.by_parts ? " AND NOT EXISTS (SELECT FROM pg_catalog.jsonb_array_elements($4::pg_catalog.jsonb) AS e(r) WHERE c.k > "
	                              "(e.r OPERATOR(pg_catalog.->>) 0)" + typed + " AND c.k <= (e.r OPERATOR(pg_catalog.->>) 1)" + typed + ")"
	                            : "");
}

std::string sorted_query(const Pipeline &pipeline, const Resumption &resumption, std::optional<int> most) {
	const std::string key = format_type(pipeline.keys.oid());
	// Sorted as keys are compared, whatever collation the query's column has.
	const Oid collation = pipeline.keys.collation();
	const std::string collate =
		OidIsValid(collation) ? std::string(" COLLATE ") + call([&]() noexcept { return generate_collation_name(collation); })
							  : std::string();
	const std::string from = resumption.has_more ? "SELECT s.k, s.t, false AS also FROM (" + typed_query(pipeline) + ") AS s UNION ALL SELECT m.k::" + key +
	                                                   ", m.t, true FROM ROWS FROM (pg_catalog.unnest($5::pg_catalog.text[]), "
	                                                   "pg_catalog.unnest($6::pg_catalog.timestamptz[])) AS m(k, t)"
	                                             : typed_query(pipeline);
	return "SELECT DISTINCT ON (1) c.k" + collate + ", c.t" + (resumption.has_more ? ", c.also" : "") + " FROM (" + from + ") AS c" +
	       not_counted("::" + key + collate, resumption) +
	       // A null key comes first, so that it is known of whatever is read after it. Behind a key there is none.
	       (resumption.after ? " ORDER BY 1" : " ORDER BY 1 NULLS FIRST") + ", 2 DESC NULLS LAST" + (resumption.has_more ? ", 3" : "") +
	       (most ? " LIMIT " + std::to_string(*most) : "");
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

void Candidates::scan(const Pipeline &pipeline, const RunFrame &frame, MemoryContext context, const FoundItems &also,
                      std::optional<int> most) {
	// The query may ask what it is a part of: a replay has other candidates than a live run.
	const RunContext run(pipeline, frame);
	as_owner(pipeline, [&] {
		const Resumption resumption{frame.resume_after.has_value(), frame.done_ahead != "[]", !also.keys.empty()};
		const std::string sql = sorted_query(pipeline, resumption, most);
		with_spi([&] {
			const Param params_given[] = {Param::timestamptz(frame.scan_from), Param::timestamptz(frame.scan_to),
			                              Param::of(frame.resume_after.value_or("")), Param::of(frame.done_ahead),
			                              Param::of(also.keys), Param::of(also.times)};
			call([&]() noexcept {
				Oid types[6];
				for (int i = 0; i < 6; ++i)
					types[i] = params_given[i].type;
				const int given = resumption.has_more ? 6 : resumption.by_parts ? 4 : resumption.after ? 3 : 2;
				// Planned for the range it is given: without it, the planner takes any range for a large one.
				SPIPlanPtr plan = SPI_prepare_cursor(sql.c_str(), given, types, CURSOR_OPT_CUSTOM_PLAN);
				if (plan == nullptr)
					elog(ERROR, "could not prepare the candidate query: %s", SPI_result_code_string(SPI_result));
				ParamListInfo params = makeParamList(given);
				for (int i = 0; i < given; ++i)
					params->params[i] = {params_given[i].value, false, PARAM_FLAG_CONST, types[i]};

				MemoryContext const old = MemoryContextSwitchTo(context);
				CachedPlanSource *const source = static_cast<CachedPlanSource *>(linitial(SPI_plan_get_plan_sources(plan)));
				slot_ = MakeSingleTupleTableSlot(CreateTupleDescCopy(source->resultDesc), &TTSOpsMinimalTuple);
				store_ = tuplestore_begin_heap(resumption.has_more, true, work_mem); // true: read twice
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
				if (resumption.has_more)
					count_also();
			});
		});
	});
}

void Candidates::count_also() noexcept {
	MemoryContext const caller = MemoryContextSwitchTo(slot_->tts_mcxt);
	bool is_null = false;
	while (tuplestore_gettupleslot(store_, true, false, slot_))
		also_count_ += DatumGetBool(slot_getattr(slot_, 3, &is_null)) ? 1 : 0;
	tuplestore_rescan(store_);
	MemoryContextSwitchTo(caller);
}

std::vector<Item> Candidates::next(const Pipeline &pipeline, int most) {
	std::vector<Item> items;
	items.reserve(static_cast<std::size_t>(most));
	while (static_cast<int>(items.size()) < most) {
		Item item{};
		bool is_null = false;
		const bool found = call([&]() noexcept {
			// The slot keeps the tuple until it gets the next one, and the caller's context may be reset by then.
			MemoryContext const caller = MemoryContextSwitchTo(slot_->tts_mcxt);
			const bool any = tuplestore_gettupleslot(store_, true, false, slot_);
			MemoryContextSwitchTo(caller);
			if (!any)
				return false;
			bool no_time = true;
			item.key = slot_getattr(slot_, 1, &is_null);
			const Datum time = slot_getattr(slot_, 2, &no_time);
			item.has_time = !no_time;
			item.time = no_time ? 0 : DatumGetTimestampTz(time);
			return true;
		});
		if (!found)
			break;
		if (is_null) {
			null_key_ = true; // what has a key is handed out first
			continue;
		}
		item.key = pipeline.keys.copy(item.key);
		items.push_back(item);
	}
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
