#include "worker/command/command.hpp"
#include "worker/command/foreground.hpp"
#include "worker/command/output.hpp"
#include "worker/command/open_session.hpp"

namespace backfill::worker {

namespace {

ExitCode run_pipeline(Invocation &invocation, const std::string &pipeline) {
	Foreground foreground(invocation);
	const Value run_id = open_session(invocation).value("SELECT backfill.request_run($1)", {pipeline});
	const ExitCode code = foreground.drive(std::stoll(run_id.value()));
	foreground.print();
	return code;
}

struct Rehearsal {
	std::string pipeline, from, to, redo = "lacking";
	bool deliver = false, messages = false;
};

ExitCode rehearse(const Invocation &invocation, const Rehearsal &options) {
	Connection connection = open_session(invocation);
	print_table(invocation, connection.table(options.messages ? "SELECT * FROM backfill.rehearse_messages($1, $2, $3, $4, $5)"
	                                                          : "SELECT * FROM backfill.rehearse($1, $2, $3, $4, $5)",
	                                         {options.pipeline, given(options.from), given(options.to), options.redo,
	                                          options.deliver ? "true" : "false"}));
	return ExitCode::done;
}

} // namespace

void add_run(CLI::App &app, Invocation &invocation) {
	CLI::App *const command = app.add_subcommand("run", "Run a pipeline now, in the foreground, and print its tally");
	const auto pipeline = std::make_shared<std::string>();
	command->add_option("pipeline", *pipeline, "Name of the pipeline")->required();
	command->callback([&invocation, pipeline] { invocation.action = [&invocation, pipeline] { return run_pipeline(invocation, *pipeline); }; });
	command->footer("Exit code 1 if an item failed or the run did not succeed. Ctrl-C hands the run back.\n\n"
	                "Examples:\n  pg_backfill run bt_leads\n  pg_backfill run bt_leads --dbname leads 2>run.jsonl");
}

void add_rehearse(CLI::App &app, Invocation &invocation) {
	CLI::App *const command = app.add_subcommand("rehearse", "Show what a run, or a replay, would do and send; nothing stays");
	const auto options = std::make_shared<Rehearsal>();
	command->add_option("pipeline", options->pipeline, "Name of the pipeline")->required();
	CLI::Option *const from = command->add_option("--from", options->from, "Begin of the range to replay, in the pipeline's time zone");
	CLI::Option *const to = command->add_option("--to", options->to, "Its end, exclusive");
	from->needs(to);
	to->needs(from);
	command->add_option("--redo", options->redo, "lacking, or all: make again what is there")->check(CLI::IsMember({"lacking", "all"}));
	command->add_flag("--deliver", options->deliver, "As if the replay were to send");
	command->add_flag("--messages", options->messages, "The messages themselves");
	command->callback([&invocation, options] { invocation.action = [&invocation, options] { return rehearse(invocation, *options); }; });
	command->footer("Examples:\n  pg_backfill rehearse bt_leads\n"
	                "  pg_backfill rehearse bt_leads --from 2026-10-01 --to 2026-11-01 --deliver --messages --output json");
}

} // namespace backfill::worker
