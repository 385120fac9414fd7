#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/batch_size.hpp"
#include "core/pace.hpp"
#include "core/speed.hpp"
#include "worker/driver/run_calls.hpp"

namespace backfill::worker {

// Why the sessions of a run stop before its candidates are done.
enum class Stop {
	no,
	asked,        // the program is to end
	passed,       // a live run waits, and this is a replay
	not_ours,     // paused, cancelled or taken over
	disconnected, // a connection was lost
	ended,        // the run ends early: see ending()
};

// Candidates in key order, which one session takes: the keys of (after, items.back().key].
struct Chunk {
	Value after;
	std::vector<Candidate> items;
};

// How far a run is, for people.
struct RunProgress {
	long long candidates = 0; // as far as they are known
	long long done = 0;
	long long worked_on = 0; // of these, not found done at once
	long long failed = 0;
};

// What the sessions that work on one run share. Every member function may be called from any thread.
class SharedRun {
public:
	SharedRun(ClaimedRun run, std::size_t sessions);

	const ClaimedRun &run() const noexcept { return run_; }

	// The first reason stays.
	void stop(Stop why, std::string text = {});
	void end_early(Ending ending);
	bool is_stopping() const;
	Stop why() const;
	std::string text() const;
	Ending ending() const;

	// Chunks: put waits while enough wait to be taken, and take until there is one. False and nothing: stop, or the end.
	bool put(Chunk chunk);
	void close();
	std::optional<Chunk> take();
	void leave_chunk(); // it is done, or stays undone

	void expect(long long candidates);   // so many in all, as far as it is known
	void handed_out(long long items);    // candidates that this worker was given
	long long candidates() const;        // at least as many as are counted, ever
	std::optional<long long> expected() const; // the same; nothing: they have not been counted yet
	long long given() const;             // those before this worker's claim, and its own

	void note_look(std::size_t items, std::size_t lacking, double milliseconds);
	void note_done(const Value &after, const std::string &upto, long long items);
	DoneRanges take_done();
	void note_batch(const BatchResult &result, std::size_t items, double milliseconds, long long done);
	RunProgress progress() const;
	RunSpeed speed() const; // of all sessions together

	void limit(std::optional<double> rate, std::optional<int> batch_limit);
	void hold(bool on);
	// Waits until a batch of some of these items may begin; answers how many, or zero: stop.
	int wait_for_turn(int items);

private:
	double shared(double milliseconds) const noexcept;

	const ClaimedRun run_;
	const std::size_t most_waiting_;
	mutable std::mutex mutex_;
	std::condition_variable changed_;
	Stop why_ = Stop::no;
	std::string text_;
	Ending ending_;
	std::deque<Chunk> chunks_;
	bool closed_ = false;
	std::optional<long long> expected_;
	long long given_ = 0;
	DoneRanges done_;
	RunProgress progress_;
	core::FailurePattern pattern_;
	core::BatchSize batch_size_;
	core::Pace pace_;
	core::Speed speed_;
	int busy_ = 0; // sessions that have a chunk
	bool holding_ = false;
};

} // namespace backfill::worker
