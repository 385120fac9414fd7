#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

#include "worker/driver/session.hpp"
#include "worker/driver/settings.hpp"
#include "worker/driver/shared_run.hpp"

namespace backfill::worker {

// Keeps a run this worker's while others work on it, and passes on what somebody wants of it: to pause or to cancel it, a
// rate, to make way; that the program is to end; that the database is under pressure.
class Pulse {
public:
	// yields: whether a replay lets live runs pass. cancel: ends the statements that are under way; the one of
	// candidates, or all. watch: called every now and then.
	Pulse(Session &session, SharedRun &shared, const DriverSettings &settings, bool yields, std::function<void(bool all)> cancel,
	      std::function<void()> watch)
		: session_(session), shared_(shared), settings_(settings), yields_(yields), cancel_(std::move(cancel)),
		  watch_(std::move(watch)) {}

	void beat() noexcept; // until finish()
	void finish();

private:
	using Clock = std::chrono::steady_clock;

	bool pause(); // false: finished
	void ask();
	void watch_pressure(Connection &connection);
	void watch_stop();

	Session &session_;
	SharedRun &shared_;
	const DriverSettings &settings_;
	const bool yields_;
	const std::function<void(bool)> cancel_;
	const std::function<void()> watch_;
	std::mutex mutex_;
	std::condition_variable finishing_;
	bool finished_ = false;
	bool holding_ = false;
	Clock::time_point wrote_ = Clock::now();
	long long told_worked_on_ = 0; // items, when the speed was written last
	Clock::time_point stopping_since_{};
	bool cancelled_all_ = false;
};

} // namespace backfill::worker
