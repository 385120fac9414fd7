#include "worker/command/command.hpp"
#include "worker/delivery/deliverer.hpp"
#include "worker/driver/driver.hpp"
#include "worker/log.hpp"
#include "worker/service/health.hpp"
#include "worker/service/http_server.hpp"
#include "worker/service/service.hpp"
#include "worker/stop.hpp"
#include "worker/version.hpp"

namespace backfill::worker {

namespace {

ExitCode serve(Invocation &invocation) {
	const DriverSettings settings = read_driver_settings(invocation.configuration);
	const auto http = read_http_settings(invocation.configuration);
	Driver driver(invocation.target, settings);
	const DeliverySettings delivery = DeliverySettings::read(invocation.configuration);
	Deliverer deliverer(invocation.target, delivery);
	// One that returns ends the others.
	std::vector<Service> services{{"driver", [&] { driver.serve(); }}};
	if (delivery.enabled)
		services.push_back({"delivery", [&] { deliverer.serve(); }});
	std::optional<HttpServer> server;
	if (http) {
		server.emplace(*http, std::max(30.0, 3 * settings.poll_seconds));
		services.push_back({"http", [&] { server->serve(); }});
	}
	log::info("worker_started", {{"version", own_version()}, {"connections", settings.connections}, {"listen", settings.listen ? 1 : 0}});
	run_services(services);
	health::notify("STOPPING=1");
	log::info("worker_stopped");
	return ExitCode::done;
}

} // namespace

void add_serve(CLI::App &app, Invocation &invocation) {
	app.add_subcommand("serve", "Drive the runs that are asked for and deliver messages, until told to stop")
		->callback([&] { invocation.action = [&] { return serve(invocation); }; })
		->footer("SIGTERM or SIGINT: takes nothing new, finishes what is in flight, hands back the rest. A second one ends it at\n"
	             "once; nothing is lost then either.\n\n"
	             "Examples:\n"
	             "  pg_backfill serve --dbname 'host=db.example dbname=leads user=backfill'\n"
	             "  pg_backfill serve --config /etc/pg_backfill.toml");
}

} // namespace backfill::worker
