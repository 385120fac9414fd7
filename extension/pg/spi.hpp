#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pg/guard.hpp"

namespace backfill::pg {

// A parameter of an SQL statement. The datum must stay valid until the statement has run.
struct Param {
	Oid type;
	Datum value;
	bool is_null = false;

	static Param of(std::int64_t value) { return {INT8OID, Int64GetDatum(value)}; }
	static Param of(std::int32_t value) { return {INT4OID, Int32GetDatum(value)}; }
	static Param of(double value) { return {FLOAT8OID, Float8GetDatum(value)}; }
	static Param of(const std::optional<double> &value) { return value ? of(*value) : null(FLOAT8OID); }
	static Param of(bool value) { return {BOOLOID, BoolGetDatum(value)}; }
	static Param of(std::string_view value); // text, copied into the current memory context
	static Param of(const char *value) { return of(std::string_view(value)); }
	static Param of(const std::string &value) { return of(std::string_view(value)); }
	static Param of(const std::optional<std::string> &value) { return value ? of(*value) : null(TEXTOID); }
	static Param of(const std::vector<std::string> &values); // text[]
	static Param of(const std::vector<std::int64_t> &values); // bigint[]
	static Param of(const std::vector<std::optional<TimestampTz>> &values); // timestamptz[]
	static Param of(const std::vector<int> &values);          // integer[]
	static Param timestamptz(TimestampTz value) { return {TIMESTAMPTZOID, TimestampTzGetDatum(value)}; }
	static Param null(Oid type) { return {type, 0, true}; }
};

// What a statement returned. Valid until the SPI connection it was made on is finished; columns count from 1.
class Result {
public:
	Result() = default;
	Result(SPITupleTable *table, std::uint64_t rows) noexcept : table_(table), rows_(rows) {}

	std::uint64_t rows() const noexcept { return rows_; }
	int columns() const noexcept { return table_ == nullptr ? 0 : table_->tupdesc->natts; }
	SPITupleTable *table() const noexcept { return table_; }

	bool is_null(std::uint64_t row, int column) const;
	Datum datum(std::uint64_t row, int column) const;                // not null
	std::string text(std::uint64_t row, int column) const;           // by the type's output function; empty for null
	std::optional<std::string> text_or_null(std::uint64_t row, int column) const;
	std::int64_t int8(std::uint64_t row, int column) const { return DatumGetInt64(datum(row, column)); }
	std::int32_t int4(std::uint64_t row, int column) const { return DatumGetInt32(datum(row, column)); }
	double float8(std::uint64_t row, int column) const { return DatumGetFloat8(datum(row, column)); }
	bool boolean(std::uint64_t row, int column) const { return DatumGetBool(datum(row, column)); }
	TimestampTz timestamptz(std::uint64_t row, int column) const { return DatumGetTimestampTz(datum(row, column)); }

private:
	SPITupleTable *table_ = nullptr;
	std::uint64_t rows_ = 0;
};

// A fixed statement of ours, prepared once per backend and kept. Declare it `static constinit`.
class Statement {
public:
	constexpr explicit Statement(const char *sql) noexcept : sql_(sql) {}
	// Runs it with a fresh snapshot on the current SPI connection.
	Result run(std::initializer_list<Param> params);

private:
	const char *sql_;
	SPIPlanPtr plan_ = nullptr;
};

// Runs fn on an SPI connection of its own; what fn returns must not point into it. After an error the connection is
// ended by the subtransaction or transaction that is rolled back.
template <class Fn>
auto with_spi(Fn fn) {
	call([&]() noexcept { SPI_connect(); });
	if constexpr (std::is_void_v<decltype(fn())>) {
		fn();
		call([&]() noexcept { SPI_finish(); });
	} else {
		auto result = fn();
		call([&]() noexcept { SPI_finish(); });
		return result;
	}
}

std::string to_text(Datum value); // of type text
std::string format_type(Oid type);

} // namespace backfill::pg
