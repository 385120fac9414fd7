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

	// To its end, whoever drives it. done: it succeeded and no item failed. Prints its tally, or keeps it for print().
	ExitCode drive(long long run_id);
	// As JSON or CSV, if that was asked for: all runs that were driven, a row each.
	void print() const;

private:
	bool drive_here(Connection &control, long long run_id);
	ExitCode report(Connection &control, long long run_id);
	void print_tally(const Row &run) const;
	void wait_for_others(Connection &control, const std::string &state, long long run_id);

	const Invocation &invocation_;
	const std::string target_;
	const DriverSettings settings_;
	RunDriver runs_;
	ProgressLine progress_;
	std::optional<ClaimedRun> unfinished_;
	bool told_to_wait_ = false;
	Table told_; // of the runs so far
};

} // namespace backfill::worker
