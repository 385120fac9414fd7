#include "pg/engine/run.hpp"

#include <chrono>

#include "core/error.hpp"
#include "pg/engine/settings.hpp"

extern "C" {
#include "storage/latch.h"
#include "utils/wait_event.h"
}

namespace backfill::pg {

namespace {

// Keys that are checked at once before any is locked.
constexpr int page_items = 1024;
// A run that only skips still shows that it lives.
constexpr TimestampTz longest_silence = 60 * USECS_PER_SEC;
// How often a run that waits looks whether somebody wants it otherwise.
constexpr double longest_nap_ms = 1000;

// The run was paused, cancelled, or taken over: its rows say which.
struct RunEnded {};

// Nearly all items fail alike.
struct NearlyAllFail {
	std::string step;
	std::string sqlstate;
};

double milliseconds() {
	return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Ends early, with an error, if somebody cancels.
void nap(double ms) {
	call([&]() noexcept {
		const int woken = WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, static_cast<long>(ms), PG_WAIT_EXTENSION);
		if ((woken & WL_LATCH_SET) != 0)
			ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	});
}

} // namespace

Run::Run(Oid engine_owner, const std::string &pipeline, MemoryContext context, Purpose purpose)
	: pipeline_(load_pipeline(engine_owner, pipeline, context, purpose)), record_(engine_owner, pipeline_), context_(context),
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
	// An item's check has to see what was committed before the item was locked, whatever the session's default is.
	constexpr auto begun = []() noexcept { XactIsoLevel = XACT_READ_COMMITTED; };
	try {
		if (const auto error = subtransaction(fn))
			throw PastError(*error->data);
	} catch (...) {
		call([]() noexcept { SPI_rollback(); });
		begun();
		throw;
	}
	try {
		call([]() noexcept { SPI_commit(); });
		begun();
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

std::string Run::tally_line() const {
	return progress_.tally.line() + (frame_.left_out.empty() ? "" : "; not looked at: " + frame_.left_out);
}

std::optional<std::int64_t> Run::goes_on_with() {
	std::optional<std::int64_t> next;
	if (succeeded_ && frame_.catches_up)
		transaction([&] { next = record_.waiting_live_run(); });
	return next;
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
		finish(error.is_cancel() ? "cancelled" : "failed", sqlstate, error.what());
		throw;
	} catch (const ImpureCheck &check) {
		progress_.tally.count_step(check.step, core::Status::failed, core::reason::impure);
		break_off("check of step \"" + check.step + "\" wrote",
		          "A check only reads: move what it writes into the step's work.");
	} catch (const NearlyAllFail &failure) {
		break_off(core::FailurePattern::describe({failure.step, failure.sqlstate}),
		          frame_.rehearsal ? "Mend the cause; backfill.explain_item shows the error of one item."
		                           : "Mend the cause and run it again; SELECT * FROM backfill.narration(" + std::to_string(id()) + ") shows the errors.");
	} catch (const core::Error &error) {
		finish("failed", "", error.what());
		throw;
	}
}

void Run::scan() {
	has_failures_ = record_.has_failures();
	candidates_.scan(pipeline_, frame_, context_, still_failing(record_, pipeline_, frame_));
	record_.note_asked_again(frame_, candidates_.also_count());
	progress_.candidates = progress_.tally.candidates() + candidates_.count();
	write_progress(progress_, std::nullopt);
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
	const double began = milliseconds();
	transaction([&] {
		call([]() noexcept { CHECK_FOR_INTERRUPTS(); });
		hold();
		first = first_lacking(pipeline_, frame_, items);
	});
	std::vector<int> work_list;
	for (std::size_t i = 0; i < items.size(); ++i)
		if (first[i] >= 0)
			work_list.push_back(static_cast<int>(i));
	progress_.speed.looked(static_cast<int>(items.size()), static_cast<int>(work_list.size()), milliseconds() - began);
	counted_ = 0;
	std::size_t from = 0;
	while (from < work_list.size()) {
		wait_for_turn(items);
		const std::size_t size = std::min(work_list.size() - from, static_cast<std::size_t>(pace_.most_items(batch_size_.items())));
		pace_.worked(static_cast<int>(size), milliseconds());
		const auto begin = work_list.begin() + static_cast<std::ptrdiff_t>(from);
		take_batch(items, {begin, begin + static_cast<std::ptrdiff_t>(size)}, first);
		from += size;
	}
	count_done(progress_.tally, static_cast<int>(items.size()) - counted_);
	if (GetCurrentTimestamp() - last_write_ > longest_silence)
		transaction([&] { write_progress(progress_, pipeline_.keys.text_of(items.back().key)); });
}

// Waits until the rate allows a batch, in short transactions that hold nothing, and minds what people say meanwhile.
void Run::wait_for_turn(const std::vector<Item> &items) {
	for (double wait; !frame_.rehearsal && (wait = pace_.wait(milliseconds())) > 0;) {
		transaction([&] { nap(std::min(wait, longest_nap_ms)); });
		transaction([&] {
			hold();
			if (GetCurrentTimestamp() - last_write_ > longest_silence)
				write_progress(progress_, counted_ == 0 ? std::nullopt : std::optional(pipeline_.keys.text_of(items[counted_ - 1].key)));
		});
	}
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
	const double began = milliseconds();
	BatchReport report;
	// What is counted so far is always a beginning of the page, so that an interrupted run can go on behind it.
	Progress so_far = progress_;
	count_done(so_far.tally, members.back() + 1 - counted_ - static_cast<int>(members.size()));
	try {
		transaction([&] {
			hold();
			ignore_known_failures(items, members);
			report = process(pipeline_, frame_, items, members, first, pattern_);
			record_.write_batch(frame_, report, settings::keep_all_events());
			so_far.tally.add(report.tally);
			so_far.speed.worked(static_cast<int>(members.size()), milliseconds() - began);
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
	batch_size_.took(static_cast<int>(members.size()), milliseconds() - began);
	if (report.fell_back)
		batch_size_.fell_back();
	transaction([&] { narrate(report); }); // a cancel may be noticed here too
	if (const auto *const broken = pattern_.broken())
		throw NearlyAllFail{broken->first, broken->second};
}

void Run::ignore_known_failures(const std::vector<Item> &items, const std::vector<int> &members) {
	if (!has_failures_)
		return;
	std::vector<std::string> keys;
	for (const int member : members)
		keys.push_back(pipeline_.keys.text_of(items[member].key));
	pattern_.ignore(record_.known_failures(keys));
}

void Run::hold() {
	if (!record_.hold(frame_, pace_))
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
	const std::string what = frame_.rehearsal ? "rehearsal" : "run " + std::to_string(id());
	throw core::Error(core::ErrorCode::wrong_state, what + " of pipeline \"" + pipeline_.name + "\" is broken: " + why, hint);
}

// The last counts and the end at once: a run that is paused between the two would count its last items again.
void Run::succeed() {
	transaction([&] {
		write_progress(progress_, std::nullopt);
		record_.finish(frame_, "succeeded", {}, {});
	});
	succeeded_ = true;
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
