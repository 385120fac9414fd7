#include "worker/service/http_server.hpp"

#include <thread>

#include <httplib.h>
#include <poll.h>

#include "worker/log.hpp"
#include "worker/metrics.hpp"
#include "worker/service/health.hpp"
#include "worker/stop.hpp"

namespace backfill::worker {

std::optional<HttpSettings> read_http_settings(Configuration &configuration) {
	Section section = configuration.section("http");
	const auto listen = section.text("listen");
	section.finish();
	if (!listen || listen->empty())
		return std::nullopt;
	const std::size_t colon = listen->rfind(':');
	HttpSettings settings;
	try {
		if (colon == std::string::npos)
			throw std::invalid_argument("no port");
		settings.host = listen->substr(0, colon);
		std::size_t length = 0;
		settings.port = std::stoi(listen->substr(colon + 1), &length);
		if (length != listen->size() - colon - 1 || settings.port < 1 || settings.port > 65535 || settings.host.empty())
			throw std::invalid_argument("no port");
	} catch (const std::logic_error &) {
		section.refuse("listen", "has to be an address and a port, such as \"127.0.0.1:9187\"");
	}
	if (settings.host.size() > 2 && settings.host.front() == '[' && settings.host.back() == ']')
		settings.host = settings.host.substr(1, settings.host.size() - 2);
	return settings;
}

HttpServer::HttpServer(const HttpSettings &settings, double silent_seconds) : server_(std::make_unique<httplib::Server>()) {
	server_->new_task_queue = [] { return new httplib::ThreadPool(2); };
	// The library's own options let a second program listen at the same port.
	server_->set_socket_options([](int socket) {
		const int yes = 1;
		setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	});
	server_->Get("/healthz", [](const httplib::Request &, httplib::Response &response) { response.set_content("ok\n", "text/plain"); });
	server_->Get("/readyz", [silent_seconds](const httplib::Request &, httplib::Response &response) {
		const std::chrono::duration<double> silent = health::since_round_trip();
		const bool is_ready = silent.count() <= silent_seconds && !stop::requested();
		response.status = is_ready ? 200 : 503;
		response.set_content(is_ready ? "ready\n" : "not ready\n", "text/plain");
	});
	server_->Get("/metrics", [](const httplib::Request &, httplib::Response &response) {
		response.set_content(metrics::exposition(), "text/plain; version=0.0.4");
	});
	if (!server_->bind_to_port(settings.host.c_str(), settings.port))
		throw ConfigurationError("cannot listen at " + settings.host + ":" + std::to_string(settings.port) +
		                         "\nHINT:  Something else does, or the address is not this machine's: see [http] listen.");
	log::info("http_listening", {{"address", settings.host}, {"port", settings.port}});
}

HttpServer::~HttpServer() = default;

void HttpServer::serve() {
	std::thread serving([&] { server_->listen_after_bind(); });
	pollfd file = {stop::descriptor(), POLLIN, 0};
	while (!stop::requested())
		poll(&file, 1, -1);
	// It cannot be stopped before it has begun.
	while (!server_->is_running())
		std::this_thread::yield();
	server_->stop();
	serving.join();
}

} // namespace backfill::worker
