#pragma once

#include <functional>
#include <string>

#include <CLI/CLI.hpp>

#include "worker/configuration.hpp"
#include "worker/exit_code.hpp"

namespace backfill::worker {

// What all subcommands share: the options before or after the subcommand's name, and the configuration file.
struct Invocation {
	std::string target; // for Connection
	std::string output = "table"; // table, json or csv
	Configuration configuration;
	bool log_level_given = false;
	std::function<ExitCode()> action; // set by the subcommand that was named
};

// Each adds a subcommand with its options and examples. Parsing sets invocation.action, and nothing else; it runs when
// the configuration has been read and the log is open.
void add_completion(CLI::App &app, Invocation &invocation);
void add_load_reports(CLI::App &app, Invocation &invocation);
void add_outbox(CLI::App &app, Invocation &invocation);
void add_rehearse(CLI::App &app, Invocation &invocation);
void add_replay(CLI::App &app, Invocation &invocation);
void add_status(CLI::App &app, Invocation &invocation);
void add_explain(CLI::App &app, Invocation &invocation);
void add_prove(CLI::App &app, Invocation &invocation);
void add_doctor(CLI::App &app, Invocation &invocation);
void add_report(CLI::App &app, Invocation &invocation);
void add_run(CLI::App &app, Invocation &invocation);
void add_runs(CLI::App &app, Invocation &invocation);
void add_serve(CLI::App &app, Invocation &invocation);
void add_version(CLI::App &app, Invocation &invocation);
void add_bind(CLI::App &app, Invocation &invocation);
void add_channel(CLI::App &app, Invocation &invocation);
void add_deliver(CLI::App &app, Invocation &invocation);

} // namespace backfill::worker
