#pragma once

#include "worker/command/command.hpp"
#include "worker/connection.hpp"
#include "worker/version.hpp"

namespace backfill::worker {

// A session whose extension is of the program's version, and that passes on the server's warnings.
inline Connection open_session(const Invocation &invocation) {
	Connection connection(invocation.target);
	require_same_version(connection);
	connection.on_notice([](const std::string &severity, const std::string &text) {
		std::fprintf(stderr, "%s:  %s\n", severity.c_str(), text.c_str());
	});
	return connection;
}

// An empty option was not given.
inline Value given(const std::string &option) {
	return option.empty() ? Value() : Value(option);
}

// Refuses a name that no pipeline has, rather than find nothing of it; an empty one was not given.
inline void require_pipeline(Connection &connection, const std::string &name) {
	constexpr const char *undefined_object = "42704";
	if (!name.empty() && connection.query("SELECT FROM backfill.pipeline_status WHERE pipeline = $1", {name}).empty())
		throw QueryError("pipeline \"" + name + "\" does not exist\nHINT:  pg_backfill status lists them all.", undefined_object);
}

} // namespace backfill::worker
