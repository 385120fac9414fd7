#include "worker/driver/pulse.hpp"

#include "worker/failpoint.hpp"
#include "worker/driver/lane.hpp"
#include "worker/log.hpp"
#include "worker/service/health.hpp"
#include "worker/stop.hpp"

namespace backfill::worker {

namespace {

constexpr auto tick = std::chrono::milliseconds(50);
constexpr auto interval = std::chrono::seconds(1);
// Ranges that lacked nothing are written so often: each write is a transaction id.
constexpr auto write_interval = std::chrono::seconds(10);

const char *name_of(Stop why) noexcept {
	switch (why) {
	case Stop::no: return "";
	case Stop::asked: return "program_stops";
	case Stop::passed: return "live_run_waits";
	case Stop::not_ours: return "not_ours";
	case Stop::disconnected: return "disconnected";
	case Stop::ended: return "ends_early";
	}
	return "";
}

// Somebody's word, where it is known.
std::string reason_of(const SharedRun &shared) {
	const std::string text = shared.text();
	const bool is_wish = shared.why() == Stop::not_ours && (text == "paused" || text == "cancelled");
	return is_wish ? text : name_of(shared.why());
}

} // namespace

void Pulse::beat() noexcept {
	Clock::time_point next = Clock::now();
	do {
		watch_stop();
		watch_();
		if (Clock::now() >= next) {
			try {
				ask();
			} catch (const ConnectionError &error) {
				session_.close();
				shared_.stop(Stop::disconnected, error.what());
			} catch (const QueryError &error) {
				stop_for(shared_, error);
			} catch (const std::exception &error) {
				shared_.end_early({"failed", "", error.what(), {}});
			}
			next = Clock::now() + interval;
		}
	} while (pause());
}

bool Pulse::pause() {
	std::unique_lock lock(mutex_);
	return !finishing_.wait_for(lock, tick, [&] { return finished_; });
}

void Pulse::finish() {
	const std::scoped_lock lock(mutex_);
	finished_ = true;
	finishing_.notify_all();
}

void Pulse::ask() {
	if (shared_.why() == Stop::disconnected)
		return;
	Connection &connection = session_.open();
	Beat beat;
	beat.candidates = shared_.expected();
	if (Clock::now() - wrote_ > write_interval) {
		beat.done = shared_.take_done();
		wrote_ = Clock::now();
	}
	// Batches take transaction ids anyway.
	const long long worked_on = shared_.progress().worked_on;
	if (worked_on != told_worked_on_ || !beat.done.empty())
		beat.speed = shared_.speed();
	told_worked_on_ = worked_on;
	failpoint::reach("before_heartbeat");
	const Wish wish = heartbeat_run(connection, shared_.run(), settings_.lease_seconds, beat, settings_.pipelines);
	failpoint::reach("after_heartbeat");
	health::round_trip();
	shared_.limit(wish.rate, wish.batch_limit);
	if (wish.state != "running")
		shared_.stop(Stop::not_ours, wish.state);
	else if (wish.live_waits && yields_)
		shared_.stop(Stop::passed);
	if (settings_.max_replica_lag_seconds || settings_.max_lock_wait_seconds)
		watch_pressure(connection);
}

void Pulse::watch_pressure(Connection &connection) {
	const Pressure now = pressure(connection);
	const bool lags = settings_.max_replica_lag_seconds && now.replica_lag_seconds > *settings_.max_replica_lag_seconds;
	const bool blocks = settings_.max_lock_wait_seconds && now.lock_wait_seconds > *settings_.max_lock_wait_seconds;
	if (holding_ == (lags || blocks))
		return;
	holding_ = !holding_;
	shared_.hold(holding_);
	log::info(holding_ ? "run_held_back" : "run_goes_on",
	          {{"run", shared_.run().id}, {"pipeline", shared_.run().pipeline}, {"replica_lag_seconds", now.replica_lag_seconds},
	           {"lock_wait_seconds", now.lock_wait_seconds}});
}

// A batch that is under way when the program is to end may finish, for a while. One whose run is not ours any more will
// be rolled back, so it need not go on.
void Pulse::watch_stop() {
	if (stop::requested())
		shared_.stop(Stop::asked);
	const Stop why = shared_.why();
	if (why == Stop::no)
		return;
	if (stopping_since_ == Clock::time_point{}) {
		stopping_since_ = Clock::now();
		log::info("run_stopping", {{"run", shared_.run().id}, {"pipeline", shared_.run().pipeline}, {"why", reason_of(shared_)}});
		cancel_(why == Stop::not_ours);
		cancelled_all_ = why == Stop::not_ours;
	}
	const std::chrono::duration<double> since = Clock::now() - stopping_since_;
	if (!cancelled_all_ && stop::requested() && since.count() >= settings_.shutdown_seconds) {
		cancelled_all_ = true;
		cancel_(true);
	}
}

} // namespace backfill::worker
