#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pg/guard.hpp"

namespace backfill::pg {

// An SQL error that was caught; what it had done is rolled back.
struct SqlError {
	std::string sqlstate; // five characters
	std::string message;  // primary text only, at most 500 bytes: DETAIL and CONTEXT quote data
	ErrorData *data = nullptr; // valid until the transaction ends

	// Not the fault of the statement: somebody asked this backend to stop. What a statement raises itself with such a
	// SQLSTATE (a time-out of another server that it passes on) is its own.
	bool is_operator_intervention() const {
		return sqlstate.compare(0, 2, "57") == 0 && data->funcname != nullptr && std::string_view(data->funcname) == "ProcessInterrupts";
	}
	[[noreturn]] void rethrow() const { throw PgError(data); }
};

namespace detail {
struct Saved {
	MemoryContext context;
	ResourceOwner owner;
};
Saved begin_subtransaction();
void release_subtransaction(const Saved &saved);
void roll_back_subtransaction(const Saved &saved);
SqlError describe(const PgError &error);
} // namespace detail

// Runs fn in a subtransaction. An SQL error rolls it back and is returned; another exception rolls it back and goes on.
template <class Fn>
std::optional<SqlError> subtransaction(Fn fn) {
	const detail::Saved saved = detail::begin_subtransaction();
	try {
		fn();
		detail::release_subtransaction(saved);
		return std::nullopt;
	} catch (const PgError &error) {
		SqlError caught = detail::describe(error);
		detail::roll_back_subtransaction(saved);
		return caught;
	} catch (...) {
		detail::roll_back_subtransaction(saved);
		throw;
	}
}

// Runs fn in a subtransaction that is always rolled back.
template <class Fn>
void rolled_back(Fn fn) {
	const detail::Saved saved = detail::begin_subtransaction();
	try {
		fn();
	} catch (...) {
		detail::roll_back_subtransaction(saved);
		throw;
	}
	detail::roll_back_subtransaction(saved);
}

} // namespace backfill::pg
