#include "pg/engine/run_record.hpp"

#include <algorithm>

namespace backfill::pg {

using core::ItemResult;
using core::Tally;

// A statement of the engine that returns a row of backfill.run.
#define RUN_COLUMNS                                                                                                     \
	"run_id, lease_token, mode, deliver, redo = 'all', run_time, window_from, window_to, scan_from, scan_to, "          \
	"resume_after, candidates, changed, unchanged, skipped, failed, newly_failed, catches_up, done_ahead::text, "        \
	"left_out_from || ' to ' || scan_from"

static RunFrame frame_of(const Result &row) {
	RunFrame frame;
	frame.run_id = row.int8(0, 1);
	frame.lease_token = row.int8(0, 2);
	frame.mode = row.text(0, 3);
	frame.deliver = row.boolean(0, 4);
	frame.redo_all = row.boolean(0, 5);
	frame.run_time = row.timestamptz(0, 6);
	frame.window_from = row.timestamptz(0, 7);
	frame.window_to = row.timestamptz(0, 8);
	frame.scan_from = row.timestamptz(0, 9);
	frame.scan_to = row.timestamptz(0, 10);
	frame.resume_after = row.text_or_null(0, 11);
	frame.catches_up = row.boolean(0, 18);
	frame.done_ahead = row.text(0, 19);
	frame.left_out = row.text(0, 20);
	return frame;
}

void RunRecord::require_operator() const {
	as_engine(engine_, [&] {
		with_spi([&] {
			static constinit Statement statement("SELECT backfill._require_operator($1)");
			statement.run({Param::of(pipeline_.id)});
		});
	});
}

RunFrame RunRecord::begin_live() const {
	const std::string caller = name_of_role(GetUserId());
	return as_engine(engine_, [&] {
		return with_spi([&] {
			static constinit Statement statement("SELECT " RUN_COLUMNS " FROM backfill._begin_live_run($1, $2)");
			return frame_of(statement.run({Param::of(pipeline_.id), Param::of(caller)}));
		});
	});
}

static void add_earlier_counts(std::int64_t run_id, Tally &tally) {
	static constinit Statement statement(
		"SELECT step, status, reason, items FROM backfill.run_step_count WHERE run_id = $1");
	const Result rows = statement.run({Param::of(run_id)});
	for (std::uint64_t i = 0; i < rows.rows(); ++i) {
		const std::string status = rows.text(i, 2);
		tally.count_step(rows.text(i, 1),
		                 status == "ok"        ? core::Status::ok
		                 : status == "skipped" ? core::Status::skipped
		                                       : core::Status::failed,
		                 rows.text(i, 3), rows.int8(i, 4));
	}
}

std::optional<RunFrame> RunRecord::claim(std::int64_t run_id, Progress &progress) const {
	return as_engine(engine_, [&] {
		return with_spi([&]() -> std::optional<RunFrame> {
			static constinit Statement statement("SELECT " RUN_COLUMNS
			                                     " FROM backfill._claim_run($1, $2) r WHERE r.run_id IS NOT NULL");
			const Result row = statement.run({Param::of(run_id), Param::of(pipeline_.id)});
			if (row.rows() == 0)
				return std::nullopt;
			progress.candidates = row.int8(0, 12);
			progress.tally.count_result(ItemResult::changed, row.int8(0, 13));
			progress.tally.count_result(ItemResult::unchanged, row.int8(0, 14));
			progress.tally.count_result(ItemResult::skipped, row.int8(0, 15));
			progress.tally.count_result(ItemResult::failed, row.int8(0, 16));
			progress.tally.count_new_failures(row.int8(0, 17));
			const RunFrame frame = frame_of(row);
			add_earlier_counts(run_id, progress.tally);
			return frame;
		});
	});
}

RunFrame RunRecord::begin_rehearsal(std::optional<TimestampTz> from, TimestampTz to, bool redo_all, bool deliver) const {
	const std::string caller = name_of_role(GetUserId());
	return as_engine(engine_, [&] {
		return with_spi([&] {
			static constinit Statement statement("SELECT " RUN_COLUMNS
			                                     " FROM backfill._begin_rehearsal($1, $2, $3, $4, $5, $6)");
			RunFrame frame = frame_of(statement.run(
				{Param::of(pipeline_.id), Param::of(caller), from ? Param::timestamptz(*from) : Param::null(TIMESTAMPTZOID),
			     from ? Param::timestamptz(to) : Param::null(TIMESTAMPTZOID), Param::of(redo_all ? "all" : "lacking"),
			     Param::of(deliver)}));
			frame.rehearsal = true;
			return frame;
		});
	});
}

bool RunRecord::has_failures() const {
	return as_engine(engine_, [&] {
		return with_spi([&] {
			static constinit Statement statement("SELECT EXISTS (SELECT FROM backfill.item_failure WHERE pipeline_id = $1)");
			return statement.run({Param::of(pipeline_.id)}).boolean(0, 1);
		});
	});
}

std::vector<std::string> RunRecord::known_failures(const std::vector<std::string> &items) const {
	return as_engine(engine_, [&] {
		return with_spi([&] {
			static constinit Statement statement("SELECT item FROM backfill.item_failure WHERE pipeline_id = $1 AND item = ANY ($2)");
			const Result rows = statement.run({Param::of(pipeline_.id), Param::of(items)});
			std::vector<std::string> known;
			for (std::uint64_t i = 0; i < rows.rows(); ++i)
				known.push_back(rows.text(i, 1));
			std::sort(known.begin(), known.end());
			return known;
		});
	});
}

std::vector<EarlierFailures> RunRecord::failing_earlier(const RunFrame &frame) const {
	return as_engine(engine_, [&] {
		return with_spi([&] {
			static constinit Statement statement("SELECT ask_from, ask_to, item FROM backfill._failing_earlier($1)");
			const Result rows = statement.run({Param::of(frame.run_id)});
			std::vector<EarlierFailures> failures;
			for (std::uint64_t i = 0; i < rows.rows(); ++i) {
				const TimestampTz from = rows.timestamptz(i, 1);
				if (failures.empty() || failures.back().ask_from != from)
					failures.push_back({from, rows.timestamptz(i, 2), {}});
				failures.back().items.push_back(rows.text(i, 3));
			}
			return failures;
		});
	});
}

void RunRecord::forget_failures(const RunFrame &frame, const std::vector<std::string> &asked,
                                const std::vector<std::string> &found) const {
	as_engine(engine_, [&] {
		with_spi([&] {
			static constinit Statement statement("SELECT backfill._forget_failures($1, $2, $3)");
			statement.run({Param::of(frame.run_id), Param::of(asked), Param::of(found)});
		});
	});
}

void RunRecord::note_asked_again(const RunFrame &frame, std::int64_t items) const {
	if (items == 0)
		return;
	as_engine(engine_, [&] {
		with_spi([&] {
			static constinit Statement statement("SELECT backfill._note_asked_again($1, $2)");
			statement.run({Param::of(frame.run_id), Param::of(items)});
		});
	});
}

namespace {

// Events that differ in their item only.
struct Alike {
	const StepEvent *first;
	std::vector<std::string> items;

