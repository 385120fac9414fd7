#include "pg/engine/outcome_type.hpp"

#include "core/error.hpp"

extern "C" {
#include "catalog/namespace.h"
#include "executor/executor.h"
#include "utils/syscache.h"
}

namespace backfill::pg {

Oid outcome_type() {
	return call([&]() noexcept {
		const Oid schema = get_namespace_oid("backfill", false);
		return GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum("outcome"), ObjectIdGetDatum(schema));
	});
}

static core::Outcome::Kind kind_of(const std::string &status) {
	using Kind = core::Outcome::Kind;
	if (status == "skip")
		return Kind::skip;
	if (status == "stop")
		return Kind::stop;
	return status == "fail" ? Kind::fail : Kind::ok;
}

std::optional<core::Outcome> outcome_of(const Result &result, std::uint64_t row, int column) {
	if (result.is_null(row, column))
		return std::nullopt;
	const Datum composite = result.datum(row, column);
	const Oid outcome = outcome_type();
	struct Fields {
		const char *status;
		const char *reason;
	};
	const Fields fields = call([&]() noexcept {
		bool no_status = true;
		bool no_reason = true;
		HeapTupleHeader const tuple = DatumGetHeapTupleHeader(composite);
		const Datum status = GetAttributeByNum(tuple, 1, &no_status);
		const Datum reason = GetAttributeByNum(tuple, 2, &no_reason);
		Fields found{nullptr, nullptr};
		if (!no_status) {
			const Oid status_type = get_atttype(get_typ_typrelid(outcome), 1);
			Oid output = InvalidOid;
			bool varlena = false;
			getTypeOutputInfo(status_type, &output, &varlena);
			found.status = OidOutputFunctionCall(output, status);
		}
		if (!no_reason)
			found.reason = TextDatumGetCString(reason);
		return found;
	});
	if (fields.status == nullptr)
		return std::nullopt;
	return core::Outcome{kind_of(fields.status), fields.reason == nullptr ? "" : fields.reason};
}

} // namespace backfill::pg
