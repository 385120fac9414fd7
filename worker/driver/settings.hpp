#pragma once

#include <optional>
#include <string>
#include <vector>

#include "worker/configuration.hpp"

namespace backfill::worker {

// [worker] of the configuration file.
struct DriverSettings {
	int connections = 4; // that work on a run at once
	std::optional<std::vector<std::string>> pipelines; // that serve drives; nothing: all
	bool listen = true;
	double poll_seconds = 5;
	int lease_seconds = 60;
	double shutdown_seconds = 30;
	std::string narrate = "changes";
	double progress_seconds = 10; // between lines of `run` and `replay` about how far they are
	std::optional<double> max_replica_lag_seconds;
	std::optional<double> max_lock_wait_seconds;
};

DriverSettings read_driver_settings(Configuration &configuration);

} // namespace backfill::worker