	bool includes(const StepEvent &event) const {
		const core::Decision &mine = first->decision;
		const core::Decision &other = event.decision;
		return mine.step == other.step && mine.status == other.status && mine.reason == other.reason &&
		       first->sqlstate == event.sqlstate && first->message == event.message;
	}
};

std::vector<Alike> told_events(const BatchReport &report, core::Narrate narrate) {
	std::vector<Alike> told;
	for (const StepEvent &event : report.events) {
		if (!core::is_told(narrate, event.decision))
			continue;
		// From the end: a step's events follow each other.
		const auto known = std::find_if(told.rbegin(), told.rend(), [&](const Alike &alike) { return alike.includes(event); });
		Alike &alike = known == told.rend() ? told.emplace_back(Alike{&event, {}}) : *known;
		alike.items.push_back(event.decision.item);
	}
	return told;
}

} // namespace

void RunRecord::write_events(const RunFrame &frame, const BatchReport &report, bool all) const {
	static constinit Statement statement(
		"INSERT INTO backfill.decision (run_id, step, status, reason, sqlstate, message, items) "
		"VALUES ($1, $2, $3, $4, nullif($5, ''), nullif($6, ''), $7)");
	for (const Alike &alike : told_events(report, all ? core::Narrate::all : core::Narrate::changes)) {
		const core::Decision &decision = alike.first->decision;
		statement.run({Param::of(frame.run_id), Param::of(decision.step), Param::of(core::name_of(decision.status)),
		               Param::of(decision.reason), Param::of(alike.first->sqlstate), Param::of(alike.first->message),
		               Param::of(alike.items)});
	}
}

void RunRecord::keep_in_range(const RunFrame &frame, const BatchReport &report) const {
	if (report.busy.empty())
		return;
	// Nothing comes before everything: an item of unknown time.
	const std::optional<TimestampTz> oldest = *std::min_element(report.busy.begin(), report.busy.end());
	static constinit Statement statement("SELECT backfill._keep_in_range($1, $2, $3)");
	statement.run({Param::of(frame.run_id), Param::of(frame.lease_token),
	               oldest ? Param::timestamptz(*oldest) : Param::null(TIMESTAMPTZOID)});
}

void RunRecord::write_batch(const RunFrame &frame, BatchReport &report, bool all) const {
	as_engine(engine_, [&] {
		with_spi([&] {
			write_events(frame, report, all);
			if (frame.mode != "live")
				return;
			keep_in_range(frame, report);
			static constinit Statement statement("SELECT backfill._note_failures($1, $2, $3, $4)");
			const Result row =
				statement.run({Param::of(frame.run_id), Param::of(report.failed), Param::of(report.failed_times), Param::of(report.recovered)});
			report.tally.count_new_failures(row.int8(0, 1));
		});
	});
}

bool RunRecord::write_progress(const RunFrame &frame, const Progress &progress,
                               const std::optional<std::string> &last_key) const {
	const Tally &tally = progress.tally;
	return as_engine(engine_, [&] {
		return with_spi([&] {
			static constinit Statement statement("SELECT backfill._write_progress($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)");
			return statement
				.run({Param::of(frame.run_id), Param::of(frame.lease_token), Param::of(progress.candidates),
			          Param::of(tally.items(ItemResult::changed)), Param::of(tally.items(ItemResult::unchanged)),
			          Param::of(tally.items(ItemResult::skipped)), Param::of(tally.items(ItemResult::failed)),
			          Param::of(tally.newly_failed()), Param::of(tally.steps_as_json()), Param::of(last_key),
			          Param::of(progress.speed.work_share()), Param::of(progress.speed.look_ms()), Param::of(progress.speed.work_ms())})
				.boolean(0, 1);
		});
	});
}

bool RunRecord::hold(const RunFrame &frame, core::Pace &pace) const {
	return as_engine(engine_, [&] {
		return with_spi([&] {
			static constinit Statement statement(
				"SELECT backfill._hold_run($1, $2), r.rate, r.batch_limit FROM backfill.run r WHERE r.run_id = $1");
			const Result row = statement.run({Param::of(frame.run_id), Param::of(frame.lease_token)});
			if (row.rows() == 0 || !row.boolean(0, 1))
				return false;
			pace.set(row.is_null(0, 2) ? std::nullopt : std::optional(row.float8(0, 2)),
			         row.is_null(0, 3) ? std::nullopt : std::optional<int>(row.int4(0, 3)));
			return true;
		});
	});
}

std::optional<std::int64_t> RunRecord::waiting_live_run() const {
	return as_engine(engine_, [&] {
		return with_spi([&]() -> std::optional<std::int64_t> {
			static constinit Statement statement(
				"SELECT run_id FROM backfill.run "
				"WHERE pipeline_id = $1 AND mode = 'live' AND state = 'requested' AND started_at IS NULL");
			const Result row = statement.run({Param::of(pipeline_.id)});
			return row.rows() == 0 ? std::nullopt : std::optional(row.int8(0, 1));
		});
	});
}

RunFrame RunRecord::held(std::int64_t run_id, std::int64_t token) const {
	return as_engine(engine_, [&] {
		return with_spi([&] {
			static constinit Statement statement("SELECT " RUN_COLUMNS " FROM backfill._held_run($1, $2)");
			return frame_of(statement.run({Param::of(run_id), Param::of(token)}));
		});
	});
}

bool RunRecord::count_batch(const RunFrame &frame, const Range &range, const Tally &tally) const {
	return as_engine(engine_, [&] {
		return with_spi([&] {
			static constinit Statement statement("SELECT backfill._count_batch($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)");
			return statement
				.run({Param::of(frame.run_id), Param::of(frame.lease_token), Param::of(range.after), Param::of(range.upto),
			          Param::of(range.done), Param::of(tally.items(ItemResult::changed)),
			          Param::of(tally.items(ItemResult::unchanged)), Param::of(tally.items(ItemResult::skipped)),
			          Param::of(tally.items(ItemResult::failed)), Param::of(tally.newly_failed()),
			          Param::of(tally.steps_as_json())})
				.boolean(0, 1);
		});
	});
}

void RunRecord::finish(const RunFrame &frame, const std::string &state, const std::string &sqlstate,
                       const std::string &error) const {
	as_engine(engine_, [&] {
		with_spi([&] {
			static constinit Statement statement("SELECT backfill._finish_run($1, $2, $3, $4, $5)");
			statement.run({Param::of(frame.run_id), Param::of(frame.lease_token), Param::of(state),
			               Param::of(sqlstate), Param::of(error)});
		});
	});
}

void RunRecord::keep_house() const {
	as_engine(engine_, [&] {
		with_spi([&] {
			static constinit Statement statement("SELECT backfill._keep_house($1)");
			statement.run({Param::of(pipeline_.id)});
		});
	});
}

FoundItems still_failing(const RunRecord &record, const Pipeline &pipeline, const RunFrame &frame) {
	const std::vector<EarlierFailures> failing = record.failing_earlier(frame);
	if (failing.empty())
		return {};
	FoundItems found = Candidates::find(pipeline, frame, failing);
	std::vector<std::string> asked;
	for (const EarlierFailures &earlier : failing)
		asked.insert(asked.end(), earlier.items.begin(), earlier.items.end());
	record.forget_failures(frame, asked, found.keys);
	return found;
}

} // namespace backfill::pg
