#include "pg/engine/chain.hpp"

#include <algorithm>
#include <chrono>

#include "pg/engine/chain_turn.hpp"

extern "C" {
#include "common/hashfn.h"
#include "storage/lock.h"
}

namespace backfill::pg {

static std::optional<TimestampTz> time_of(const Item &item) {
	return item.has_time ? std::optional(item.time) : std::nullopt;
}

// Gives each event that a step adds its item's part of the time.
class Stopwatch {
public:
	Stopwatch(std::vector<StepEvent> &events, std::size_t items) : events_(events), from_(events.size()), items_(items) {}
	~Stopwatch() {
		const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - started_;
		for (std::size_t i = from_; i < events_.size(); ++i)
			events_[i].milliseconds = took.count() / static_cast<double>(items_);
	}
	Stopwatch(const Stopwatch &) = delete;
	Stopwatch &operator=(const Stopwatch &) = delete;

private:
	const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
	std::vector<StepEvent> &events_;
	std::size_t from_;
	std::size_t items_;
};

int careful_batch(const Pipeline &pipeline) {
	return std::max(1, (Chain::most_subtransactions - 1) / static_cast<int>(pipeline.steps.size()));
}

std::vector<int> Chain::first_lacking(const std::vector<Item> &items) {
	std::vector<int> first(items.size(), -1);
	for (std::size_t step = 0; step < pipeline_.steps.size(); ++step) {
		std::vector<int> done_so_far;
		for (std::size_t i = 0; i < items.size(); ++i)
			if (first[i] < 0)
				done_so_far.push_back(static_cast<int>(i));
		if (done_so_far.empty())
			break;
		Step &next = pipeline_.steps[step];
		for (const int member : is_redone(next) ? done_so_far : lacking(next, items, done_so_far))
			first[member] = static_cast<int>(step);
	}
	return first;
}

bool Chain::is_redone(const Step &step) const {
	return context_.frame().redo_all && step.clear.has_value();
}

// A transaction gets its id with its first write, so a check that caused one has written.
std::vector<int> Chain::lacking(Step &step, const std::vector<Item> &items, const std::vector<int> &members) {
	const bool wrote_before = TransactionIdIsValid(GetTopTransactionIdIfAny());
	context_.enter(items, members, step.batch);
	std::vector<int> found =
		step.batch ? with_spi([&] {
			return pipeline_.keys.positions(items, step.check.run({pipeline_.keys.array_of(items, members)}));
		})
				   : lacking_one_by_one(step, items, members);
	context_.leave();
	if (!wrote_before && TransactionIdIsValid(GetTopTransactionIdIfAny()))
		throw ImpureCheck{step.name};
	std::sort(found.begin(), found.end());
	found.erase(std::unique(found.begin(), found.end()), found.end());
	return found;
}

std::vector<int> Chain::lacking_one_by_one(Step &step, const std::vector<Item> &items, const std::vector<int> &members) {
	std::vector<int> found;
	for (const int member : members) {
		const bool done = with_spi([&] {
			const Result answer = step.check.run({pipeline_.keys.one(items[member])});
			return answer.rows() > 0 && !answer.is_null(0, 1) && answer.boolean(0, 1);
		});
		if (!done)
			found.push_back(member);
	}
	return found;
}

// Excludes the same item in another run. Transaction-scoped. Does not wait, unless the run was taken over: its former
// holder's transaction has ended, but gives its locks back one by one. Locks are taken in key order and before all work, so
// waiting cannot deadlock.
bool Chain::lock(const Item &item) const {
	const std::string key = pipeline_.keys.text_of(item.key);
	const std::uint32_t pipeline_id = static_cast<std::uint32_t>(pipeline_.id);
	const bool taken_over = context_.frame().lease_token > 1;
	const bool rehearsal = context_.frame().rehearsal;
	return call([&]() noexcept {
		const std::uint64_t id =
			DatumGetUInt64(hash_any_extended(reinterpret_cast<const unsigned char *>(key.data()),
		                                     static_cast<int>(key.size()), pipeline_id));
		LOCKTAG tag;
		SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, static_cast<std::uint32_t>(id >> 32), static_cast<std::uint32_t>(id), 1);
		if (LockAcquire(&tag, ExclusiveLock, false, !taken_over) == LOCKACQUIRE_NOT_AVAIL)
			return false;
		// One transaction for all items: their locks would fill the table that all sessions share.
		if (rehearsal)
			LockRelease(&tag, ExclusiveLock, false);
		return true;
	});
}

BatchReport Chain::process(const std::vector<Item> &items, const std::vector<int> &members, const std::vector<int> &first) {
	std::vector<Turn> turns = begin(items, members, first);
	for (std::size_t step = 0; step < pipeline_.steps.size(); ++step) {
		if (watcher_)
			watcher_(static_cast<int>(step), false);
		take_step(pipeline_.steps[step], turns);
		if (watcher_)
			watcher_(static_cast<int>(step), true);
	}
	return end(turns);
}

