#pragma once

#include <optional>
#include <string>

#include "core/error.hpp"
#include "pg/spi.hpp"

namespace backfill::pg {

// Arguments of an SQL function, by position from 0.
class Args {
public:
	explicit Args(FunctionCallInfo fcinfo) noexcept : fcinfo_(fcinfo) {}

	bool is_null(int n) const noexcept { return fcinfo_->args[n].isnull; }
	Datum datum(int n) const noexcept { return fcinfo_->args[n].value; }

	// Refuses null: name is the argument's.
	std::string text(int n, const char *name) const {
		require(n, name);
		return to_text(datum(n));
	}
	std::optional<std::string> text_or_null(int n) const {
		return is_null(n) ? std::nullopt : std::optional<std::string>(to_text(datum(n)));
	}
	std::int64_t int8(int n, const char *name) const {
		require(n, name);
		return DatumGetInt64(datum(n));
	}
	bool boolean(int n, const char *name) const {
		require(n, name);
		return DatumGetBool(datum(n));
	}
	Oid oid(int n, const char *name) const {
		require(n, name);
		return DatumGetObjectId(datum(n));
	}
	// Hands an argument on to a statement, null or not.
	Param pass(int n, Oid type) const { return {type, datum(n), is_null(n)}; }

private:
	void require(int n, const char *name) const {
		if (is_null(n))
			throw core::Error(core::ErrorCode::invalid_argument, std::string(name) + " must not be null");
	}

	FunctionCallInfo fcinfo_;
};

} // namespace backfill::pg
