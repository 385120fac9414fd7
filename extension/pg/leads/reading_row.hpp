#pragma once

#include "pg/leads/row.hpp"
#include "pg/leads/row_reader.hpp"

namespace bt {

// Rows of types bt.report_reading and bt.tradeline_reading. The writers are for use inside call() only, and return a
// Datum or append to a row; the readers are plain C++.

Datum reading_row(const bureau::Reading &reading, TupleDesc type) noexcept;
bureau::Reading read_reading(Datum row);

Datum tradeline_row(const bureau::Tradeline &tradeline, TupleDesc type) noexcept;
bureau::Tradeline read_tradeline(Datum row);

void write_warnings(RowWriter &row, const std::vector<bureau::Warning> &warnings) noexcept; // two fields
std::vector<bureau::Warning> read_warnings(RowReader &row); // the same two
void write_timestamp(RowWriter &row, std::optional<std::int64_t> unix_ms) noexcept;

} // namespace bt
