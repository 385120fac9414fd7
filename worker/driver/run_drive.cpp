#include "worker/driver/run_drive.hpp"

#include <algorithm>
#include <thread>

#include "worker/driver/lane.hpp"
#include "worker/driver/pulse.hpp"
#include "worker/failpoint.hpp"
#include "worker/log.hpp"
#include "worker/metrics.hpp"

namespace backfill::worker {

namespace {

constexpr int page_items = 50000; // the candidate query is asked again for each page
constexpr std::size_t most_chunk_items = 1024;
constexpr std::size_t fewest_chunk_items = 16;

} // namespace

RunDriver::RunDriver(const std::string &target, const DriverSettings &settings)
	: settings_(settings), pages_(target), pulse_(target) {
	for (int i = 0; i < settings.connections; ++i)
		lanes_.emplace_back(target);
}

void RunDriver::close() {
	for (Session &lane : lanes_)
		lane.close();
	pages_.close();
	pulse_.close();
}

DriveResult RunDriver::drive(Connection &control, const ClaimedRun &run, bool yields) {
	log::info("run_claimed", {{"run", run.id}, {"pipeline", run.pipeline}, {"mode", run.mode}, {"window", run.window_from},
	                          {"token", run.token}, {"counted", run.counted}, {"taken_over", run.taken_over ? 1 : 0}});
	failpoint::reach("after_claim");
	null_key_ = false;
	SharedRun shared(run, lanes_.size());
	drive_sessions(shared, yields);
	const DriveResult result = conclude(control, shared);
	metrics::count("pg_backfill_runs_total", "pipeline=\"" + run.pipeline + "\",state=\"" + result.state + "\"");
	return result;
}

void RunDriver::drive_sessions(SharedRun &shared, bool yields) {
	bool cancelled = false;
	Pulse pulse(pulse_, shared, settings_, yields, [&](bool all) {
		cancelled = true;
		pages_.cancel();
		if (all)
			for (Session &lane : lanes_)
				lane.cancel();
	}, [&] {
		if (watch_)
			watch_(shared.run(), shared.progress());
	});
	std::thread beating([&] { pulse.beat(); });
	std::vector<std::thread> working;
	for (Session &session : lanes_)
		working.emplace_back([&] { Lane(session, shared, settings_).work(); });
	page(shared);
	for (std::thread &thread : working)
		thread.join();
	pulse.finish();
	beating.join();
	// A request to cancel may come late, and would end the wrong statement.
	if (cancelled || shared.why() == Stop::disconnected)
		close();
}

void RunDriver::page(SharedRun &shared) {
	try {
		Value after = shared.run().resume_after;
		std::size_t chunk_items = 0;
		for (;;) {
			const bool is_first = chunk_items == 0;
			Page found = run_candidates(pages_.open(), shared.run(), after, page_items, is_first);
			failpoint::reach("after_candidates");
			null_key_ |= found.null_key;
			if (is_first) {
				shared.expect(shared.run().counted + found.remaining);
				// Enough chunks for everybody, also of few items.
				chunk_items = std::clamp(static_cast<std::size_t>(found.remaining) / (4 * lanes_.size()), fewest_chunk_items,
				                         most_chunk_items);
			}
			const bool is_last = found.items.size() < static_cast<std::size_t>(page_items);
			if (!put_page(shared, std::move(found), after, chunk_items) || is_last)
				break;
		}
	} catch (const ConnectionError &error) {
		pages_.close();
		shared.stop(Stop::disconnected, error.what());
	} catch (const QueryError &error) {
		stop_for(shared, error);
	} catch (const std::exception &error) {
		shared.end_early({"failed", "", error.what(), {}});
	}
	shared.close();
}

bool RunDriver::put_page(SharedRun &shared, Page page, Value &after, std::size_t chunk_items) const {
	shared.handed_out(static_cast<long long>(page.items.size()));
	for (std::size_t from = 0; from < page.items.size(); from += chunk_items) {
		const std::size_t end = std::min(page.items.size(), from + chunk_items);
		Chunk chunk{after, {std::make_move_iterator(page.items.begin() + static_cast<std::ptrdiff_t>(from)),
		                    std::make_move_iterator(page.items.begin() + static_cast<std::ptrdiff_t>(end))}};
		after = chunk.items.back().key;
		if (!shared.put(std::move(chunk)))
			return false;
	}
	return true;
}

DriveResult RunDriver::conclude(Connection &control, SharedRun &shared) {
	const ClaimedRun &run = shared.run();
	const auto hand_back = [&] {
		failpoint::reach("before_release");
		const bool ours = release_run(control, run, shared.take_done());
		failpoint::reach("after_release");
		return ours ? "requested" : "lost";
	};
	DriveResult result{shared.why(), "", shared.text(), {}};
	switch (result.why) {
	case Stop::no:
		if (null_key_)
			return finish(control, shared, {"failed", "", "candidate query of pipeline \"" + run.pipeline + "\" returned a null key", {}});
		return finish(control, shared, {"succeeded", "", "", {}});
	case Stop::ended:
		return finish(control, shared, shared.ending());
	case Stop::not_ours:
		// A batch may have been refused before anybody asked why.
		result.state = heartbeat_run(control, run, settings_.lease_seconds, {}, std::nullopt).state;
		log::info("run_left", {{"run", run.id}, {"pipeline", run.pipeline}, {"state", result.state}});
		return result;
	case Stop::asked:
	case Stop::passed:
	case Stop::disconnected:
		if (result.why == Stop::disconnected)
			log::warning("connection_lost", {{"run", run.id}, {"pipeline", run.pipeline}, {"error", result.text}});
		result.state = hand_back();
		log::info("run_handed_back", {{"run", run.id}, {"pipeline", run.pipeline}, {"state", result.state}});
		return result;
	}
	return result;
}

DriveResult RunDriver::finish(Connection &control, SharedRun &shared, const Ending &ending) {
	const ClaimedRun &run = shared.run();
	DriveResult result{shared.why(), ending.state, ending.error, {}};
	const long long candidates = ending.state == "succeeded" ? shared.given() : shared.candidates();
	failpoint::reach("before_finish");
	try {
		result.tally = finish_run(control, run, ending, candidates, shared.take_done());
	} catch (const QueryError &error) {
		if (error.sqlstate() != lease_lost)
			throw;
		result.state = "lost";
		log::warning("run_left", {{"run", run.id}, {"pipeline", run.pipeline}, {"state", result.state}});
		return result;
	}
	failpoint::reach("after_finish");
	// What the server says may quote data, and this is a log.
	const std::string told = ending.sqlstate.empty() ? ending.error : "pg_backfill runs show " + std::to_string(run.id) + " says what went wrong";
	log::write(ending.state == "succeeded" ? log::Level::info : log::Level::error, "run_ended",
	           {{"run", run.id}, {"pipeline", run.pipeline}, {"state", ending.state}, {"tally", result.tally.line()},
	            {"sqlstate", ending.sqlstate}, {"error", told}});
	if (run.mode == "live") {
		try {
			keep_house(control, run);
		} catch (const std::exception &error) { // the run has ended, whatever comes of this
			log::warning("house_not_kept", {{"run", run.id}, {"pipeline", run.pipeline}, {"error", error.what()}});
		}
	}
	return result;
}

} // namespace backfill::worker
