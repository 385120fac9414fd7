#include "pg/guard.hpp"

#include <cstdio>
#include <new>
#include <string_view>

#include "core/error.hpp"

extern "C" {
BACKFILL_EXPORT extern const Pg_magic_struct *PG_MAGIC_FUNCTION_NAME(void);
PG_MODULE_MAGIC;
}

namespace backfill::pg {

bool is_statement_timeout(const ErrorData &error) noexcept {
	return error.sqlerrcode == ERRCODE_QUERY_CANCELED && error.message_id != nullptr &&
	       std::string_view(error.message_id) == "canceling statement due to statement timeout";
}

void throw_current_error(MemoryContext caller) {
	// CopyErrorData() must not run in ErrorContext, and may itself run out of memory. The copy has to outlive the
	// subtransaction that may be about to be rolled back, and be gone with the transaction.
	CurrentMemoryContext = TopTransactionContext != nullptr ? TopTransactionContext : caller;
	ErrorData *volatile edata = nullptr;
	PG_TRY();
	{
		edata = CopyErrorData();
		FlushErrorState();
	}
	PG_CATCH();
	{
		FlushErrorState();
	}
	PG_END_TRY();
	CurrentMemoryContext = caller;
	if (edata == nullptr)
		throw std::bad_alloc();
	throw PgError(edata);
}

static int sqlstate_of(core::ErrorCode code) noexcept {
	switch (code) {
	case core::ErrorCode::invalid_argument:
		return ERRCODE_INVALID_PARAMETER_VALUE;
	case core::ErrorCode::not_found:
		return ERRCODE_UNDEFINED_OBJECT;
	case core::ErrorCode::not_allowed:
		return ERRCODE_INSUFFICIENT_PRIVILEGE;
	case core::ErrorCode::wrong_state:
		return ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
	case core::ErrorCode::in_transaction:
		return ERRCODE_ACTIVE_SQL_TRANSACTION;
	case core::ErrorCode::wrong_type:
		return ERRCODE_DATATYPE_MISMATCH;
	case core::ErrorCode::duplicate:
		return ERRCODE_DUPLICATE_OBJECT;
	case core::ErrorCode::timed_out:
		return ERRCODE_CONFIGURATION_LIMIT_EXCEEDED;
	case core::ErrorCode::lease_lost:
		return MAKE_SQLSTATE('L', 'E', '0', '0', '1');
	}
	return ERRCODE_INTERNAL_ERROR;
}

void Failure::from_current_exception() noexcept {
	try {
		throw;
	} catch (const PgError &e) {
		pg = e.data();
	} catch (const PastError &e) {
		*this = e.failure();
	} catch (const core::Error &e) {
		sqlstate = sqlstate_of(e.code());
		strlcpy(message, e.what(), sizeof message);
		strlcpy(detail, e.detail().c_str(), sizeof detail);
		strlcpy(hint, e.hint().c_str(), sizeof hint);
	} catch (const std::bad_alloc &) {
		sqlstate = ERRCODE_OUT_OF_MEMORY;
		strlcpy(message, "out of memory", sizeof message);
	} catch (const std::exception &e) {
		sqlstate = ERRCODE_INTERNAL_ERROR;
		strlcpy(message, e.what(), sizeof message);
	} catch (...) {
		sqlstate = ERRCODE_INTERNAL_ERROR;
		strlcpy(message, "unrecognized C++ exception", sizeof message);
	}
}

void Failure::copy_of(const ErrorData &error) noexcept {
	sqlstate = error.sqlerrcode;
	strlcpy(message, error.message != nullptr ? error.message : "", sizeof message);
	strlcpy(detail, error.detail != nullptr ? error.detail : "", sizeof detail);
	strlcpy(hint, error.hint != nullptr ? error.hint : "", sizeof hint);
}

void Failure::raise() const {
	if (pg != nullptr)
		ReThrowError(pg);
	ereport(ERROR, (errcode(sqlstate), errmsg("%s", message), detail[0] ? errdetail("%s", detail) : 0,
	                hint[0] ? errhint("%s", hint) : 0));
	pg_unreachable();
}

} // namespace backfill::pg
