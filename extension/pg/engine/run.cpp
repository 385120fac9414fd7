#include "pg/engine/run.hpp"

#include <chrono>

#include "core/error.hpp"
#include "pg/engine/settings.hpp"

namespace backfill::pg {

namespace {

// Keys that are checked at once before any is locked.
constexpr int page_items = 1024;
// A run that only skips still shows that it lives.
constexpr TimestampTz longest_silence = 60 * USECS_PER_SEC;

// The run was paused, cancelled, or taken over: its rows say which.
struct RunEnded {};

// Nearly all items fail alike.
struct NearlyAllFail {
	std::string step;
	std::string sqlstate;
};

} // namespace

Run::Run(Oid engine_owner, const std::string &pipeline, MemoryContext context)
	: pipeline_(load_pipeline(engine_owner, pipeline, context)), record_(engine_owner, pipeline_), context_(context),
	  page_(call([&]() noexcept { return AllocSetContextCreate(context, "backfill page", ALLOCSET_DEFAULT_SIZES); })) {
	record_.require_operator();
}

// Runs fn in a transaction of its own. An error leaves a fresh transaction behind and is thrown.
template <class Fn>
void Run::transaction(Fn fn) const {
	if (frame_.rehearsal) {
		fn();
		return;
	}
	try {
		if (const auto error = subtransaction(fn))
			throw PastError(*error->data);
	} catch (...) {
		call([]() noexcept { SPI_rollback(); });
		throw;
	}
	try {
		call([]() noexcept { SPI_commit(); });
	} catch (const PgError &error) { // the commit itself failed, and has rolled back
		throw PastError(*error.data());
	}
}

void Run::drive_live() {
	transaction([&] { frame_ = record_.begin_live(); });
	drive();
	keep_house();
}

bool Run::drive_requested(std::int64_t run_id) {
	bool ours = false;
	transaction([&] {
		if (const auto frame = record_.claim(run_id, progress_)) {
			frame_ = *frame;
			ours = true;
		}
	});
	if (ours) {
		drive();
		keep_house();
	}
	return ours;
}

void Run::rehearse(std::optional<TimestampTz> from, TimestampTz to, bool redo_all, bool deliver) {
	frame_ = record_.begin_rehearsal(from, to, redo_all, deliver);
	progress_ = Progress{};
	drive();
	candidates_.release();
}

void Run::drive() {
	last_write_ = GetCurrentTimestamp();
	try {
		transaction([&] { scan(); });
		take_all();
		succeed();
	} catch (const RunEnded &) {
		tell(NOTICE, pipeline_.name + " run=" + std::to_string(id()) + " was paused or ended by somebody else: SELECT * FROM backfill.run_history WHERE run_id = " +
		                 std::to_string(id()));
	} catch (const PastError &error) {
		const int code = error.failure().sqlstate;
		const std::string sqlstate = call([&]() noexcept { return unpack_sql_state(code); });
		finish(code == ERRCODE_QUERY_CANCELED ? "cancelled" : "failed", sqlstate, error.what());
		throw;
	} catch (const ImpureCheck &check) {
		progress_.tally.count_step(check.step, core::Status::failed, core::reason::impure);
		break_off("check of step \"" + check.step + "\" wrote",
		          "A check only reads: move what it writes into the step's work.");
	} catch (const NearlyAllFail &failure) {
		break_off(core::FailurePattern::describe({failure.step, failure.sqlstate}),
		          "Mend the cause and run it again; SELECT * FROM backfill.narration(" + std::to_string(id()) +
		              ") shows the errors.");
	} catch (const core::Error &error) {
		finish("failed", "", error.what());
		throw;
	}
}

void Run::scan() {
	candidates_.scan(pipeline_, frame_, context_);
	progress_.candidates = progress_.tally.candidates() + candidates_.count();
}

void Run::take_all() {
	MemoryContext const outer = MemoryContextSwitchTo(page_);
	for (;;) {
		const std::vector<Item> items = candidates_.next(pipeline_, page_items);
		if (items.empty())
			break;
		take_page(items);
		call([&]() noexcept { MemoryContextReset(page_); });
	}
	MemoryContextSwitchTo(outer);
}

void Run::take_page(const std::vector<Item> &items) {
	std::vector<int> first;
	transaction([&] {
		call([]() noexcept { CHECK_FOR_INTERRUPTS(); });
		hold();
		first = first_lacking(pipeline_, frame_, items);
	});
	std::vector<int> work_list;
	for (std::size_t i = 0; i < items.size(); ++i)
		if (first[i] >= 0)
			work_list.push_back(static_cast<int>(i));
	counted_ = 0;
	std::size_t from = 0;
	while (from < work_list.size()) {
		const std::size_t size = std::min(work_list.size() - from, static_cast<std::size_t>(batch_size_.items()));
		const auto begin = work_list.begin() + static_cast<std::ptrdiff_t>(from);
		take_batch(items, {begin, begin + static_cast<std::ptrdiff_t>(size)}, first);
		from += size;
	}
	count_done(progress_.tally, static_cast<int>(items.size()) - counted_);
	if (GetCurrentTimestamp() - last_write_ > longest_silence)
		transaction([&] { write_progress(progress_, pipeline_.keys.text_of(items.back().key)); });
}

// Items that lacked nothing.
void Run::count_done(core::Tally &tally, std::int64_t items) const {
	if (items == 0)
		return;
	tally.count_result(core::ItemResult::unchanged, items);
	for (const Step &step : pipeline_.steps)
		tally.count_step(step.name, core::Status::skipped, core::reason::done, items);
}

void Run::take_batch(const std::vector<Item> &items, const std::vector<int> &members, const std::vector<int> &first) {
	const auto started = std::chrono::steady_clock::now();
	BatchReport report;
	// What is counted so far is always a beginning of the page, so that an interrupted run can go on behind it.
	Progress so_far = progress_;
	count_done(so_far.tally, members.back() + 1 - counted_ - static_cast<int>(members.size()));
	try {
		transaction([&] {
			hold();
			report = process(pipeline_, frame_, items, members, first, pattern_);
			record_.write_batch(frame_, report, settings::keep_all_events());
			so_far.tally.add(report.tally);
			if (TransactionIdIsValid(GetTopTransactionIdIfAny()))
				write_progress(so_far, pipeline_.keys.text_of(items[members.back()].key));
		});
	} catch (const SubtransactionsExhausted &) {
		const std::size_t size = static_cast<std::size_t>(careful_batch(pipeline_));
		for (std::size_t from = 0; from < members.size(); from += size) {
			const auto begin = members.begin() + static_cast<std::ptrdiff_t>(from);
			take_batch(items, {begin, begin + static_cast<std::ptrdiff_t>(std::min(size, members.size() - from))}, first);
		}
		return;
	}
	progress_ = std::move(so_far);
	counted_ = members.back() + 1;
	const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - started;
	batch_size_.took(static_cast<int>(members.size()), took.count());
	if (report.fell_back)
		batch_size_.fell_back();
	transaction([&] { narrate(report); }); // a cancel may be noticed here too
	if (const auto *const broken = pattern_.broken())
		throw NearlyAllFail{broken->first, broken->second};
}

void Run::hold() const {
	if (!record_.hold(frame_))
		throw RunEnded{};
}

void Run::write_progress(const Progress &progress, const std::optional<std::string> &last_key) {
	if (!record_.write_progress(frame_, progress, last_key))
		throw RunEnded{};
	last_write_ = GetCurrentTimestamp();
}

void Run::narrate(const BatchReport &report) const {
	for (const StepEvent &event : report.events) {
		const int level = event.decision.status == core::Status::failed ? WARNING : NOTICE;
		if (core::is_told(settings::narrate(), event.decision) && is_heard(level))
			tell(level, core::line_of(pipeline_.name, id(), event.decision));
	}
}

// Whether the client or the log gets messages of this level.
bool Run::is_heard(int level) const {
	return !frame_.rehearsal && call([&]() noexcept { return message_level_is_interesting(level); });
}

void Run::tell(int level, const std::string &line) const {
	if (frame_.rehearsal)
		return;
	call([&]() noexcept {
		ereport(level, (errmsg_internal("%s", line.c_str()), errhidestmt(true), errhidecontext(true)));
	});
}

void Run::break_off(const std::string &why, const std::string &hint) {
	transaction([&] { record_.write_progress(frame_, progress_, std::nullopt); });
	finish("broken", "", why);
	throw core::Error(core::ErrorCode::wrong_state,
	                  "run " + std::to_string(id()) + " of pipeline \"" + pipeline_.name + "\" is broken: " + why, hint);
}

// The last counts and the end at once: a run that is paused between the two would count its last items again.
void Run::succeed() {
	transaction([&] {
		write_progress(progress_, std::nullopt);
		record_.finish(frame_, "succeeded", {}, {});
	});
	tell(NOTICE, pipeline_.name + " run=" + std::to_string(id()) + " " + tally_line());
}

// Looks after other pipelines, and purges. In a transaction of its own, since the run is over whatever comes of it.
void Run::keep_house() const {
	if (frame_.mode == "live")
		transaction([&] { record_.keep_house(); });
}

void Run::finish(const std::string &state, const std::string &sqlstate, const std::string &error) {
	transaction([&] { record_.finish(frame_, state, sqlstate, error); });
}

void Run::release() {
	candidates_.release();
	pipeline_.release();
}

} // namespace backfill::pg
