#include <cstdio>

#include "worker/command/command.hpp"
#include "worker/delivery/binding.hpp"
#include "worker/delivery/settings.hpp"
#include "worker/version.hpp"

namespace backfill::worker {

namespace {

// A claim whose worker is gone may have been sent, by the original of a copy too. Committed before the binding is
// written, so that a bind that was interrupted can be done again.
void abandon(Connection &connection) {
	const auto rows = connection.query("SELECT backfill.abandon_claims()");
	for (const Row &row : rows)
		std::printf("message %s was in flight and is unknown now\n", row.at(0).value_or("").c_str());
	if (!rows.empty())
		std::printf("Find out what became of them, then decide: pg_backfill outbox resolve-sent or resolve-not-sent, or backfill.resolve_unknown.\n");
}

ExitCode bind(Invocation &invocation, bool keep_claims) {
	const Binding binding(DeliverySettings::read(invocation.configuration).binding_file);
	Connection connection(invocation.target);
	require_same_version(connection);
	const std::string identity = Binding::identity_of(connection);
	if (identity.ends_with("/standby")) {
		std::fprintf(stderr, "database \"%s\" is a standby\nHINT:  Nothing can be delivered from it; bind after it was promoted.\n", connection.database().c_str());
		return ExitCode::usage;
	}
	const auto before = binding.read();
	if (before == identity) {
		std::printf("already bound to database \"%s\" (%s)\n", connection.database().c_str(), identity.c_str());
		return ExitCode::done;
	}
	if (!keep_claims)
		abandon(connection);
	binding.write(identity);
	std::printf("bound to database \"%s\" (%s)", connection.database().c_str(), identity.c_str());
	std::printf(before ? ", no longer to %s\n" : "\n", before.value_or("").c_str());
	return ExitCode::done;
}

} // namespace

void add_bind(CLI::App &app, Invocation &invocation) {
	CLI::App *const command = app.add_subcommand("bind", "Let this worker deliver for the database, and for no copy of it");
	const auto keep_claims = std::make_shared<bool>(false);
	command->add_flag("--keep-claims", *keep_claims, "Another worker delivers for this database now: leave it what it holds");
	command->footer("To be run once, and again after a failover, a restore or an upgrade to a new cluster. What was in flight\n"
	                "is listed and becomes unknown: nobody knows whether it was sent.\n"
	                "Examples:\n  pg_backfill bind --config /etc/pg_backfill.toml\n  pg_backfill bind --keep-claims   # a second worker");
	command->callback([&invocation, keep_claims] { invocation.action = [&invocation, keep_claims] { return bind(invocation, *keep_claims); }; });
}

} // namespace backfill::worker
