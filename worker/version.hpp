#pragma once

#include <stdexcept>
#include <string>

#include "worker/connection.hpp"

namespace backfill::worker {

// Worker and extension do not belong together, or the extension is not there. The text says what to do.
class VersionMismatch final : public std::runtime_error {
	using std::runtime_error::runtime_error;
};

std::string own_version();

// Version of the extension in the connection's database, which is the worker's own; throws VersionMismatch otherwise.
// Whatever else the worker does with a database comes after this.
std::string require_same_version(Connection &connection);

} // namespace backfill::worker
