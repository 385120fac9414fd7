#pragma once

#include <string>

#include "worker/command/command.hpp"
#include "worker/command/progress_line.hpp"
#include "worker/connection.hpp"
#include "worker/driver/driver.hpp"

namespace backfill::worker {

// Drives runs that were asked for by name in this process, one after the other, and shows how far they are. Somebody
// else's worker may be faster; then it waits for that one.
class Foreground {
public:
	explicit Foreground(Invocation &invocation);

	// To its end, whoever drives it; prints the tally. done: it succeeded and no item failed.
	ExitCode drive(long long run_id);

private:
	bool drive_here(Connection &control, long long run_id);
	ExitCode report(Connection &control, long long run_id);
	void wait_for_others(Connection &control, const std::string &state, long long run_id);

	const std::string target_;
	const DriverSettings settings_;
	RunDriver runs_;
	ProgressLine progress_;
	std::optional<ClaimedRun> unfinished_;
	bool told_to_wait_ = false;
};

} // namespace backfill::worker
