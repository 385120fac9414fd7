#include <cstdio>

#include "worker/command/id.hpp"
#include "worker/command/output.hpp"
#include "worker/command/open_session.hpp"

namespace backfill::worker {

namespace {

struct Options {
	std::string pipeline, state;
	int limit = 20;
	long long run_id = 0;
};

ExitCode list_runs(const Invocation &invocation, const Options &options) {
	Connection connection = open_session(invocation);
	require_pipeline(connection, options.pipeline);
	print_table(invocation, connection.table("SELECT run_id, pipeline, mode, state, window_from, started_at, finished_at,"
	                                         " candidates, changed, unchanged, skipped, failed, error"
	                                         " FROM backfill.run_history"
	                                         " WHERE ($1::text IS NULL OR pipeline = $1) AND ($2::text IS NULL OR state = $2)"
	                                         " ORDER BY run_id DESC LIMIT $3",
	                                         {given(options.pipeline), given(options.state), std::to_string(options.limit)}));
	return ExitCode::done;
}

ExitCode show_run(const Invocation &invocation, const Options &options) {
	Connection connection = open_session(invocation);
	const std::string id = std::to_string(options.run_id);
	if (connection.query("SELECT FROM backfill.run_history WHERE run_id = $1", {id}).empty()) {
		std::fprintf(stderr, "pg_backfill: run %s does not exist\nHINT:  pg_backfill runs lists them.\n", id.c_str());
		return ExitCode::usage;
	}
	const Table story = connection.table("SELECT at, line FROM backfill.narration($1)", {id});
	if (invocation.output != "table")
		print_table(invocation, story);
	else
		for (const Row &row : story.rows)
			std::printf("%s\n", row.at(1).value_or("").c_str());
	return ExitCode::done;
}

} // namespace

void add_runs(CLI::App &app, Invocation &invocation) {
	CLI::App *const runs = app.add_subcommand("runs", "List runs, newest first; `runs show` tells the story of one");
	const auto options = std::make_shared<Options>();
	runs->add_option("pipeline", options->pipeline, "Only runs of this pipeline");
	runs->add_option("--state", options->state, "Only runs in this state")
		->check(CLI::IsMember({"requested", "running", "paused", "succeeded", "failed", "broken", "cancelled", "crashed"}));
	runs->add_option("--limit", options->limit, "At most so many")->check(CLI::Range(1, 100000))->capture_default_str();
	runs->callback([&invocation, options] {
		if (options->run_id == 0)
			invocation.action = [&invocation, options] { return list_runs(invocation, *options); };
	});
	CLI::App *const show = runs->add_subcommand("show", "The story of one run, as backfill.narration tells it");
	show->add_option("run", options->run_id, "Run id")->required()->check(is_id());
	show->callback([&invocation, options] { invocation.action = [&invocation, options] { return show_run(invocation, *options); }; });
	show->footer("Example:\n  pg_backfill runs show 42");
	runs->footer("Examples:\n  pg_backfill runs bt_leads --limit 7\n  pg_backfill runs --state failed --output csv\n  pg_backfill runs show 42");
}

} // namespace backfill::worker
