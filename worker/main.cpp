#include <cstdio>
#include <exception>
#include <string>

#include <CLI/CLI.hpp>

#include "worker/connection.hpp"
#include "worker/version.hpp"

namespace {

using namespace backfill::worker;

// What a script that calls the program may rely on.
enum Exit { done = 0, failed = 1, usage = 2, cannot_connect = 3, version_mismatch = 4 };

void print_version(const std::string &target) {
	Connection connection(target);
	const std::string extension = require_same_version(connection);
	std::printf("program    %s\nextension  %s (database \"%s\")\n", own_version().c_str(), extension.c_str(),
	            connection.database().c_str());
}

int complain(Exit code, const char *message) {
	std::fprintf(stderr, "pg_backfill: %s\n", message);
	return code;
}

} // namespace

int main(int argc, char **argv) {
	CLI::App app("Drives the runs of pg_backfill and shows what is going on.", "pg_backfill");
	app.require_subcommand(1);
	app.footer("Exit codes: 0 done, 1 failed, 2 usage, 3 cannot connect, 4 version mismatch");
	app.fallthrough();

	std::string target;
	app.add_option("-d,--dbname", target, "Database name, key=value pairs or URI; else libpq's environment decides")
		->type_name("CONNINFO");
	app.add_subcommand("version", "Print the versions of program and extension; fail unless they are the same")
		->callback([&] { print_version(target); })
		->footer("Example: pg_backfill version --dbname 'host=db.example dbname=leads'");

	try {
		app.parse(argc, argv);
		return done;
	} catch (const CLI::ParseError &e) {
		return app.exit(e) == 0 ? done : usage;
	} catch (const ConnectionError &e) {
		return complain(cannot_connect, e.what());
	} catch (const VersionMismatch &e) {
		return complain(version_mismatch, e.what());
	} catch (const std::exception &e) {
		return complain(failed, e.what());
	}
}
