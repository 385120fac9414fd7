#include <cstdio>
#include <random>

#include <spdlog/fmt/fmt.h>

#include "worker/command/command.hpp"
#include "worker/command/output.hpp"
#include "worker/delivery/settings.hpp"

namespace backfill::worker {

namespace {

ExitCode list(Invocation &invocation) {
	const DeliverySettings settings = DeliverySettings::read(invocation.configuration);
	Table table;
	table.columns = {"channel", "kind", "inert", "when_unknown", "batch", "senders", "per_second", "max_attempts"};
	constexpr unsigned text = 25, integer = 23, numeric = 1700;
	table.types = {text, text, text, text, integer, integer, numeric, integer};
	for (const auto &[name, channel] : settings.channels)
		table.rows.push_back({name, channel.kind, channel.inert ? "yes" : "no", channel.hold ? "hold" : "retry", std::to_string(channel.batch),
		                      std::to_string(channel.senders), channel.per_second > 0 ? fmt::format("{}", channel.per_second) : "",
		                      std::to_string(channel.max_attempts)});
	print_table(invocation, table);
	if (settings.channels.empty())
		std::fprintf(stderr, "No channel is configured: serve ends all messages as suppressed (inert). worker/pg_backfill.toml shows how to configure one.\n");
	return ExitCode::done;
}

// A UUID of version 4: no message's key.
std::string random_key() {
	std::random_device random;
	const unsigned a = random(), b = random(), c = random(), d = random();
	return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:04x}{:08x}", a, b >> 16, b & 0xFFF, 0x8000 | (c & 0x3FFF), c >> 16, d);
}

Message test_message(const ChannelSettings &channel, std::string recipient) {
	if (recipient.empty()) {
		if (channel.kind == "smtp")
			throw ConfigurationError("a mail needs somebody to go to\nHINT:  pg_backfill channel test " + channel.name + " --to email:user@domain");
		recipient = channel.kind + (channel.kind == "slack" ? ":#test" : ":test");
	}
	Message message;
	message.attempt = 1;
	message.key = random_key();
	message.recipient = recipient;
	message.type = "channel_test";
	message.pipeline = "pg_backfill";
	message.window_from = message.window_to = "1970-01-01T00:00:00Z";
	message.payload = R"({"text": "This is a test of channel )" + channel.name + R"( by pg_backfill. Nothing has happened."})";
	return message;
}

const char *told(core::Attempt attempt) {
	switch (attempt) {
	case core::Attempt::sent: return "accepted";
	case core::Attempt::nothing_left: return "nothing was sent";
	case core::Attempt::retry: return "refused for now";
	case core::Attempt::refused: return "refused for good";
	case core::Attempt::unknown: break;
	}
	return "sent, and no answer came";
}

// What mends it, for reasons that are the configuration's or the command line's.
constexpr std::pair<std::string_view, const char *> hints[] = {
	{"protocol_not_allowed", "the URL is one without TLS, which allow_plain = true allows."},
	{"address_not_allowed", "the address is not a public one, which allow_private = true allows."},
	{"tls", "ca_file names who signed the receiver's certificate; allow_plain = true allows a receiver without TLS."},
	{"host_key", "known_hosts, or host_key_sha256, has another key than the server."},
	{"login_denied", "user, and secret_file, secret_env or private_key_file, say who this is."},
	{"name_lookup", "url, or host, names a machine that is not known."},
	{"connection_refused", "nobody listens where url, or host and port, says."},
	{"timeout", "url, or host and port, may be wrong; timeout_seconds and connect_timeout_seconds say how long to wait."},
	{"endpoint_not_configured", "--to webhook:NAME is for one that has an endpoint.NAME; url serves all others."},
	{"recipient_not_configured", "--to slack:#NAME is for one that has a recipient.\"#NAME\"; secret_file or secret_env serves all others."},
	{"recipient_invalid", "--to names the recipient, as in emit()."},
	{"file_no_directory", "directory has to be there; it is not made, since a disk may not be mounted."},
	{"file_not_permitted", "directory has to be writable for this user; a systemd unit has ReadWritePaths for it."},
	{"sftp_not_permitted", "directory, on the server, has to be writable for user."},
	{"http_401", "bearer.secret_file, or bearer.secret_env, names the token."},
	{"http_403", "bearer.secret_file, or bearer.secret_env, names the token."},
	{"http_404", "url is not the receiver's."},
	{"slack_no_service", "secret_file, or secret_env, names the URL of a webhook that is no more."},
	{"slack_invalid_token", "secret_file, or secret_env, names the URL of a webhook that is none."},
};

std::string hint_of(const ChannelSettings &channel, std::string_view reason) {
	for (const auto &[known, hint] : hints)
		if (known == reason)
			return "HINT:  In [channel." + channel.name + "]: " + hint + "\n";
	return "";
}

ExitCode send(const ChannelSettings &channel, Channel &way, const Message &message) {
	const std::string what = way.describe(message);
	if (channel.inert) {
		std::printf("%s: inert, nothing was sent: %s\n", channel.name.c_str(), what.c_str());
		return ExitCode::suppressed;
	}
	const Outcome outcome = way.send(message);
	std::printf("%s: %s%s%s: %s, key %s\n", channel.name.c_str(), told(outcome.attempt), outcome.reason.empty() ? "" : " by ",
	            outcome.reason.c_str(), what.c_str(), message.key.c_str());
	std::fprintf(stderr, "%s", hint_of(channel, outcome.reason).c_str());
	return outcome.attempt == core::Attempt::sent ? ExitCode::done : ExitCode::some_failed;
}

ExitCode test(Invocation &invocation, const std::string &name, const std::string &recipient) {
	const DeliverySettings settings = DeliverySettings::read(invocation.configuration);
	const auto found = settings.channels.find(name);
	if (found == settings.channels.end())
		throw ConfigurationError("channel " + name + " is not configured\nHINT:  Add [channel." + name + "] to the file given by --config; pg_backfill channel list shows what is there.");
	const ChannelSettings &channel = found->second;
	const Message message = test_message(channel, recipient);
	const std::unique_ptr<Channel> way = channel.open();
	try {
		return send(channel, *way, message);
	} catch (const rule::TemplateFailed &failure) {
		std::fprintf(stderr, "pg_backfill: %s: %s\n%s", name.c_str(), failure.what(), hint_of(channel, failure.reason()).c_str());
		return ExitCode::some_failed;
	}
}

} // namespace