BatchReport Chain::process_step(int step, const std::vector<Item> &items, const std::vector<int> &members, bool again) {
	std::vector<Turn> turns = begin(items, members, std::vector<int>(items.size(), step));
	again_ = again;
	take_step(pipeline_.steps[static_cast<std::size_t>(step)], turns);
	again_ = false;
	return end(turns);
}

void Chain::clear_step(int number, const std::vector<Item> &items, const std::vector<int> &members) {
	Step &step = pipeline_.steps[static_cast<std::size_t>(number)];
	const auto run = [&](const std::vector<int> &given, Param param) {
		context_.enter(items, given, step.batch);
		with_spi([&] { step.clear->run({param}); });
		context_.leave();
	};
	if (step.batch)
		run(members, pipeline_.keys.array_of(items, members));
	else
		for (const int member : members)
			run({member}, pipeline_.keys.one(items[static_cast<std::size_t>(member)]));
}

std::vector<Chain::Turn> Chain::begin(const std::vector<Item> &items, const std::vector<int> &members, const std::vector<int> &first) {
	items_ = &items;
	report_ = BatchReport{};
	subtransactions_ = 1; // the batch's own
	std::vector<Turn> turns;
	for (const int member : members) {
		turns.push_back({member, pipeline_.keys.text_of(items[member].key)});
		if (!lock(items[member])) {
			turns.back().busy = true;
			report_.busy.push_back(time_of(items[member]));
			decide(pipeline_.steps[first[member]], turns.back(), {core::Status::skipped, core::reason::busy, false, true});
		}
	}
	return turns;
}

BatchReport Chain::end(const std::vector<Turn> &turns) {
	for (const Turn &turn : turns) {
		report_.tally.count_item(turn.trace);
		if (!turn.busy)
			(turn.trace.failed ? report_.failed : report_.recovered).push_back(turn.key);
		if (!turn.busy && turn.trace.failed)
			report_.failed_times.push_back(time_of((*items_)[turn.member]));
		if (!turn.ended)
			report_.going_on.push_back(turn.member);
	}
	return std::move(report_);
}

void Chain::take_step(Step &step, std::vector<Turn> &turns) {
	std::vector<int> live; // positions in turns, which are in key order as items are
	std::vector<int> members;
	for (std::size_t i = 0; i < turns.size(); ++i)
		if (!turns[i].ended) {
			live.push_back(static_cast<int>(i));
			members.push_back(turns[i].member);
		}
	if (live.empty())
		return;
	const Stopwatch stopwatch(report_.events, live.size());
	const std::vector<int> before = again_ || is_redone(step) ? members : lacking(step, *items_, members);
	std::vector<int> todo;
	for (const int i : live) {
		turns[i].said.reset();
		turns[i].errored = false;
		if (std::binary_search(before.begin(), before.end(), turns[i].member))
			todo.push_back(i);
		else
			decide(step, turns[i], {core::Status::skipped, core::reason::done, false, false});
	}
	if (todo.empty())
		return;
	pattern_.attempted(step.name, std::count_if(todo.begin(), todo.end(), [&](int i) { return pattern_.counts(turns[i].key); }));
	attempt(step, turns, todo);

	members.clear();
	for (const int i : todo)
		if (!turns[i].errored)
			members.push_back(turns[i].member);
	const std::vector<int> after = members.empty() ? std::vector<int>() : lacking(step, *items_, members);
	for (const int i : todo)
		if (!turns[i].errored)
			decide(step, turns[i],
			       core::judge(turns[i].said, std::binary_search(after.begin(), after.end(), turns[i].member)));
}

void Chain::decide(const Step &step, Turn &turn, const core::Verdict &verdict, const SqlError *error) {
	turn.ended = verdict.ends;
	turn.trace.changed |= verdict.changed;
	turn.trace.failed |= verdict.status == core::Status::failed;
	turn.trace.cut_short |= verdict.ends;
	report_.tally.count_step(step.name, verdict.status, verdict.reason);
	StepEvent event{{turn.key, step.name, verdict.status, verdict.reason, verdict.changed}, {}, {}};
	if (error != nullptr) {
		event.sqlstate = error->sqlstate;
		event.message = error->message;
	}
	report_.events.push_back(std::move(event));
}

std::vector<int> first_lacking(Pipeline &pipeline, const RunFrame &frame, const std::vector<Item> &items) {
	RunContext context(pipeline, frame);
	core::FailurePattern nothing_tried;
	return as_owner(pipeline, [&] { return Chain(pipeline, context, nothing_tried).first_lacking(items); });
}

BatchReport process(Pipeline &pipeline, const RunFrame &frame, const std::vector<Item> &items, const std::vector<int> &members,
                    const std::vector<int> &first, core::FailurePattern &pattern) {
	RunContext context(pipeline, frame);
	return as_owner(pipeline, [&] {
		// A deferred violation fails its own item now, and not the whole batch at commit.
		with_spi([] { call([]() noexcept { SPI_execute("SET CONSTRAINTS ALL IMMEDIATE", false, 0); }); });
		return Chain(pipeline, context, pattern).process(items, members, first);
	});
}

} // namespace backfill::pg
