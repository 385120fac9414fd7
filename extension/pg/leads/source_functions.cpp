#include <cstring>
#include <new>

#include "pg/guard.hpp"
#include "pg/leads/moment.hpp"
#include "pg/leads/sources.hpp"
#include "pg/leads/words.hpp"

extern "C" {
#include "utils/array.h"
}

using backfill::pg::call;

namespace {

// The state lives in the aggregate's memory, so it is plain data.
bt::Sources *sources_of(FunctionCallInfo fcinfo) {
	if (!PG_ARGISNULL(0))
		return reinterpret_cast<bt::Sources *>(PG_GETARG_POINTER(0));
	void *const memory = call([&]() noexcept {
		MemoryContext context;
		if (AggCheckCallContext(fcinfo, &context) == 0)
			elog(ERROR, "called outside an aggregate");
		return MemoryContextAlloc(context, sizeof(bt::Sources));
	});
	return new (memory) bt::Sources;
}

} // namespace

// internal, bureau, complete, report_at, received_at, credit_report_id, normalized_report_id, semantic_sha256
BACKFILL_FUNCTION(bt_leads__add_source) {
	bt::Sources *const sources = sources_of(fcinfo);
	if (PG_ARGISNULL(1) || PG_ARGISNULL(2) || PG_ARGISNULL(4) || PG_ARGISNULL(5) || PG_ARGISNULL(6) || PG_ARGISNULL(7))
		PG_RETURN_POINTER(sources);
	struct {
		const text *bureau;
		const bytea *hash;
	} const arguments = call([&]() noexcept { return decltype(arguments){PG_GETARG_TEXT_PP(1), PG_GETARG_BYTEA_PP(7)}; });
	const std::optional<bureau::Bureau> bureau = bt::bureau_of({VARDATA_ANY(arguments.bureau), VARSIZE_ANY_EXHDR(arguments.bureau)});
	bt::Source source;
	if (!bureau || VARSIZE_ANY_EXHDR(arguments.hash) != source.semantic.size())
		PG_RETURN_POINTER(sources);
	source.rank.complete = PG_GETARG_BOOL(2);
	if (!PG_ARGISNULL(3))
		source.rank.report_unix_ms = bt::unix_ms(PG_GETARG_TIMESTAMPTZ(3));
	source.rank.received = PG_GETARG_TIMESTAMPTZ(4);
	source.rank.id = PG_GETARG_INT64(5);
	source.normalized_report_id = PG_GETARG_INT64(6);
	std::memcpy(source.semantic.data(), VARDATA_ANY(arguments.hash), source.semantic.size());
	sources->add(*bureau, source);
	PG_RETURN_POINTER(sources);
}

BACKFILL_FUNCTION(bt_leads__source_fingerprint) {
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	const bt::Sources &sources = *reinterpret_cast<const bt::Sources *>(PG_GETARG_POINTER(0));
	bt::Fingerprint fingerprint;
	const std::size_t length = sources.fingerprint(fingerprint);
	if (length == 0)
		PG_RETURN_NULL();
	return call([&]() noexcept { return PointerGetDatum(cstring_to_text_with_len(fingerprint.data(), static_cast<int>(length))); });
}

BACKFILL_FUNCTION(bt_leads__source_ids) {
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	const bt::Sources &sources = *reinterpret_cast<const bt::Sources *>(PG_GETARG_POINTER(0));
	Datum ids[bt::bureau_count];
	int count = 0;
	for (const std::optional<bt::Source> &source : sources.best)
		if (source)
			ids[count++] = Int64GetDatum(source->normalized_report_id);
	if (count == 0)
		PG_RETURN_NULL();
	return call([&]() noexcept { return PointerGetDatum(construct_array(ids, count, INT8OID, 8, true, TYPALIGN_DOUBLE)); });
}
