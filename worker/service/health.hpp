#pragma once

#include <chrono>
#include <string>

namespace backfill::worker::health {

// A statement was sent to the database and answered. Feeds systemd's watchdog, if there is one: a worker that hangs, or
// that cannot reach its database, is started again.
void round_trip() noexcept;
void lost() noexcept; // the database

// Since the last round trip; a very long time if there has been none, or the database was lost since.
std::chrono::steady_clock::duration since_round_trip() noexcept;

// To systemd, if it started the program: READY=1, STOPPING=1, ...
void notify(const std::string &state) noexcept;

} // namespace backfill::worker::health