void add_channel(CLI::App &app, Invocation &invocation) {
	CLI::App *const channel = app.add_subcommand("channel", "Look at and try the channels of the configuration; no database is needed");
	channel->require_subcommand(1);
	channel->footer("Examples:\n  pg_backfill channel list --config /etc/pg_backfill.toml\n  pg_backfill channel test slack\n"
	                "  pg_backfill channel test customer_mail --to email:me@example.com");
	channel->add_subcommand("list", "The configured channels")
		->callback([&] { invocation.action = [&] { return list(invocation); }; })
		->footer("Example:\n  pg_backfill channel list --config /etc/pg_backfill.toml");

	CLI::App *const tested = channel->add_subcommand("test", "Send a harmless message to a channel, now, and say what came of it");
	const auto name = std::make_shared<std::string>(), recipient = std::make_shared<std::string>();
	tested->add_option("NAME", *name, "The channel: [channel.NAME] of the configuration")->required();
	tested->add_option("--to", *recipient, "Recipient, as in emit()")->type_name("RECIPIENT");
	tested->footer("Example:\n  pg_backfill channel test customer_mail --to email:me@example.com");
	tested->callback([&invocation, name, recipient] {
		invocation.action = [&invocation, name, recipient] { return test(invocation, *name, *recipient); };
	});
}

} // namespace backfill::worker
