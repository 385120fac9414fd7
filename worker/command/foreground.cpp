#include "worker/command/foreground.hpp"

#include <cstdio>

#include <unistd.h>

#include "worker/command/output.hpp"
#include "worker/command/open_session.hpp"
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
	: invocation_(invocation), target_(invocation.target), settings_(read_driver_settings(invocation.configuration)),
	  runs_(target_, settings_), progress_(settings_.progress_seconds) {
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
		log::warning("waiting", {{"run", run_id}, {"state", state}, {"why", state == "running" ? "a worker or another session drives it" : "another run of this pipeline goes on"}});
	told_to_wait_ = true;
	control.wait(std::chrono::seconds(1));
}

ExitCode Foreground::report(Connection &control, long long run_id) {
	Table run = control.table("SELECT h.run_id, h.pipeline, h.mode, h.state, h.window_from, h.window_to, h.candidates, h.changed, h.unchanged,"
	                          " h.skipped, h.failed, h.newly_failed, (SELECT coalesce(json_agg(json_build_object('step', c.step,"
	                          " 'status', c.status, 'reason', c.reason, 'items', c.items)), '[]') FROM backfill.run_step_count c"
	                          " WHERE c.run_id = h.run_id) AS step_counts, h.error FROM backfill.run_history h WHERE h.run_id = $1",
	                          {std::to_string(run_id)});
	const Row row = run.rows.at(0);
	if (invocation_.output == "table")
		print_tally(row);
	told_.columns = std::move(run.columns);
	told_.types = std::move(run.types);
	told_.rows.push_back(row);
	const std::string state = row.at(3).value();
	if (is_open(state) || state == "paused")
		std::fprintf(stderr, "HINT:  It goes on where it is when a worker serves, or with CALL backfill.run_requested;"
		                     " SELECT backfill.cancel_run(%lld) ends it.\n", run_id);
	return state == "succeeded" && row.at(10) == "0" ? ExitCode::done : ExitCode::some_failed;
}

void Foreground::print_tally(const Row &run) const {
	core::Tally tally;
	std::size_t column = 7;
	for (const core::ItemResult result :
	     {core::ItemResult::changed, core::ItemResult::unchanged, core::ItemResult::skipped, core::ItemResult::failed})
		tally.count_result(result, std::stoll(run.at(column++).value()));
	tally.count_new_failures(std::stoll(run.at(column++).value()));
	add_step_counts(tally, run.at(column++).value());
	const std::string error = run.at(column).value_or("");
	std::printf("%s run %s %s: %s%s%s\n", run.at(1)->c_str(), run.at(0)->c_str(), run.at(3)->c_str(), tally.line().c_str(),
	            error.empty() ? "" : "; ", error.c_str());
	std::fflush(stdout);
}

void Foreground::print() const {
	if (invocation_.output != "table")
		print_table(invocation_, told_);
}

} // namespace backfill::worker
