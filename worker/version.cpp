#include "worker/version.hpp"

namespace backfill::worker {

std::string own_version() {
	return PG_BACKFILL_VERSION;
}

std::string require_same_version(Connection &connection) {
	const auto rows = connection.query("SELECT e.extversion, a.default_version"
	                                   " FROM pg_catalog.pg_extension e"
	                                   " LEFT JOIN pg_catalog.pg_available_extensions a ON a.name = e.extname"
	                                   " WHERE e.extname = 'pg_backfill'");
	const std::string where = "database \"" + connection.database() + "\"";
	if (rows.empty())
		throw VersionMismatch("extension pg_backfill is not installed in " + where +
		                      "\nHINT:  Run CREATE EXTENSION pg_backfill there, or name another database with --dbname.");
	const std::string installed = rows.front().at(0).value_or("");
	if (installed == own_version())
		return installed;
	const bool can_update = rows.front().at(1) == own_version();
	throw VersionMismatch("extension pg_backfill in " + where + " is version " + installed + ", this program is version " +
	                      own_version() + "\nHINT:  " +
	                      (can_update ? "Run ALTER EXTENSION pg_backfill UPDATE there."
	                                  : "Install the program and the extension of the same version."));
}

} // namespace backfill::worker
