#include "worker/driver/driver.hpp"

#include <algorithm>

#include <poll.h>

#include "worker/log.hpp"
#include "worker/service/health.hpp"
#include "worker/stop.hpp"
#include "worker/version.hpp"

namespace backfill::worker {

bool Backoff::wait() {
	seconds_ = std::clamp(seconds_ * 2, 0.25, 30.0);
	pollfd file = {stop::descriptor(), POLLIN, 0};
	poll(&file, 1, static_cast<int>(seconds_ * 1000));
	return !stop::requested();
}

Driver::Driver(std::string target, DriverSettings settings)
	: target_(std::move(target)), settings_(std::move(settings)), runs_(target_, settings_) {}

void Driver::serve() {
	bool goes_on = true;
	while (goes_on && !stop::requested()) {
		try {
			serve_connected();
		} catch (const ConnectionError &error) {
			goes_on = wait_after("database_unreachable", error.what());
		} catch (const QueryError &error) {
			if (!has_served_)
				throw;
			goes_on = wait_after("database_refuses", explained(error));
		}
	}
}

bool Driver::wait_after(const char *event, const std::string &error) {
	if (health::since_round_trip() != std::chrono::steady_clock::duration::max())
		backoff_.reset();
	health::lost();
	runs_.close();
	log::warning(event, {{"error", error}});
	return backoff_.wait();
}

void Driver::serve_connected() {
	Connection control(target_);
	require_same_version(control);
	if (settings_.listen)
		control.query("LISTEN backfill_request");
	for (const std::string &name : unknown_pipelines(control, settings_.pipelines))
		log::warning("pipeline_unknown", {{"pipeline", name}, {"hint", "[worker] pipelines names it, and the database has none of that name (yet)"}});
	hand_back_unfinished(control);
	while (!stop::requested()) {
		if (drive_next(control))
			continue;
		runs_.close();
		control.wait(std::chrono::milliseconds(static_cast<int>(settings_.poll_seconds * 1000)));
	}
}

// What was being driven when the connection was lost. Its lease has not passed, but the next claim need not wait for that.
void Driver::hand_back_unfinished(Connection &control) {
	if (!unfinished_)
		return;
	if (release_run(control, *unfinished_, {}))
		log::info("run_handed_back", {{"run", unfinished_->id}, {"pipeline", unfinished_->pipeline}});
	unfinished_.reset();
}

bool Driver::drive_next(Connection &control) {
	unfinished_ = claim_run(control, settings_.pipelines, std::nullopt, settings_.lease_seconds);
	health::round_trip();
	has_served_ = true;
	if (!unfinished_)
		return false;
	const DriveResult result = runs_.drive(control, *unfinished_, true);
	unfinished_.reset();
	if (result.why == Stop::disconnected)
		throw ConnectionError(result.text);
	return true;
}

} // namespace backfill::worker
