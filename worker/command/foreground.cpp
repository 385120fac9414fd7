#include "worker/command/foreground.hpp"

#include <cstdio>

#include <unistd.h>

#include "worker/command/session.hpp"
#include "worker/log.hpp"
#include "worker/stop.hpp"

namespace backfill::worker {

namespace {

constexpr int most_attempts = 8; // to connect again: about half a minute

bool is_open(const std::string &state) {
	return state == "requested" || state == "running";
}

// Nobody but an operator may look.
std::string state_of(Connection &control, long long run_id) {
	return control.value("SELECT state FROM backfill.run_history WHERE run_id = $1", {std::to_string(run_id)}).value_or("");
}

} // namespace

Foreground::Foreground(Invocation &invocation)
	: target_(invocation.target), settings_(read_driver_settings(invocation.configuration)), runs_(target_, settings_) {
	// A bar and a line for each step do not go together.
	if (isatty(STDERR_FILENO) != 0 && !invocation.log_level_given)
		log::least(log::Level::warning);
	runs_.watch([this](const ClaimedRun &run, const RunProgress &progress) { progress_.show(run, progress); });
}

ExitCode Foreground::drive(long long run_id) {
	Backoff backoff;
	for (int attempt = 1;; ++attempt) {
		try {
			Connection control(target_);
			require_same_version(control);
			if (unfinished_)
				release_run(control, *unfinished_, {});
			unfinished_.reset();
			while (!stop::requested()) {
				const std::string state = state_of(control, run_id);
				if (!is_open(state))
					break;
				if (drive_here(control, run_id))
					attempt = 1;
				else
					wait_for_others(control, state, run_id);
			}
			return report(control, run_id);
		} catch (const ConnectionError &error) {
			runs_.close();
			if (attempt == most_attempts)
				throw;
			log::warning("database_unreachable", {{"error", error.what()}});
			if (!backoff.wait())
				throw;
		}
	}
}

bool Foreground::drive_here(Connection &control, long long run_id) {
	unfinished_ = claim_run(control, std::nullopt, run_id, settings_.lease_seconds);
	if (!unfinished_)
		return false;
	const DriveResult result = runs_.drive(control, *unfinished_, false);
	progress_.clear();
	unfinished_.reset();
	if (result.why == Stop::disconnected)
		throw ConnectionError(result.text);
	return true;
}

void Foreground::wait_for_others(Connection &control, const std::string &state, long long run_id) {
	if (!told_to_wait_)
		log::warning("waiting", {{"run", run_id}, {"state", state}, {"why", "a worker or another session is at a run of this pipeline"}});
	told_to_wait_ = true;
	control.wait(std::chrono::seconds(1));
}

ExitCode Foreground::report(Connection &control, long long run_id) {
	const Row row = control
						.query("SELECT state, changed, unchanged, skipped, failed, newly_failed, coalesce(error, ''), pipeline,"
	                           " (SELECT coalesce(json_agg(json_build_object('step', c.step, 'status', c.status, 'reason', c.reason,"
	                           " 'items', c.items)), '[]') FROM backfill.run_step_count c WHERE c.run_id = h.run_id)"
	                           " FROM backfill.run_history h WHERE h.run_id = $1",
	                           {std::to_string(run_id)})
						.at(0);
	core::Tally tally;
	std::size_t column = 1;
	for (const core::ItemResult result :
	     {core::ItemResult::changed, core::ItemResult::unchanged, core::ItemResult::skipped, core::ItemResult::failed})
		tally.count_result(result, std::stoll(row.at(column++).value()));
	tally.count_new_failures(std::stoll(row.at(column).value()));
	add_step_counts(tally, row.at(8).value());
	const std::string state = row.at(0).value(), error = row.at(6).value();
	std::printf("%s run %lld %s: %s%s%s\n", row.at(7)->c_str(), run_id, state.c_str(), tally.line().c_str(), error.empty() ? "" : "; ",
	            error.c_str());
	if (is_open(state) || state == "paused")
		std::fprintf(stderr, "HINT:  It goes on where it is when a worker serves, or with CALL backfill.run_requested;"
		                     " SELECT backfill.cancel_run(%lld) ends it.\n", run_id);
	return state == "succeeded" && tally.items(core::ItemResult::failed) == 0 ? ExitCode::done : ExitCode::some_failed;
}

} // namespace backfill::worker
