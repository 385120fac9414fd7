#pragma once

#include <optional>

#include "core/outcome.hpp"
#include "pg/spi.hpp"

namespace backfill::pg {

// The composite type backfill.outcome.
Oid outcome_type();

// What a work command said: column `column` of a result row, of type backfill.outcome. Null says nothing.
std::optional<core::Outcome> outcome_of(const Result &result, std::uint64_t row, int column);

} // namespace backfill::pg
