// Whether the output is another when it is made afresh from changed inputs, for work that leaves alone what is there: its
// key refuses a second one, or it passes it by.
#include <algorithm>
#include <map>

#include "pg/engine/proof.hpp"

namespace backfill::pg {

namespace {

using Endings = std::map<std::string, std::string>; // by key

Endings endings_of(const BatchReport &report) {
	Endings endings;
	for (const StepEvent &event : report.events)
		if (event.decision.changed)
			endings.emplace(event.decision.item, core::name_of(event.decision.status) + (" " + event.decision.reason));
	return endings;
}

bool is_all_errors(const BatchReport &report) {
	return !report.events.empty() && std::all_of(report.events.begin(), report.events.end(), [](const StepEvent &event) { return !event.sqlstate.empty(); });
}

} // namespace

// Each step as it was made first, once from the inputs as they are and once from changed ones.
void Proof::make_afresh() {
	const Observation before(engine_);
	std::vector<int> members = all_;
	for (std::size_t i = 0; i < pipeline_.steps.size() && !unnoticed_.empty() && !members.empty(); ++i) {
		const int step = static_cast<int>(i);
		for (const Unnoticed &change : unnoticed_)
			if (change.step == step)
				look_afresh(change, before);
		members = in_run(true, [&](Chain &chain) { return chain.process_step(step, items_, members, false).going_on; });
		Observation::take_notifications();
	}
}

Proof::Fresh Proof::make_step(int step, const std::vector<int> &members) {
	Fresh fresh;
	in_run(true, [&](Chain &chain) {
		const Observation before(engine_);
		fresh.report = chain.process_step(step, items_, members, false);
		Observation::take_notifications();
		fresh.written = before.written();
	});
	return fresh;
}

// Those of the members that the work made something for both times, and said the same of. One for which it makes nothing
// of the changed input keeps its output for good: its turn may be over.
std::vector<int> Proof::ended_alike(const std::vector<int> &members, const BatchReport &one, const BatchReport &two) const {
	const Endings first = endings_of(one);
	const Endings second = endings_of(two);
	std::vector<int> alike;
	std::copy_if(members.begin(), members.end(), std::back_inserter(alike), [&](int member) {
		const std::string key = pipeline_.keys.text_of(items_[static_cast<std::size_t>(member)].key);
		const auto ending = first.find(key);
		const auto other = second.find(key);
		return ending != first.end() && other != second.end() && ending->second == other->second;
	});
	return alike;
}

void Proof::look_afresh(const Unnoticed &unnoticed, const Observation &before) {
	Unnoticed compared = unnoticed;
	Fresh one, two;
	std::vector<core::Tables> numbers;
	for (;;) {
		rolled_back([&] { one = make_step(compared.step, compared.members); });
		rolled_back([&] {
			two = make_step(compared.step, change_before(compared));
			if (!core::differences(one.written.added, two.written.added, one.written.added, two.written.added).empty())
				numbers = {before.written().added};
			else
				numbers.clear();
		});
		std::vector<int> alike = ended_alike(compared.members, one.report, two.report);
		if (alike.size() == compared.members.size())
			break;
		if (alike.empty() && is_all_errors(two.report))
			note_unchanged(compared.input);
		if (alike.empty())
			return;
		compared.members = std::move(alike); // whose rows are told from the others' by making them alone
	}
	if (numbers.empty())
		return;
	numbers.push_back(before.written().added);
	for (Fresh *fresh : {&one, &two})
		fresh->written.added = core::without_numbers(fresh->written.added, numbers);
	note_unnoticed(compared, one.written.added, two.written, Output::fresh);
}

} // namespace backfill::pg
