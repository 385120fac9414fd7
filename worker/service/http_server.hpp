#pragma once

#include <memory>
#include <optional>
#include <string>

#include "worker/configuration.hpp"

namespace httplib {
class Server;
}

namespace backfill::worker {

// [http] of the configuration file: where to listen. Nothing: no server.
struct HttpSettings {
	std::string host;
	int port = 0;
};
std::optional<HttpSettings> read_http_settings(Configuration &configuration);

// /healthz: the process is there. /readyz: the database answered lately. /metrics: for Prometheus. Without
// authentication, hence on loopback unless somebody says otherwise.
class HttpServer {
public:
	// Binds at once; throws ConfigurationError if the address is taken. silent_seconds: without an answer of the database
	// for so long, the worker is not ready.
	HttpServer(const HttpSettings &settings, double silent_seconds);
	~HttpServer();

	void serve(); // until the program is asked to stop

private:
	std::unique_ptr<httplib::Server> server_;
};

} // namespace backfill::worker
