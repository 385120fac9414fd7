// What a proof says of what it found.
#include <algorithm>

#include "pg/engine/proof.hpp"

namespace backfill::pg {

namespace {

struct Advice {
	const char *finding;
	const char *hint;
};

constexpr Advice advices[] = {
	{"check_wrote", "A check only reads: move what it writes into the step's work."},
	{"check_unsteady", "A check's answer may depend on the key and the data alone."},
	{"check_wrong", "Let the check compare the output with the inputs it was made from, for the keys in $1 and no others."},
	{"output_absent", "Let the check look for what the work writes, or let the work say backfill.skip or backfill.stop."},
	{"wrote_again", "Let the check find what the work made, or what it recorded where there was nothing to make."},
	{"emitted_again", "Derive recipient, type and payload from the item: one message per recipient, window and type. Two items that share all three replace each other's message: put what tells them apart into the type."},
	{"not_repeatable", "Give the output a unique key, use ON CONFLICT, and set values instead of adding to them."},
	{"differs", "Make the output from the item's data alone: without random(), clock_timestamp() or a sequence. A column whose DEFAULT is such a value is left out."},
	{"clock", "Use backfill.run_time() or the item's own time instead of now(). A column whose DEFAULT is now() is left out."},
	{"sequence", "Take the number from the data, or let a column own it: GENERATED ALWAYS AS IDENTITY. A number taken is gone even if the work is rolled back."},
	{"notified", "Use backfill.emit, which a replay keeps silent; a run that changed something notifies backfill_run by itself."},
};

std::string hint_for(const std::string &finding) {
	const auto advice = std::find_if(std::begin(advices), std::end(advices), [&](const Advice &a) { return finding == a.finding; });
	return advice == std::end(advices) ? "" : advice->hint;
}

std::string in_words(const core::Difference &difference, const std::string &when) {
	if (!difference.column.empty())
		return "Column " + difference.column + " of " + difference.table + " is not the same " + when + ".";
	if (difference.one == difference.two)
		return "Rows of " + difference.table + " are not the same " + when + ".";
	return difference.table + " gets " + std::to_string(difference.two) + " rows instead of " + std::to_string(difference.one) + ", " +
	       when + ".";
}

} // namespace

bool Proof::has(int step, const std::string &finding) const {
	return std::any_of(findings_.begin(), findings_.end(),
	                   [&](const Finding &known) { return known.step == name(step) && known.finding == finding; });
}

void Proof::note(int step, const std::string &finding, std::size_t items, const std::string &detail) {
	const auto same = std::find_if(findings_.begin(), findings_.end(), [&](const Finding &known) {
		return known.step == name(step) && known.finding == finding && known.detail == detail;
	});
	const auto count = static_cast<std::int64_t>(items);
	if (same != findings_.end())
		same->items = std::max(same->items, count);
	else
		findings_.push_back({name(step), finding, count, detail, hint_for(finding)});
}

void Proof::note_differences(int step, const std::string &finding, std::size_t items, const std::vector<core::Difference> &differences,
                             const std::string &when) {
	for (const core::Difference &difference : differences)
		note(step, finding, items, in_words(difference, when));
}

// What was made of which step, in the words of a tally.
std::string Proof::what_was_made(const core::Tally &tally) const {
	std::string words;
	for (const Step &step : pipeline_.steps) {
		std::int64_t made = 0;
		std::int64_t failed = 0;
		for (const auto &[key, items] : tally.steps()) {
			const auto &[of, status, reason] = key;
			if (of != step.name)
				continue;
			made += status == core::Status::ok ? items : 0;
			failed += status == core::Status::failed ? items : 0;
		}
		words += (words.empty() ? "" : ", ") + step.name + " " + std::to_string(made) +
		         (failed > 0 ? " (" + std::to_string(failed) + " failed)" : "");
	}
	return words;
}

void Proof::note_unchanged(const std::string &table, const std::string &hint) {
	unchanged_.emplace("a change of " + table, hint);
}

void Proof::note_unchanged(const Input &input) {
	unchanged_.emplace("a change of column " + input.column + " of " + input.table,
	                   "Another value was not to be had, was refused, or made the work fail: see for yourself whether the checks have to compare it.");
}

Finding Proof::verdict(const Making &making) const {
	const auto items = static_cast<std::int64_t>(items_.size());
	if (items == 0)
		return {"", "nothing_tried", 0, "The candidate query finds no items.", "Try it while there are some."};
	const auto busy = std::count_if(making.report.events.begin(), making.report.events.end(),
	                                [](const StepEvent &event) { return event.decision.reason == core::reason::busy; });
	if (busy == items)
		return {"", "nothing_tried", items, "Another run works on these items.", "Try it when that has ended."};
	const std::string made = "Made: " + what_was_made(making.report.tally) + "." +
	                         (busy > 0 ? " Another run works on " + std::to_string(busy) + " of the items." : "");
	if (!findings_.empty())
		return {"", "not_proven", items, made, ""};
	std::string untried, erred;
	bool any_tried = false;
	const auto add = [](std::string &list, const std::string &one) { list += (list.empty() ? "" : ", ") + one; };
	for (const Step &step : pipeline_.steps) {
		bool tried = false, failed = false;
		for (const StepEvent &event : making.report.events)
			if (event.decision.step == step.name) {
				failed = failed || !event.sqlstate.empty();
				tried = tried || (event.decision.status != core::Status::failed && event.decision.reason != core::reason::done && event.decision.reason != core::reason::busy);
			}
		any_tried = any_tried || tried;
		if (failed)
			add(erred, step.name);
		else if (!tried)
			add(untried, step.name);
	}
	if (untried.empty() && erred.empty() && unchanged_.empty())
		return {"", "proven", items, made, ""};
	std::string hint;
	const auto advise = [&](const std::string &advice) { hint += (hint.empty() ? "" : " ") + advice; };
	if (!erred.empty())
		advise("Items failed with an error in " + erred + ": backfill.explain_item shows it for one of them; mend that and try again.");
	if (!untried.empty())
		advise("There was nothing to make in " + untried + ": try it while some items lack the output, or give the step a clear command.");
	std::string unseen;
	for (const auto &[input, why] : unchanged_) {
		add(unseen, input);
		if (hint.find(why) == std::string::npos)
			advise(why);
	}
	return {"", any_tried ? "proven_in_part" : "nothing_tried", items, made + (unseen.empty() ? "" : " Not tried: " + unseen + "."), hint};
}

} // namespace backfill::pg
