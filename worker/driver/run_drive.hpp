#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "worker/driver/session.hpp"
#include "worker/driver/settings.hpp"
#include "worker/driver/shared_run.hpp"

namespace backfill::worker {

// How driving a run ended.
struct DriveResult {
	Stop why = Stop::no; // no: to the end of its candidates
	std::string state;   // succeeded, failed, broken, cancelled; requested: handed back; paused, lost: somebody else's word
	std::string text;    // what went wrong, if something did
	core::Tally tally;   // of the whole run, if it ended here
};

// Drives claimed runs, one at a time: pages through the candidates, and lets `connections` sessions take them through the
// chain.
class RunDriver {
public:
	RunDriver(const std::string &target, const DriverSettings &settings);

	// Called now and then while a run is driven, on a thread of its own.
	using Watch = std::function<void(const ClaimedRun &, const RunProgress &)>;
	void watch(Watch watch) { watch_ = std::move(watch); }

	// yields: whether a replay lets live runs pass. control: for what is said of the run as a whole. Throws
	// ConnectionError when that was lost: then nobody knows whether the run was finished or handed back.
	DriveResult drive(Connection &control, const ClaimedRun &run, bool yields);

	void close(); // the connections, which are made anew when they are needed

private:
	void page(SharedRun &shared);
	bool put_page(SharedRun &shared, Page page, Value &after, std::size_t chunk_items) const;
	void drive_sessions(SharedRun &shared, bool yields);
	DriveResult conclude(Connection &control, SharedRun &shared);
	DriveResult finish(Connection &control, SharedRun &shared, const Ending &ending);

	const DriverSettings settings_;
	bool null_key_ = false; // among the candidates of the run
	std::deque<Session> lanes_;
	Session pages_;
	Session pulse_;
	Watch watch_;
};

} // namespace backfill::worker
