#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/failure_pattern.hpp"
#include "core/tally.hpp"
#include "worker/connection.hpp"
#include "worker/driver/done_ranges.hpp"

namespace backfill::worker {

// A run that is this worker's for as long as nobody has a newer token.
struct ClaimedRun {
	long long id = 0;
	long long token = 0;
	std::string pipeline;
	std::string mode;
	std::string window_from;
	Value resume_after;
	long long counted = 0; // items that its counts include already
	std::optional<double> rate; // as it is wished at first; see Wish
	std::optional<int> batch_limit;
	bool taken_over = false; // its former holder was silent for too long
};

struct Candidate {
	std::string key;
	Value time;
};

struct Page {
	std::vector<Candidate> items;
	long long remaining = 0; // with those of the page, if it was asked for
	bool null_key = false; // the candidate query returned one
};

struct Checked {
	std::vector<int> first; // step that an item lacks, or -1
	std::optional<std::string> impure_step;
};

// What a step decided about an item.
struct Event {
	std::string item, step, status, reason;
	double milliseconds = 0;
};

struct BatchResult {
	bool too_large = false;
	int fits = 1; // items, if it was too large
	bool fell_back = false;
	std::optional<std::string> impure_step;
	core::Tally tally;
	std::vector<std::pair<std::string, long long>> attempted;                          // items by step
	std::vector<std::pair<std::pair<std::string, std::string>, long long>> failed;     // by step and SQLSTATE
	std::vector<Event> events;
};

// What somebody wants of a run.
struct Wish {
	std::string state; // running, or it is not this worker's any more
	std::optional<double> rate;
	std::optional<int> batch_limit;
	bool live_waits = false;
};

// How fast a run is of late, as core::Speed says it.
struct RunSpeed {
	std::optional<double> work_share, look_ms, work_ms;
};

struct Pressure {
	double replica_lag_seconds = 0;
	double lock_wait_seconds = 0;
};

// The SQL functions that drive a run; each call is one transaction. A call throws QueryError with SQLSTATE lease_lost
// when the run is not this worker's any more.
inline constexpr const char *lease_lost = "LE001";

std::optional<ClaimedRun> claim_run(Connection &connection, const std::optional<std::vector<std::string>> &pipelines,
                                    std::optional<long long> wanted, int lease_seconds);
// Names that no pipeline has.
std::vector<std::string> unknown_pipelines(Connection &connection, const std::optional<std::vector<std::string>> &pipelines);
Page run_candidates(Connection &connection, const ClaimedRun &run, const Value &after, int most, bool count);
Checked check_batch(Connection &connection, const ClaimedRun &run, const std::vector<Candidate> &items);
// done: items of (after, upto] that lacked nothing and are not in items. first: as check_batch said.
BatchResult run_batch(Connection &connection, const ClaimedRun &run, const Value &after, const std::string &upto, long long done,
                      const std::vector<Candidate> &items, const std::vector<int> &first, const std::string &narrate);
// What a holder has to say of a run that goes on.
struct Beat {
	std::optional<long long> candidates; // nothing: they have not been counted yet
	DoneRanges done;
	std::optional<RunSpeed> speed; // if it is to be written
};
Wish heartbeat_run(Connection &connection, const ClaimedRun &run, int lease_seconds, const Beat &beat,
                   const std::optional<std::vector<std::string>> &pipelines);

struct Ending {
	std::string state; // succeeded, failed, broken or cancelled
	std::string sqlstate;
	std::string error;
	std::optional<std::string> impure_step;
};
core::Tally finish_run(Connection &connection, const ClaimedRun &run, const Ending &ending, long long candidates, const DoneRanges &done);
bool release_run(Connection &connection, const ClaimedRun &run, const DoneRanges &done);
// After a live run has ended: looks whether others have come, and purges a slice.
void keep_house(Connection &connection, const ClaimedRun &run);
Pressure pressure(Connection &connection);

// From [{step, status, reason, items}].
void add_step_counts(core::Tally &tally, const std::string &json);

} // namespace backfill::worker
