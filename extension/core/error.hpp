#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace backfill::core {

// Stable classification of domain failures; the boundary maps it to an SQLSTATE.
enum class ErrorCode {
	invalid_argument, // 22023 invalid_parameter_value
	not_found,        // 42704 undefined_object
	not_allowed,      // 42501 insufficient_privilege
	wrong_state,      // 55000 object_not_in_prerequisite_state
	in_transaction,   // 25001 active_sql_transaction
	wrong_type,       // 42804 datatype_mismatch
	duplicate,        // 42710 duplicate_object
	timed_out,        // 53400 configuration_limit_exceeded: statement_timeout; 57014 is a person's cancel
	lease_lost,       // LE001: a run or a claim belongs to another holder
};

// A failure that a person can mend: message in PostgreSQL's style (lower case, no period), hint as whole sentences.
class Error final : public std::runtime_error {
public:
	Error(ErrorCode code, const std::string &message, std::string hint = {}, std::string detail = {})
		: std::runtime_error(message), code_(code), hint_(std::move(hint)), detail_(std::move(detail)) {}

	ErrorCode code() const noexcept { return code_; }
	const std::string &hint() const noexcept { return hint_; }
	const std::string &detail() const noexcept { return detail_; }

private:
	ErrorCode code_;
	std::string hint_;
	std::string detail_;
};

} // namespace backfill::core
