#pragma once

#include <chrono>

namespace backfill::worker::deadline {

// A clock that goes on while the machine sleeps, as a lease does. Since some moment in the past.
std::chrono::milliseconds now() noexcept;

// Whether the program has been asked to stop, and `grace` ago.
bool passed(std::chrono::milliseconds grace) noexcept;

// Waits so long, or until the program is asked to stop. False: it was.
bool wait(std::chrono::milliseconds longest);

} // namespace backfill::worker::deadline
