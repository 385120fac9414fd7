#pragma once

#include <optional>
#include <string>

#include "worker/connection.hpp"

namespace backfill::worker {

// The database a worker may deliver for, in a file beside the worker and outside the database, so that a copy of the
// database does not bring it along. The text is backfill.database_identity()'s.
class Binding {
public:
	explicit Binding(std::string file) : file_(std::move(file)) {}

	// Empty if there is none. Throws std::runtime_error if the file is there and cannot be read.
	std::optional<std::string> read() const;
	// Replaces the file at once or not at all. Throws std::runtime_error.
	void write(const std::string &identity) const;
	const std::string &file() const noexcept { return file_; }

	static std::string identity_of(Connection &connection);

private:
	std::string file_;
};

} // namespace backfill::worker
