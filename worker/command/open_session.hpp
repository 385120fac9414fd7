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

} // namespace backfill::worker
