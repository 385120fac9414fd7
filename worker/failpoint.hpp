#pragma once

#include <string_view>

namespace backfill::worker::failpoint {

// A place at which tests kill the program: where PG_BACKFILL_FAILPOINT is "name", or "name:n" for the nth time that it
// is reached, reaching it is SIGKILL. Costs nothing otherwise.
void reach(std::string_view name) noexcept;

} // namespace backfill::worker::failpoint
