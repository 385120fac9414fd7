// Whether a check says what is true: asked again, alone, at another time; against what the work would make.
#include <algorithm>
#include <map>
#include <optional>

#include "pg/engine/proof.hpp"

namespace backfill::pg {

namespace {

// Until when an output may be taken for a fresh one by the clock.
constexpr TimestampTz much_later = 400 * USECS_PER_DAY;

std::vector<int> without(const std::vector<int> &all, const std::vector<int> &some) { // both sorted
	std::vector<int> rest;
	std::set_difference(all.begin(), all.end(), some.begin(), some.end(), std::back_inserter(rest));
	return rest;
}

std::size_t difference(const std::vector<int> &one, const std::vector<int> &two) {
	return without(one, two).size() + without(two, one).size();
}

std::vector<core::Difference> of_tables(const std::vector<core::Difference> &differences, bool told) {
	std::vector<core::Difference> found;
	std::copy_if(differences.begin(), differences.end(), std::back_inserter(found),
	             [&](const core::Difference &difference) { return is_told(difference.table) == told; });
	return found;
}

} // namespace

std::vector<int> Proof::lacking(int step, const std::vector<int> &members) {
	return in_run(false, [&](Chain &chain) { return chain.lacking_at(step, items_, members); });
}

// By step: the items that are done up to it and including it.
std::vector<std::vector<int>> Proof::done_so_far() {
	std::vector<std::vector<int>> done;
	rolled_back([&] {
		std::vector<int> members = all_;
		for (std::size_t step = 0; step < pipeline_.steps.size(); ++step) {
			if (!members.empty())
				members = without(members, lacking(static_cast<int>(step), members));
			done.push_back(members);
		}
		Observation::take_notifications();
	});
	return done;
}

// Each check before the work of its step, when what comes before is there, and after it.
void Proof::ask_checks() {
	std::vector<int> members = all_;
	for (std::size_t i = 0; i < pipeline_.steps.size() && !members.empty(); ++i) {
		const int step = static_cast<int>(i);
		ask_check(step, members);
		members = in_run(false, [&](Chain &chain) { return chain.process_step(step, items_, members, false).going_on; });
		Observation::take_notifications();
		if (!members.empty())
			ask_check(step, members);
	}
}

void Proof::ask_check(int step, const std::vector<int> &members) {
	const std::vector<int> first = watch_check(step, members);
	const auto ask_again = [&](const std::string &how, const char *finding, auto ask) {
		rolled_back([&] {
			if (const std::size_t others = difference(first, ask()))
				note(step, finding, others, "The check answers otherwise when asked " + how + ".");
			Observation::take_notifications();
		});
	};
	const auto ask = [&] { return lacking(step, members); };
	ask_again("again", "check_unsteady", ask);
	if (has(step, "check_unsteady"))
		return;
	at_another_time(other_time, [&] { ask_again("at an earlier time", "clock", ask); });
	at_another_time(much_later, [&] { ask_again("at a later time", "clock", ask); });
	ask_again("for a key alone", "check_unsteady", [&] {
		return in_run(false, [&](Chain &chain) {
			std::vector<int> alone;
			for (const int member : members)
				if (!chain.lacking_at(step, items_, {member}).empty())
					alone.push_back(member);
			return alone;
		});
	});
}

// Its answer, and whether it only reads.
std::vector<int> Proof::watch_check(int step, const std::vector<int> &members) {
	std::vector<int> answer;
	rolled_back([&] {
		in_run(false, [&](Chain &chain) {
			rolled_back([&] {
				const Observation before(engine_);
				answer = chain.lacking_at(step, items_, members);
				const auto sequences = before.sequences(false);
				// A subtransaction gets its id with its first write.
				if (TransactionIdIsValid(call([]() noexcept { return GetCurrentTransactionIdIfAny(); })))
					note(step, "check_wrote", members.size(), "The check writes or locks.");
				else if (!sequences.empty())
					note(step, "check_wrote", members.size(), "The check takes numbers from sequence " + sequences.front() + ".");
				if (Observation::take_notifications())
					note(step, "check_wrote", members.size(), "The check notifies.");
			});
		});
	});
	return answer;
}

// What the work of a step does to items that have its output.
Written Proof::do_again(int step, const std::vector<int> &members) {
	return in_run(false, [&](Chain &chain) {
		const Observation before(engine_);
		chain.process_step(step, items_, members, true);
		Observation::take_notifications();
		return before.written();
	});
}

void Proof::do_all_again(Output output, const Making &making) {
	const auto done = done_so_far();
	for (std::size_t i = 0; i < done.size(); ++i) {
		const int step = static_cast<int>(i);
		std::vector<int> members;
		std::copy_if(done[i].begin(), done[i].end(), std::back_inserter(members),
		             [&](int member) { return output == Output::found || is_made(making, step, member); });
		if (!members.empty())
			rolled_back([&] { look_again(step, members, output); });
		if (!members.empty() && output == Output::found && pipeline_.steps[i].clear)
			rolled_back([&] { look_cleared(step, members); });
	}
}

bool Proof::is_made(const Making &making, int step, int member) const {
	const std::string key = pipeline_.keys.text_of(items_[static_cast<std::size_t>(member)].key);
	return std::any_of(making.report.events.begin(), making.report.events.end(), [&](const StepEvent &event) {
		return event.decision.changed && event.decision.step == name(step) && event.decision.item == key;
	});
}

// What has been cleared away is lacking.
void Proof::look_cleared(int step, const std::vector<int> &members) {
	in_run(false, [&](Chain &chain) {
		Written written;
		rolled_back([&] {
			const Observation before(engine_);
			chain.clear_step(step, items_, members);
			written = before.written();
			if (!written.removed.empty() && written.added.empty() && chain.lacking_at(step, items_, members).empty())
				note(step, "check_wrong", members.size(),
				     "The check still takes it for done when clear has removed it from " + written.removed.begin()->first + ".");
			Observation::take_notifications();
		});
	});
}

// Work that is done over what it has made must leave it as it is, or refuse. If only the first time makes a difference,
// what the check had taken for the output was not that. What is told the first time may have been told in another
// window.
void Proof::look_again(int step, const std::vector<int> &members, Output output) {
	const auto changes = [&](const Written &written) {
		return core::differences(written.removed, written.added, written.removed, written.added, known_[static_cast<std::size_t>(step)]);
	};
	const auto first = of_tables(changes(do_again(step, members)), false);
	std::vector<core::Difference> second;
	at_another_time(other_time, [&] { second = changes(do_again(step, members)); });
	if (const auto told = of_tables(second, true); !told.empty())
		note_differences(step, "emitted_again", members.size(), told, "when the work is done again");
	if (const auto tables = of_tables(second, false); !tables.empty())
		note_differences(step, "not_repeatable", members.size(), tables, "when the work is done again");
	else if (output == Output::fresh)
		note_differences(step, "not_repeatable", members.size(), first, "when the work is done again");
	else if (!has(step, "not_repeatable"))
		note_differences(step, "check_wrong", members.size(), first, "although the check takes it for done");
}

// By step: those of the members that lack its output, when they go through the chain without another.
std::vector<std::vector<int>> Proof::lacking_alone(const std::vector<int> &members) {
	std::vector<std::vector<int>> found(pipeline_.steps.size());
	rolled_back([&] {
		in_run(false, [&](Chain &chain) {
			std::vector<int> going_on = members;
			for (std::size_t i = 0; i < found.size() && !going_on.empty(); ++i) {
				const int step = static_cast<int>(i);
				found[i] = chain.lacking_at(step, items_, going_on);
				going_on = chain.process_step(step, items_, going_on, false).going_on;
			}
		});
		Observation::take_notifications();
	});
	return found;
}

// An item is done before the others: which of them does that make done? One near the beginning and one near the end, since
// a check may go by the order of keys.
void Proof::one_before_the_others(const Making &making) {
	std::vector<int> first;
	rolled_back([&] { first = in_run(false, [&](Chain &chain) { return chain.first_lacking(items_); }); });
	std::map<std::string, std::size_t> changes;
	for (const StepEvent &event : making.report.events)
		changes[event.decision.item] += event.decision.changed ? 1 : 0;
	int low = -1;
	int high = -1;
	std::size_t most = 0;
	for (const int member : all_) {
		const std::size_t count = changes[pipeline_.keys.text_of(items_[static_cast<std::size_t>(member)].key)];
		if (first[static_cast<std::size_t>(member)] < 0 || count == 0 || count < most)
			continue;
		if (count > most)
			low = member;
		high = member;
		most = count;
	}
	if (low >= 0)
		rolled_back([&] { look_for_strangers(low); });
	if (high != low)
		rolled_back([&] { look_for_strangers(high); });
}

// One that is done now, and whose work would make something all the same, was taken for another.
void Proof::look_for_strangers(int first) {
	std::vector<int> others = without(all_, {first});
	const auto before = lacking_alone(others);
	in_run(false, [&](Chain &chain) {
		chain.process(items_, {first}, std::vector<int>(items_.size(), 0));
		Observation::take_notifications();
	});
	for (std::size_t i = 0; i < before.size() && !others.empty(); ++i) {
		const int step = static_cast<int>(i);
		std::vector<int> now = lacking(step, others);
		std::vector<int> strangers;
		for (const int member : without(before[i], now))
			if (std::binary_search(others.begin(), others.end(), member))
				strangers.push_back(member);
		if (!strangers.empty() && !has(step, "not_repeatable"))
			rolled_back([&] {
				const Written written = do_again(step, strangers);
				note_differences(step, "check_wrong", strangers.size(),
				                 of_tables(core::differences(written.removed, written.added, written.removed, written.added, known_[i]), false),
				                 "although the check takes it for done since another item is");
			});
		others = in_run(false, [&](Chain &chain) { return chain.process_step(step, items_, others, false).going_on; });
		Observation::take_notifications();
	}
}

} // namespace backfill::pg
