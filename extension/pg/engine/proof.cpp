#include "pg/engine/proof.hpp"

#include <algorithm>
#include <optional>

#include "core/error.hpp"

extern "C" {
#include "pgstat.h"
}

namespace backfill::pg {

namespace {

void add(core::Tables &all, const core::Tables &some) {
	for (const auto &[name, table] : some) {
		core::TableRows &rows = all.try_emplace(name, core::TableRows{table.columns, table.by_default, {}}).first->second;
		rows.rows.insert(rows.rows.end(), table.rows.begin(), table.rows.end());
	}
}

} // namespace

Proof::Proof(Oid engine_owner, const std::string &pipeline, MemoryContext context)
	: engine_(engine_owner), pipeline_(load_pipeline(engine_owner, pipeline, context, Purpose::look)), record_(engine_owner, pipeline_) {
	record_.require_operator();
	known_.resize(pipeline_.steps.size());
}

RunFrame Proof::begin(bool redo_all) const {
	RunFrame frame = frame_;
	frame.run_id = record_.begin_rehearsal(std::nullopt, 0, false, false).run_id;
	frame.redo_all = redo_all;
	return frame;
}

std::vector<Finding> Proof::prove(int items) {
	if (Observation::has_notifications())
		throw core::Error(core::ErrorCode::wrong_state, "this transaction listens or notifies",
		                  "Call backfill.prove in a transaction of its own: it has to see whether a step notifies.");
	if (!pgstat_track_counts)
		throw core::Error(core::ErrorCode::wrong_state, "track_counts is off", "SET track_counts = on: it tells which tables a step writes.");
	Making making;
	rolled_back([&] { // what the engine writes about the runs of the proof
		pick(items);
		if (items_.empty())
			return;
		rolled_back([&] { ask_checks(); });
		compare_makings();
		do_all_again(Output::found, making);
		rolled_back([&] {
			make(false);
			second_pass();
		});
		rolled_back([&] {
			making = make(true);
			make(false); // what failed when made again has been put back
			second_pass();
			do_all_again(Output::fresh, making);
			change_inputs(making);
		});
		rolled_back([&] { make_afresh(); });
		one_before_the_others(making);
	});
	findings_.push_back(verdict(making));
	return std::move(findings_);
}

Proof::Making Proof::make(bool redo_all) {
	Making making;
	std::optional<Observation> before;
	making.report = in_run(redo_all, [&](Chain &chain) {
		chain.watch([&](int, bool over) {
			if (!over) {
				before.emplace(engine_);
				return;
			}
			making.steps.push_back({before->written(), before->sequences(true), before->sequences(false),
			                        before->read(), Observation::take_notifications()});
			add(making.numbers, making.steps.back().written.added);
		});
		return chain.process(items_, all_, std::vector<int>(items_.size(), 0));
	});
	return making;
}

// The same from the same beginning: twice, and twice at another time.
void Proof::compare_makings() {
	Making one, two, three, four;
	rolled_back([&] { one = make(true); });
	rolled_back([&] { two = make(true); });
	rolled_back([&] { at_another_time(other_time, [&] { three = make(true); }); });
	rolled_back([&] { at_another_time(other_year, [&] { four = make(true); }); });
	for (std::size_t i = 0; i < one.steps.size(); ++i) {
		const int step = static_cast<int>(i);
		if (has(step, "check_wrote"))
			continue;
		for (const std::string &sequence : one.steps[i].free_sequences)
			note(step, "sequence", all_.size(), "The work takes numbers from sequence " + sequence + ".");
		if (one.steps[i].notified)
			note(step, "notified", all_.size(), "The step notifies.");
	}
	look_for_absent(one);
	compare(one, two, false);
	compare(one, three, true);
	if (same_failures(one, four))
		compare(one, four, true);
}

void Proof::look_for_absent(const Making &making) {
	for (std::size_t i = 0; i < pipeline_.steps.size(); ++i) {
		const auto absent = std::count_if(making.report.events.begin(), making.report.events.end(), [&](const StepEvent &event) {
			return event.decision.step == pipeline_.steps[i].name && event.decision.reason == core::reason::output_absent;
		});
		if (absent > 0)
			note(static_cast<int>(i), "output_absent", static_cast<std::size_t>(absent), "The check does not find what the work made.");
	}
}

void Proof::compare(const Making &one, const Making &two, bool shifted) {
	for (std::size_t step = 0; step < one.steps.size(); ++step) {
		const auto found = core::differences(one.steps[step].written.added, two.steps[step].written.added, one.numbers, two.numbers,
		                                     known_[step]);
		note_differences(static_cast<int>(step), shifted ? "clock" : "differs", all_.size(), found,
		                 shifted ? "when made at another time" : "when made again from the same beginning");
		for (const core::Difference &difference : found)
			known_[step].insert({difference.table, difference.column});
	}
	look_for_other_failures(one, two, shifted);
}

std::set<std::string> Proof::failures(const Making &making, int step) const {
	std::set<std::string> keys;
	for (const StepEvent &event : making.report.events)
		if (event.decision.step == name(step) && event.decision.status == core::Status::failed)
			keys.insert(event.decision.item);
	return keys;
}

bool Proof::same_failures(const Making &one, const Making &two) const {
	for (std::size_t step = 0; step < pipeline_.steps.size(); ++step)
		if (failures(one, static_cast<int>(step)) != failures(two, static_cast<int>(step)))
			return false;
	return true;
}

void Proof::look_for_other_failures(const Making &one, const Making &two, bool shifted) {
	for (std::size_t step = 0; step < pipeline_.steps.size(); ++step) {
		const auto first = failures(one, static_cast<int>(step));
		const auto second = failures(two, static_cast<int>(step));
		if (first != second)
			note(static_cast<int>(step), shifted ? "clock" : "differs", std::max(first.size(), second.size()),
			     std::string("Other items fail ") + (shifted ? "at another time." : "when made again from the same beginning."));
	}
}

// A pass over what was made a moment ago.
void Proof::second_pass() {
	rolled_back([&] {
		const Making again = make(false);
		for (std::size_t i = 0; i < again.steps.size(); ++i) {
			const int step = static_cast<int>(i);
			const StepMade &made = again.steps[i];
			core::Tables told;
			std::size_t rows = 0;
			std::string tables;
			for (const auto *part : {&made.written.added, &made.written.removed})
				for (const auto &[table, written] : *part)
					if (is_told(table)) {
						told.emplace(table, written);
					} else {
						rows += written.rows.size();
						if (tables.find(table) == std::string::npos)
							tables += (tables.empty() ? "" : ", ") + table;
					}
			if (rows > 0)
				note(step, "wrote_again", all_.size(),
				     "A second pass writes or removes " + std::to_string(rows) + " rows of " + tables + ".");
			if (!told.empty())
				note(step, "emitted_again", all_.size(), "A second pass tells or counts something anew.");
			if (rows == 0 && told.empty() && !has(step, "check_wrote") && !made.sequences.empty() && again.report.failed.empty())
				note(step, "sequence", all_.size(), "A second pass takes numbers from sequence " + made.sequences.front() + ".");
		}
	});
}

} // namespace backfill::pg
