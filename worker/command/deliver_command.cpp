#include "worker/command/command.hpp"
#include "worker/command/output.hpp"
#include "worker/delivery/deliverer.hpp"

namespace backfill::worker {

namespace {

struct Options {
	bool follow = false, inert = false;
};

// A configuration that was forgotten would cost everything that waits.
DeliverySettings settings_of(Invocation &invocation, const Options &options) {
	DeliverySettings settings = DeliverySettings::read(invocation.configuration, options.inert);
	if (settings.channels.empty() && !settings.inert)
		throw ConfigurationError("no channel is configured, so nothing can be sent\nHINT:  --config, or PG_BACKFILL_CONFIG, names the file with the channels;"
		                         " --inert ends all that is due as suppressed, unsent.");
	return settings;
}

ExitCode deliver(Invocation &invocation, const Options &options) {
	Deliverer deliverer(invocation.target, settings_of(invocation, options));
	Table table;
	table.columns = {"channel", "kind", "sent", "inert", "failed", "given_back", "dead", "unknown", "waiting"};
	constexpr unsigned text = 25, bigint = 20;
	table.types = {text, text, bigint, bigint, bigint, bigint, bigint, bigint, bigint};
	long long sent = 0, inert = 0, trouble = 0;
	for (const Deliverer::Drained &channel : deliverer.drain()) {
		Row row{channel.channel, channel.kind};
		for (const long long count : {channel.sent, channel.inert, channel.failed, channel.given_back, channel.dead, channel.unknown, channel.waiting})
			row.push_back(std::to_string(count));
		table.rows.push_back(std::move(row));
		sent += channel.sent;
		inert += channel.inert;
		trouble += channel.failed + channel.given_back + channel.dead + channel.unknown;
	}
	print_table(invocation, table);
	return trouble > 0 ? ExitCode::some_failed : inert > 0 && sent == 0 ? ExitCode::suppressed : ExitCode::done;
}

ExitCode follow_on(Invocation &invocation, const Options &options) {
	Deliverer deliverer(invocation.target, settings_of(invocation, options));
	deliverer.serve();
	return ExitCode::done;
}

} // namespace

void add_deliver(CLI::App &app, Invocation &invocation) {
	CLI::App *const command = app.add_subcommand("deliver", "Send all messages that are due, once, and say what became of them");
	const auto options = std::make_shared<Options>();
	command->add_flag("--follow", options->follow, "Go on until asked to stop, as serve does, but drive no runs");
	command->add_flag("--inert", options->inert, "Send nothing: what is due ends as suppressed, and the log says what would have been sent");
	command->callback([&invocation, options] {
		invocation.action = [&invocation, options] { return options->follow ? follow_on(invocation, *options) : deliver(invocation, *options); };
	});
	command->footer("Examples:\n  pg_backfill deliver --config /etc/pg_backfill.toml\n  pg_backfill deliver --output json\n\n"
	                "Exit codes: 0 all sent or nothing due, 1 some were not, 2 no channel is configured, 5 all were suppressed\n"
	                "because the channels are inert");
}

} // namespace backfill::worker
