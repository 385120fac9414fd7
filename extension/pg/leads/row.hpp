#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "bureau/reading.hpp"
#include "pg/guard.hpp"

extern "C" {
#include "utils/date.h"
#include "utils/tuplestore.h"
}

namespace bt {

// Everything in this file calls PostgreSQL directly, and so may jump: use it inside backfill::pg::call() only. Nothing
// here has a destructor.

// A composite type's columns; null if it is not one.
TupleDesc row_type(Oid type) noexcept;
// The composite type that the running function returns.
TupleDesc result_row_type(FunctionCallInfo fcinfo) noexcept;
// The composite type of the elements of an array column; columns count from 0.
TupleDesc element_row_type(TupleDesc row, int column) noexcept;

Datum text_datum(std::string_view utf8) noexcept;
Datum text_array(const Datum *values, int count) noexcept;
Datum rupees(bureau::Paise paise) noexcept;
DateADT date_of(bureau::Date date) noexcept;
Datum sha256_of(std::string_view text) noexcept;

// A row of a composite type, field by field in the order of its declaration.
class RowWriter {
public:
	explicit RowWriter(TupleDesc type) noexcept : type_(type) {}

	void null() noexcept { add(0, true); }
	void datum(Datum value) noexcept { add(value, false); }
	void boolean(bool value) noexcept { datum(BoolGetDatum(value)); }
	void int4(std::int32_t value) noexcept { datum(Int32GetDatum(value)); }
	void int8(std::int64_t value) noexcept { datum(Int64GetDatum(value)); }
	void int4(const std::optional<int> &value) noexcept { value ? int4(*value) : null(); }
	void text(std::string_view value) noexcept { datum(text_datum(value)); }
	void text_or_null(std::string_view value) noexcept { value.empty() ? null() : text(value); }
	void date(const std::optional<bureau::Date> &value) noexcept { value ? datum(DateADTGetDatum(date_of(*value))) : null(); }
	void amount(const std::optional<bureau::Paise> &value) noexcept { value ? datum(rupees(*value)) : null(); }

	// Refuses a row with more or fewer fields than its type.
	Datum finish() noexcept;
	// The same, appended to what a set-returning function returns.
	void append_to(Tuplestorestate *rows) noexcept;

private:
	static constexpr int most_fields = 48;

	void add(Datum value, bool is_null) noexcept;
	void expect_all() const noexcept;

	TupleDesc type_;
	int count_ = 0;
	Datum values_[most_fields];
	bool nulls_[most_fields];
};

} // namespace bt
