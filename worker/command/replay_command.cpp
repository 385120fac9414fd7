#include <cstdio>

#include "worker/command/command.hpp"
#include "worker/command/foreground.hpp"
#include "worker/command/open_session.hpp"
#include "worker/stop.hpp"

namespace backfill::worker {

namespace {

struct Options {
	std::string pipeline, from, to, redo = "lacking";
	bool deliver = false, downstream = false;
};

std::string flag(bool value) {
	return value ? "true" : "false";
}

// Says first how many messages it will send, for there is no way to call them back.
void announce(Connection &connection, const Options &options) {
	const Value messages = connection.value(
		"SELECT coalesce(sum(items), 0) FROM backfill.rehearse($1, $2, $3, $4, true) WHERE part = 'message' AND would = 'send'",
		{options.pipeline, options.from, options.to, options.redo});
	std::fprintf(stderr, "this replay will send %s messages\n", messages.value().c_str());
}

std::vector<Row> request(Connection &connection, const Options &options) {
	connection.on_notice([](const std::string &, const std::string &) {});
	return connection.query("SELECT run_id, replay_id FROM backfill.replay($1, $2, $3, $4, $5, $6) WHERE state IN ('requested', 'running')",
	                        {options.pipeline, options.from, options.to, options.redo, flag(options.deliver), flag(options.downstream)});
}

// Sending was asked for, something was told, and all of it was suppressed.
bool is_all_suppressed(Connection &connection, const std::string &replay_id) {
	return connection.value("SELECT count(*) > 0 AND bool_and(e.state = 'suppressed') FROM backfill.run_emission e"
	                        " JOIN backfill.run_history h USING (run_id) WHERE h.replay_id = $1",
	                        {replay_id}) == "t";
}

ExitCode replay(Invocation &invocation, const Options &options) {
	Foreground foreground(invocation);
	Connection connection = open_session(invocation);
	if (options.deliver)
		announce(connection, options);
	const std::vector<Row> runs = request(connection, options);
	ExitCode code = ExitCode::done;
	for (const Row &run : runs) {
		if (stop::requested())
			break;
		if (foreground.drive(std::stoll(run.at(0).value())) != ExitCode::done)
			code = ExitCode::some_failed;
	}
	foreground.print();
	if (code == ExitCode::done && options.deliver && !runs.empty()) {
		Connection looking = open_session(invocation);
		if (is_all_suppressed(looking, runs.front().at(1).value()))
			return ExitCode::suppressed;
	}
	return stop::requested() ? ExitCode::some_failed : code;
}

} // namespace

void add_replay(CLI::App &app, Invocation &invocation) {
	CLI::App *const command = app.add_subcommand("replay", "Go over past slots again, oldest first; silent unless --deliver");
	const auto options = std::make_shared<Options>();
	command->add_option("pipeline", options->pipeline, "Name of the pipeline")->required();
	command->add_option("--from", options->from, "Begin of the range, in the pipeline's time zone")->required();
	command->add_option("--to", options->to, "Its end, exclusive")->required();
	command->add_option("--redo", options->redo, "lacking, or all: make again what is there, where a step has a clear command")
		->check(CLI::IsMember({"lacking", "all"}));
	command->add_flag("--deliver", options->deliver, "Send what was never sent; takes a member of backfill_deliver");
	command->add_flag("--downstream", options->downstream, "Run the pipelines after it, once, at the end");
	command->callback([&invocation, options] { invocation.action = [&invocation, options] { return replay(invocation, *options); }; });
	command->footer("Exit code 1 if an item failed or a run did not succeed, 5 if --deliver sent nothing because all was suppressed.\n\n"
	                "Examples:\n  pg_backfill replay bt_leads --from 2026-10-01 --to 2026-11-01\n"
	                "  pg_backfill replay bt_leads --from 2026-10-01 --to 2026-10-02 --redo all\n"
	                "  pg_backfill replay bt_leads --from 2026-10-01 --to 2026-10-02 --deliver");
}

} // namespace backfill::worker
