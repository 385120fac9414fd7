#pragma once

#include "pg/leads/row.hpp"

namespace bt {

// A reading as a row of type bt.report_reading. Inside call() only.
Datum reading_row(const bureau::Reading &reading, TupleDesc type) noexcept;

} // namespace bt
