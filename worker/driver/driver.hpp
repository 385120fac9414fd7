#pragma once

#include <string>

#include "worker/driver/run_drive.hpp"
#include "worker/driver/settings.hpp"

namespace backfill::worker {

// Drives what is asked for, until the program is to end. A lost connection is made again for as long as it takes.
class Driver {
public:
	Driver(std::string target, DriverSettings settings);
	void serve();

private:
	void serve_connected();
	bool drive_next(Connection &control);
	void hand_back_unfinished(Connection &control);

	const std::string target_;
	const DriverSettings settings_;
	RunDriver runs_;
	std::optional<ClaimedRun> unfinished_; // when the connection was lost
};

// Waits before the next attempt to connect, longer each time; false: the program is to end.
class Backoff {
public:
	bool wait();
	void reset() noexcept { seconds_ = 0; }

private:
	double seconds_ = 0;
};

} // namespace backfill::worker
