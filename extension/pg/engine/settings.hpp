#pragma once

#include <optional>

#include "core/narration.hpp"
#include "pg/postgres.hpp"

namespace backfill::pg::settings {

core::Narrate narrate() noexcept; // backfill.narrate: which step lines a CALL raises
bool keep_all_events() noexcept;  // backfill.keep_events: skips are kept too
std::optional<TimestampTz> test_clock() noexcept; // backfill.test_clock_seconds: nothing is the server's clock

} // namespace backfill::pg::settings
