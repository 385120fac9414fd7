#pragma once

#include <chrono>
#include <string>

#include "worker/driver/run_drive.hpp"

namespace backfill::worker {

// Shows how far a run is, on standard error: a bar on a terminal, a line now and then otherwise.
class ProgressLine {
public:
	explicit ProgressLine(double line_seconds); // between two lines
	void show(const ClaimedRun &run, const RunProgress &progress);
	void clear(); // before something else is printed

private:
	using Clock = std::chrono::steady_clock;

	const bool terminal_;
	const Clock::duration interval_;
	long long run_ = -1;
	long long done_at_start_ = 0;
	Clock::time_point started_;
	Clock::time_point shown_;
	bool drawn_ = false;
};

// "3 min 20 s"
std::string duration_text(double seconds);

} // namespace backfill::worker
