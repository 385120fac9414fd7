#pragma once

#include <string>

#include "worker/connection.hpp"

namespace backfill::worker {

// A page for people, complete in one file and without a script: each pipeline's latest live runs as bars, then open
// alarms, runs that ended badly, failing items and what the outbox needs a person for. No payloads, no recipients.
std::string html_report(Connection &connection, const std::string &at);

} // namespace backfill::worker
