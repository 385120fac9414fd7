#pragma once

#include <string>

#include "worker/driver/run_drive.hpp"
#include "worker/driver/settings.hpp"

namespace backfill::worker {

// Waits before the next attempt to connect, longer each time; false: the program is to end.
class Backoff {
public:
	bool wait();
	void reset() noexcept { seconds_ = 0; }

private:
	double seconds_ = 0;
};

// Drives what is asked for, until the program is to end. A lost connection is made again for as long as it takes, and so is
// one whose server refuses what it did before: it may be read-only for a while. What it refuses from the first moment on is
// thrown.
class Driver {
public:
	Driver(std::string target, DriverSettings settings);
	void serve();

private:
	void serve_connected();
	bool drive_next(Connection &control);
	bool wait_after(const char *event, const std::string &error);
	void hand_back_unfinished(Connection &control);

	const std::string target_;
	const DriverSettings settings_;
	RunDriver runs_;
	std::optional<ClaimedRun> unfinished_; // when the connection was lost
	Backoff backoff_;
	bool has_served_ = false;
};

} // namespace backfill::worker
