#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "worker/command/open_session.hpp"
#include "worker/report/html_report.hpp"

namespace backfill::worker {

namespace {

ExitCode write_report(const Invocation &invocation, const std::string &file) {
	Connection connection = open_session(invocation);
	// One snapshot, so that the parts of the page agree.
	connection.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
	const std::string at = connection.value("SELECT pg_catalog.date_trunc('second', pg_catalog.now())").value_or("");
	const std::string page = html_report(connection, at);
	connection.query("COMMIT");
	if (file == "-") {
		std::fputs(page.c_str(), stdout);
		return ExitCode::done;
	}
	std::ofstream out(file, std::ios::binary);
	out << page;
	out.close();
	if (!out)
		throw std::runtime_error(file + ": " + std::strerror(errno));
	return ExitCode::done;
}

} // namespace

void add_report(CLI::App &app, Invocation &invocation) {
	CLI::App *const command = app.add_subcommand("report", "Write a page about runs, failures and the outbox");
	const auto file = std::make_shared<std::string>();
	command->add_option("--html", *file, "The file to write; - is standard output")->required()->type_name("FILE");
	command->callback([&invocation, file] { invocation.action = [&invocation, file] { return write_report(invocation, *file); }; });
	command->footer("Example:\n  pg_backfill report --html backfill.html");
}

} // namespace backfill::worker
