#include <cstdio>

#include "worker/command/output.hpp"
#include "worker/version.hpp"

namespace backfill::worker {

namespace {

ExitCode print_version(const Invocation &invocation) {
	Connection connection(invocation.target);
	const std::string extension = require_same_version(connection);
	if (invocation.output == "table") {
		std::printf("program    %s\nextension  %s (database \"%s\")\n", own_version().c_str(), extension.c_str(),
		            connection.database().c_str());
		return ExitCode::done;
	}
	constexpr unsigned text = 25;
	print_table(invocation, {{"program", "extension", "database"}, {text, text, text}, {{own_version(), extension, connection.database()}}});
	return ExitCode::done;
}

} // namespace

void add_version(CLI::App &app, Invocation &invocation) {
	app.add_subcommand("version", "Print the versions of program and extension; fail unless they are the same")
		->callback([&] { invocation.action = [&] { return print_version(invocation); }; })
		->footer("Example:\n  pg_backfill version --dbname 'host=db.example dbname=leads'");
}

} // namespace backfill::worker
