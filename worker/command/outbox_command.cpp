#include <cstdio>

#include "worker/command/id.hpp"
#include "worker/command/output.hpp"
#include "worker/command/open_session.hpp"

namespace backfill::worker {

namespace {

struct Options {
	std::string pipeline, channel, state, reason;
	std::vector<long long> messages;
	int limit = 50;
	bool sent = false;
};

ExitCode list(const Invocation &invocation, const Options &options) {
	Connection connection = open_session(invocation);
	require_pipeline(connection, options.pipeline);
	print_table(invocation,
	            connection.table("SELECT message_id, pipeline, channel, message_type, window_from, item, state, reason, attempts,"
	                             " next_attempt_at, created_at FROM backfill.outbox"
	                             " WHERE ($1::text IS NULL OR pipeline = $1) AND ($2::text IS NULL OR channel = $2)"
	                             " AND ($3::text IS NULL OR state = $3) ORDER BY message_id DESC LIMIT $4",
	                             {given(options.pipeline), given(options.channel), given(options.state),
	                              std::to_string(options.limit)}));
	return ExitCode::done;
}

// The message, and what became of it: attempts, and what people decided.
ExitCode show(const Invocation &invocation, const Options &options) {
	Connection connection = open_session(invocation);
	const std::string id = std::to_string(options.messages.front());
	const Table message = connection.table(
		"SELECT o.*, (SELECT pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('at', d.at, 'state', d.state, 'reason', d.reason, 'attempt', d.attempt)"
		" ORDER BY d.delivery_id) FROM backfill.delivery d WHERE d.message_id = o.message_id) AS deliveries,"
		" (SELECT pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('at', i.at, 'action', i.action, 'reason', i.reason, 'by', i.by)"
		" ORDER BY i.intervention_id) FROM backfill.intervention i WHERE i.message_id = o.message_id) AS interventions"
		" FROM backfill.outbox o WHERE o.message_id = $1",
		{id});
	if (message.rows.empty()) {
		std::fprintf(stderr, "pg_backfill: message %s does not exist\nHINT:  pg_backfill outbox list shows messages.\n", id.c_str());
		return ExitCode::usage;
	}
	print_expanded(invocation, message);
	return ExitCode::done;
}

// The server's hints name its functions.
std::string commands_for(std::string_view hint) {
	constexpr std::pair<const char *, const char *> commands[] = {
		{"backfill.requeue", "requeue"}, {"backfill.resend", "resend"}, {"backfill.resolve_unknown", "resolve-sent or resolve-not-sent"}};
	std::string names;
	for (const auto &[function, command] : commands)
		if (hint.find(function) != std::string_view::npos)
			names.append(names.empty() ? "" : ", ").append(command);
	return names.empty() ? "" : "\nHere: pg_backfill outbox " + names + ".";
}

// All or none: the ids stand in one command line.
ExitCode decide(const Invocation &invocation, const Options &options, const std::string &what, const std::string &call) {
	Connection connection = open_session(invocation);
	try {
		connection.query("BEGIN");
		for (const long long message : options.messages)
			connection.query("SELECT " + call, {std::to_string(message), options.reason});
		connection.query("COMMIT");
	} catch (const QueryError &error) {
		throw QueryError(error.what() + commands_for(error.what()), error.sqlstate());
	}
	std::printf("%s %zu message%s\n", what.c_str(), options.messages.size(), options.messages.size() == 1 ? "" : "s");
	return ExitCode::done;
}

void add_decision(CLI::App &outbox, Invocation &invocation, const std::shared_ptr<Options> &options, const std::string &name,
                  const std::string &description, const std::string &what, const std::string &call) {
	CLI::App *const command = outbox.add_subcommand(name, description);
	command->add_option("message", options->messages, "Message ids")->required()->check(is_id());
	command->add_option("--reason", options->reason, "Why; it is kept with the message")->required();
	command->callback([&invocation, options, what, call] {
		invocation.action = [&invocation, options, what, call] { return decide(invocation, *options, what, call); };
	});
	command->footer("Example:\n  pg_backfill outbox " + name + " 17 18 --reason 'provider confirmed by telephone'");
}

} // namespace

void add_outbox(CLI::App &app, Invocation &invocation) {
	CLI::App *const outbox = app.add_subcommand("outbox", "Look at messages, and decide about those that need a person");
	outbox->require_subcommand(1);
	const auto options = std::make_shared<Options>();
	CLI::App *const listing = outbox->add_subcommand("list", "Messages and the state of their delivery, newest first");
	listing->add_option("--pipeline", options->pipeline, "Only of this pipeline");
	listing->add_option("--channel", options->channel, "Only of this channel");
	listing->add_option("--state", options->state, "Only in this state")
		->check(CLI::IsMember({"pending", "suppressed", "claimed", "sent", "unknown", "expired", "dead"}));
	listing->add_option("--limit", options->limit, "At most so many")->check(CLI::Range(1, 100000))->capture_default_str();
	listing->callback([&invocation, options] { invocation.action = [&invocation, options] { return list(invocation, *options); }; });
	listing->footer("Example:\n  pg_backfill outbox list --state unknown --output json");
	CLI::App *const showing = outbox->add_subcommand("show", "One message with its payload, its deliveries and what people decided");
	showing->add_option("message", options->messages, "Message id")->required()->expected(1)->check(is_id());
	showing->callback([&invocation, options] { invocation.action = [&invocation, options] { return show(invocation, *options); }; });
	showing->footer("Example:\n  pg_backfill outbox show 17");
	add_decision(*outbox, invocation, options, "requeue", "Send after all what is dead, expired or suppressed, or now what waits for a retry", "requeued",
	             "backfill.requeue($1, $2)");
	add_decision(*outbox, invocation, options, "discard", "Give messages up: nothing sends them", "discarded", "backfill.discard($1, $2)");
	add_decision(*outbox, invocation, options, "resolve-sent", "Unknown deliveries that did arrive", "resolved",
	             "backfill.resolve_unknown($1, true, $2)");
	add_decision(*outbox, invocation, options, "resolve-not-sent", "Unknown deliveries that did not arrive: send them", "resolved",
	             "backfill.resolve_unknown($1, false, $2)");
	add_decision(*outbox, invocation, options, "resend", "Send again what was sent, as a message of its own", "resent",
	             "backfill.resend($1, $2)");
	outbox->footer("Examples:\n  pg_backfill outbox list --state dead\n  pg_backfill outbox requeue 17 --reason 'address mended'");
}

} // namespace backfill::worker
