#include <cstdio>

#include "worker/command/output.hpp"
#include "worker/command/open_session.hpp"

namespace backfill::worker {

namespace {

struct Options {
	std::string pipeline, key;
	int items = 100;
};

// One row a pipeline is too wide for a line.
ExitCode print_status(const Invocation &invocation, const Options &options) {
	Connection connection = open_session(invocation);
	require_pipeline(connection, options.pipeline);
	print_expanded(invocation, connection.table("SELECT * FROM backfill.pipeline_status WHERE $1::text IS NULL OR pipeline = $1 ORDER BY pipeline",
	                                            {given(options.pipeline)}));
	return ExitCode::done;
}

ExitCode explain(const Invocation &invocation, const Options &options) {
	Connection connection = open_session(invocation);
	print_table(invocation, connection.table("SELECT * FROM backfill.explain_item($1, $2)", {options.pipeline, options.key}));
	return ExitCode::done;
}

// The last row is the verdict.
ExitCode prove(const Invocation &invocation, const Options &options) {
	Connection connection = open_session(invocation);
	const Table findings = connection.table("SELECT * FROM backfill.prove($1, $2)", {options.pipeline, std::to_string(options.items)});
	print_table(invocation, findings);
	const Value &verdict = findings.rows.back().at(1);
	return verdict == "proven" || verdict == "proven_in_part" ? ExitCode::done : ExitCode::some_failed;
}

ExitCode doctor(const Invocation &invocation) {
	Connection connection = open_session(invocation);
	const Table checks = connection.table("SELECT * FROM backfill.doctor()");
	print_table(invocation, checks);
	const bool sick = std::ranges::any_of(checks.rows, [](const Row &row) { return row.at(1) == "fail"; });
	return sick ? ExitCode::some_failed : ExitCode::done;
}

} // namespace

void add_status(CLI::App &app, Invocation &invocation) {
	const auto options = std::make_shared<Options>();
	CLI::App *const command = app.add_subcommand("status", "How each pipeline stands: last run, last change, watermark, schedule, alarms, deliveries");
	command->add_option("pipeline", options->pipeline, "Only this one");
	command->callback([&invocation, options] { invocation.action = [&invocation, options] { return print_status(invocation, *options); }; });
	command->footer("Examples:\n  pg_backfill status bt_leads\n  pg_backfill status --output json");
}

void add_explain(CLI::App &app, Invocation &invocation) {
	const auto options = std::make_shared<Options>();
	CLI::App *const command = app.add_subcommand("explain", "One item: what its checks say, what a run would do now, what exists and what happened");
	command->add_option("pipeline", options->pipeline, "Pipeline")->required();
	command->add_option("key", options->key, "The item's key")->required();
	command->callback([&invocation, options] { invocation.action = [&invocation, options] { return explain(invocation, *options); }; });
	command->footer("Nothing that it tries stays.\n\nExample:\n  pg_backfill explain bt_leads 42");
}

void add_prove(CLI::App &app, Invocation &invocation) {
	const auto options = std::make_shared<Options>();
	CLI::App *const command = app.add_subcommand("prove", "Try on real items whether a pipeline is safe to run twice; all of it is rolled back");
	command->add_option("pipeline", options->pipeline, "Pipeline")->required();
	command->add_option("--items", options->items, "How many items to try")->check(CLI::Range(1, 256))->capture_default_str();
	command->callback([&invocation, options] { invocation.action = [&invocation, options] { return prove(invocation, *options); }; });
	command->footer("Exit code 1: a step is not safe, or nothing could be tried; the rows say which and what to do.\n\n"
	                "Example:\n  pg_backfill prove bt_leads --items 20");
}

void add_doctor(CLI::App &app, Invocation &invocation) {
	CLI::App *const command = app.add_subcommand("doctor", "Check the installation, schedules, privileges, plans, runs and the outbox");
	command->callback([&invocation] { invocation.action = [&invocation] { return doctor(invocation); }; });
	command->footer("Exit code 1: something fails; its hint is the statement that mends it.\n\n"
	                "Examples:\n  pg_backfill doctor\n  pg_backfill doctor --output json");
}

} // namespace backfill::worker
