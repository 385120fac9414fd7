#pragma once

#include <functional>
#include <string>
#include <vector>

namespace backfill::worker {

// A part of serve that runs on a thread of its own until the program is asked to stop.
struct Service {
	std::string name;
	std::function<void()> serve;
};

// Runs them all. When one fails, the others are asked to stop, and what it threw is thrown.
void run_services(const std::vector<Service> &services);

} // namespace backfill::worker
