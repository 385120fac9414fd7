#include "worker/driver/lane.hpp"

#include <algorithm>
#include <chrono>
#include <exception>

#include "worker/failpoint.hpp"
#include "worker/log.hpp"
#include "worker/metrics.hpp"

namespace backfill::worker {

namespace {

double milliseconds_since(std::chrono::steady_clock::time_point started) {
	return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - started).count();
}

using core::ItemResult;
constexpr std::pair<ItemResult, const char *> results[] = {
	{ItemResult::changed, "changed"}, {ItemResult::unchanged, "unchanged"}, {ItemResult::skipped, "skipped"}, {ItemResult::failed, "failed"}};

void count_items(const ClaimedRun &run, const core::Tally &tally) {
	for (const auto &[result, name] : results)
		if (const auto items = tally.items(result); items > 0)
			metrics::count("pg_backfill_items_total", "pipeline=\"" + run.pipeline + "\",result=\"" + name + "\"", static_cast<double>(items));
}

// Those that were found done, and that no batch's tally has.
void count_done(const ClaimedRun &run, long long items) {
	core::Tally tally;
	tally.count_result(ItemResult::unchanged, items);
	count_items(run, tally);
}

// Rolled back through no fault of the items.
bool is_transient(const QueryError &error) {
	return error.sqlstate() == "40001" || error.sqlstate() == "40P01";
}

} // namespace

void stop_for(SharedRun &shared, const QueryError &error) {
	const std::string &state = error.sqlstate();
	if (state == lease_lost)
		shared.stop(Stop::not_ours, error.what());
	else if (state.starts_with("57P") || state.starts_with("08"))
		shared.stop(Stop::disconnected, error.what());
	else
		shared.end_early({state == "57014" ? "cancelled" : "failed", state, error.what(), {}});
}

void Lane::work() noexcept {
	try {
		while (const auto chunk = shared_.take()) {
			do_chunk(*chunk);
			shared_.leave_chunk();
		}
	} catch (const ConnectionError &error) {
		session_.close();
		shared_.stop(Stop::disconnected, error.what());
	} catch (const QueryError &error) {
		stop_for(shared_, error);
	} catch (const std::exception &error) {
		shared_.end_early({"failed", "", error.what(), {}});
	}
}

void Lane::do_chunk(const Chunk &chunk) {
	Connection &connection = session_.open();
	const auto started = std::chrono::steady_clock::now();
	const Checked checked = check_batch(connection, shared_.run(), chunk.items);
	if (checked.impure_step) {
		shared_.end_early({"broken", "", "check of step \"" + *checked.impure_step + "\" wrote", checked.impure_step});
		return;
	}
	shared_.note_look(chunk.items.size(), static_cast<std::size_t>(std::ranges::count_if(checked.first, [](int step) { return step >= 0; })),
	                  milliseconds_since(started));
	do_items(chunk, checked.first);
}

void Lane::do_items(const Chunk &chunk, const std::vector<int> &first) {
	Value after = chunk.after;
	std::size_t next = 0; // item of the chunk that is not counted yet
	std::size_t careful = 0; // items to be done in small batches
	std::size_t fits = 1;
	while (next < chunk.items.size()) {
		std::size_t most = core::BatchSize::most;
		if (careful > 0)
			most = std::min({most, careful, fits});
		std::vector<std::size_t> members;
		for (std::size_t i = next; i < chunk.items.size() && members.size() < most; ++i)
			if (first.at(i) >= 0)
				members.push_back(i);
		if (members.empty())
			break;
		const int granted = shared_.wait_for_turn(static_cast<int>(members.size()));
		if (granted == 0)
			return;
		members.resize(static_cast<std::size_t>(granted));
		const std::size_t end = members.back() + 1;
		const BatchResult result = do_batch(chunk, first, members, after, static_cast<long long>(end - next - members.size()));
		if (result.impure_step)
			return;
		if (result.too_large) {
			careful = members.size();
			fits = static_cast<std::size_t>(result.fits);
			continue;
		}
		careful -= std::min(careful, members.size());
		next = end;
		after = chunk.items[end - 1].key;
		if (shared_.is_stopping())
			return;
	}
	if (next < chunk.items.size()) {
		const auto done = static_cast<long long>(chunk.items.size() - next);
		shared_.note_done(after, chunk.items.back().key, done);
		count_done(shared_.run(), done);
	}
}

BatchResult Lane::do_batch(const Chunk &chunk, const std::vector<int> &first, const std::vector<std::size_t> &members,
                           const Value &after, long long done) {
	std::vector<Candidate> items;
	std::vector<int> steps;
	for (const std::size_t member : members) {
		items.push_back(chunk.items[member]);
		steps.push_back(first[member]);
	}
	constexpr int most_attempts = 5;
	for (int attempt = 1;; ++attempt) {
		const auto started = std::chrono::steady_clock::now();
		try {
			failpoint::reach("before_batch");
			const BatchResult result =
				run_batch(session_.open(), shared_.run(), after, items.back().key, done, items, steps, settings_.narrate);
			failpoint::reach("after_batch");
			if (result.impure_step) {
				shared_.end_early({"broken", "", "check of step \"" + *result.impure_step + "\" wrote", result.impure_step});
				return result;
			}
			if (result.too_large)
				return result;
			shared_.note_batch(result, items.size(), milliseconds_since(started), done);
			count_done(shared_.run(), done);
			tell(result);
			return result;
		} catch (const QueryError &error) {
			if (!is_transient(error) || attempt == most_attempts)
				throw;
		}
	}
}

void Lane::tell(const BatchResult &result) const {
	const ClaimedRun &run = shared_.run();
	for (const Event &event : result.events)
		log::step({run.id, run.pipeline, event.item, event.step, event.status, event.reason, event.milliseconds});
	count_items(run, result.tally);
}

} // namespace backfill::worker
