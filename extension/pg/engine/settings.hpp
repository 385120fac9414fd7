#pragma once

#include "core/narration.hpp"

namespace backfill::pg::settings {

core::Narrate narrate() noexcept; // backfill.narrate: which step lines a CALL raises
bool keep_all_events() noexcept;  // backfill.keep_events: skips are kept too

} // namespace backfill::pg::settings
