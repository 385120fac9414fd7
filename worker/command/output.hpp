#pragma once

#include <string>

#include "worker/command/command.hpp"
#include "worker/connection.hpp"

namespace backfill::worker {

// A result as the user asked for it: an aligned table for people, a JSON array with an object a line (numbers, booleans
// and JSON as such, nulls as null), or CSV (RFC 4180, a null is an empty field).
std::string formatted(const std::string &format, const Table &table);

// To standard output.
void print_table(const Invocation &invocation, const Table &table);

// Columns beside their names, a block a row, for rows that are too wide for a line; the other formats as above.
std::string expanded(const Table &table);
void print_expanded(const Invocation &invocation, const Table &table);

} // namespace backfill::worker
