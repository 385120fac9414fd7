#include "pg/engine/run_record.hpp"

namespace backfill::pg {

RunFrame RunRecord::begin_live() {
	const std::string caller = name_of_role(GetUserId());
	return as_engine(engine_, [&] {
		return with_spi([&] {
			static constinit Statement statement(
				"SELECT run_id, run_time, window_from, window_to, scan_from, scan_to FROM backfill._begin_live_run($1, $2)");
			const Result row = statement.run({Param::of(pipeline_.id), Param::of(caller)});
			RunFrame frame;
			frame.run_id = row.int8(0, 1);
			frame.mode = "live";
			frame.run_time = row.timestamptz(0, 2);
			frame.window_from = row.timestamptz(0, 3);
			frame.window_to = row.timestamptz(0, 4);
			frame.scan_from = row.timestamptz(0, 5);
			frame.scan_to = row.timestamptz(0, 6);
			return frame;
		});
	});
}

void RunRecord::write_events(const RunFrame &frame, const BatchReport &report, bool all) {
	std::vector<std::string> items, steps, statuses, reasons, sqlstates, messages;
	for (const StepEvent &event : report.events) {
		const core::Decision &decision = event.decision;
		if (!core::is_told(all ? core::Narrate::all : core::Narrate::changes, decision))
			continue;
		items.push_back(decision.item);
		steps.push_back(decision.step);
		statuses.push_back(core::name_of(decision.status));
		reasons.push_back(decision.reason);
		sqlstates.push_back(event.sqlstate);
		messages.push_back(event.message);
	}
	if (items.empty())
		return;
	static constinit Statement statement(
		"INSERT INTO backfill.step_event (run_id, item, step, status, reason, sqlstate, message) "
		"SELECT $1, e.item, e.step, e.status, e.reason, nullif(e.sqlstate, ''), nullif(e.message, '') "
		"FROM unnest($2, $3, $4, $5, $6, $7) WITH ORDINALITY AS e(item, step, status, reason, sqlstate, message, n) "
		"ORDER BY e.n");
	statement.run({Param::of(frame.run_id), Param::of(items), Param::of(steps), Param::of(statuses),
	               Param::of(reasons), Param::of(sqlstates), Param::of(messages)});
}

void RunRecord::write_batch(const RunFrame &frame, BatchReport &report, bool all) {
	as_engine(engine_, [&] {
		with_spi([&] {
			write_events(frame, report, all);
			if (frame.mode != "live")
				return;
			static constinit Statement statement("SELECT backfill._note_failures($1, $2, $3)");
			const Result row =
				statement.run({Param::of(frame.run_id), Param::of(report.failed), Param::of(report.recovered)});
			report.tally.count_repeated_failures(row.int8(0, 1));
		});
	});
}

bool RunRecord::write_progress(const RunFrame &frame, const core::Tally &tally, std::int64_t candidates) {
	using core::ItemResult;
	return as_engine(engine_, [&] {
		return with_spi([&] {
			static constinit Statement statement("SELECT backfill._write_progress($1, $2, $3, $4, $5, $6)");
			return statement
				.run({Param::of(frame.run_id), Param::of(candidates), Param::of(tally.items(ItemResult::changed)),
			          Param::of(tally.items(ItemResult::unchanged)), Param::of(tally.items(ItemResult::skipped)),
			          Param::of(tally.items(ItemResult::failed))})
				.boolean(0, 1);
		});
	});
}

bool RunRecord::may_go_on(const RunFrame &frame) {
	return as_engine(engine_, [&] {
		return with_spi([&] {
			static constinit Statement statement(
				"SELECT EXISTS (SELECT FROM backfill.run WHERE run_id = $1 AND state = 'running')");
			return statement.run({Param::of(frame.run_id)}).boolean(0, 1);
		});
	});
}

void RunRecord::finish(const RunFrame &frame, const core::Tally &tally, std::int64_t candidates,
                       const std::string &state, const std::string &sqlstate, const std::string &error) {
	std::vector<std::string> steps, statuses, reasons;
	std::vector<std::int64_t> items;
	for (const auto &[key, count] : tally.steps()) {
		steps.push_back(std::get<0>(key));
		statuses.push_back(core::name_of(std::get<1>(key)));
		reasons.push_back(std::get<2>(key));
		items.push_back(count);
	}
	write_progress(frame, tally, candidates);
	as_engine(engine_, [&] {
		with_spi([&] {
			static constinit Statement statement("SELECT backfill._finish_run($1, $2, $3, $4, $5, $6, $7, $8)");
			statement.run({Param::of(frame.run_id), Param::of(state), Param::of(sqlstate), Param::of(error),
			               Param::of(steps), Param::of(statuses), Param::of(reasons), Param::of(items)});
		});
	});
}

} // namespace backfill::pg
