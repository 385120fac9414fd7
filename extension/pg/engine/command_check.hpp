#pragma once

#include <string>

#include "pg/spi.hpp"

namespace backfill::pg {

// What a command is for decides what it is given in $1 and what it has to return.
enum class CommandKind {
	candidates,  // $1 scan_from, $2 scan_to -> (key [, item time])
	done,        // one key -> boolean
	lacking,     // keys -> keys
	work,        // one key -> anything, or backfill.outcome
	batch_work,  // keys -> anything, or (key, backfill.outcome)
	clear,       // one key -> anything
	batch_clear, // keys -> anything
};

// Parses a command as the current user under the current search path and refuses, with an error that says how to mend
// it, what could not work later: several statements, a parameter that is never used, a wrong type, a check that would
// write or lock. Errors of the parser itself come with their position.
void check_command(CommandKind kind, const std::string &sql, Oid key_type);

// A candidate query, so that it can be a part of another query.
struct CandidateQuery {
	std::string sql; // without the semicolon that may have ended it
	bool has_time;   // a second column gives the items' time
};
CandidateQuery candidate_query(const std::string &sql);

} // namespace backfill::pg
