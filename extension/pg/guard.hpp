#pragma once

#include <exception>
#include <type_traits>

#include "pg/postgres.hpp"

namespace backfill::pg {

// A PostgreSQL error on its way up through C++ frames. It is either rethrown by entry(), or was caught by
// subtransaction(), which has rolled back. Nothing else may swallow one.
class PgError final : public std::exception {
public:
	explicit PgError(ErrorData *edata) noexcept : edata_(edata) {}
	const char *what() const noexcept override { return edata_->message ? edata_->message : ""; }
	ErrorData *data() const noexcept { return edata_; }
	int sqlstate() const noexcept { return edata_->sqlerrcode; }

private:
	ErrorData *edata_; // in TopTransactionContext
};

// A cancel and a timeout have the same SQLSTATE, and messages are translated.
bool is_statement_timeout(const ErrorData &error) noexcept;

[[noreturn]] void throw_current_error(MemoryContext caller);

// C++ -> PostgreSQL. Runs fn, which may ereport(): the longjmp lands here and becomes a PgError, so that every C++
// frame above unwinds. The frame of fn itself is jumped over, hence the static_asserts; a local with a destructor
// inside fn is the one thing they cannot see.
template <class Fn>
auto call(Fn fn) -> std::invoke_result_t<Fn &> {
	using Result = std::invoke_result_t<Fn &>;
	static_assert(std::is_trivially_destructible_v<Fn>, "capture by reference");
	static_assert(std::is_void_v<Result> || std::is_trivially_copyable_v<Result>, "return plain data");
	static_assert(std::is_nothrow_invocable_v<Fn &>, "C code only: mark the lambda noexcept");

	MemoryContext const caller = CurrentMemoryContext;
	struct Restore {
		sigjmp_buf *stack = PG_exception_stack;
		ErrorContextCallback *callbacks = error_context_stack;
		~Restore() {
			PG_exception_stack = stack;
			error_context_stack = callbacks;
		}
	};
	{
		Restore restore;
		sigjmp_buf landing;
		if (sigsetjmp(landing, 0) == 0) {
			PG_exception_stack = &landing;
			return fn();
		}
	}
	throw_current_error(caller);
}

// What entry() carries out of the catch block: plain, fixed size, so that nothing allocates and nothing needs
// destroying when ereport() jumps.
struct Failure {
	ErrorData *pg = nullptr;
	int sqlstate = 0;
	char message[512] = "";
	char detail[512] = "";
	char hint[512] = "";

	void from_current_exception() noexcept;
	void copy_of(const ErrorData &error) noexcept; // without position and context
	[[noreturn]] void raise() const;
};
static_assert(std::is_trivially_destructible_v<Failure>);

// An SQL error that has outlived its transaction, which was rolled back.
class PastError final : public std::exception {
public:
	explicit PastError(const ErrorData &error) noexcept
		: is_cancel_(error.sqlerrcode == ERRCODE_QUERY_CANCELED && !is_statement_timeout(error)) {
		failure_.copy_of(error);
	}
	const char *what() const noexcept override { return failure_.message; }
	const Failure &failure() const noexcept { return failure_; }
	bool is_cancel() const noexcept { return is_cancel_; } // by somebody, not by a timeout

private:
	Failure failure_;
	bool is_cancel_;
};

// PostgreSQL -> C++. ereport() runs after every C++ object, the exception included, has been destroyed.
template <class Fn>
Datum entry(FunctionCallInfo fcinfo, Fn body) {
	Failure failure;
	try {
		return body(fcinfo);
	} catch (...) {
		failure.from_current_exception();
	}
	failure.raise();
}

} // namespace backfill::pg

#define BACKFILL_EXPORT __attribute__((visibility("default")))

// Defines an SQL-callable function. name: the extension's name, `_`, the SQL function's name.
#define BACKFILL_FUNCTION(name)                                                                                        \
	extern "C" {                                                                                                       \
	BACKFILL_EXPORT Datum name(PG_FUNCTION_ARGS);                                                                      \
	extern BACKFILL_EXPORT const Pg_finfo_record *pg_finfo_##name(void);                                               \
	PG_FUNCTION_INFO_V1(name);                                                                                         \
	}                                                                                                                  \
	static Datum name##_body(FunctionCallInfo fcinfo);                                                                 \
	Datum name(PG_FUNCTION_ARGS) {                                                                                     \
		return backfill::pg::entry(fcinfo, name##_body);                                                               \
	}                                                                                                                  \
	static Datum name##_body([[maybe_unused]] FunctionCallInfo fcinfo)
