// What the engine decides without PostgreSQL: verdicts, tally line, batch size, failure pattern and narration.
#include <cstdio>
#include <string>

#include "core/batch_size.hpp"
#include "core/failure_pattern.hpp"
#include "core/narration.hpp"
#include "core/tally.hpp"

using namespace backfill::core;

namespace {

int number = 0;
int failures = 0;

void check(bool good, const std::string &name, const std::string &got = {}) {
	std::printf("%s %d - %s\n", good ? "ok" : "not ok", ++number, name.c_str());
	if (!good) {
		++failures;
		std::printf("# got: %s\n", got.c_str());
	}
}

std::string text(const Verdict &verdict) {
	return std::string(name_of(verdict.status)) + ' ' + verdict.reason + (verdict.changed ? " changed" : "") +
	       (verdict.ends ? " ends" : "");
}

void verdicts() {
	using Kind = Outcome::Kind;
	const struct {
		const char *name;
		std::optional<Outcome> said;
		bool lacking;
		const char *expected;
	} cases[] = {
		{"said nothing, output there", std::nullopt, false, "ok  changed"},
		{"said nothing, output lacking", std::nullopt, true, "failed output_absent ends"},
		{"ok is believed with an output", Outcome{Kind::ok, "fresh"}, false, "ok fresh changed"},
		{"ok is not believed without", Outcome{Kind::ok, "fresh"}, true, "failed output_absent ends"},
		{"skip goes on", Outcome{Kind::skip, "why"}, true, "skipped why"},
		{"skip that made an output changed", Outcome{Kind::skip, "why"}, false, "skipped why changed"},
		{"stop ends", Outcome{Kind::stop, "why"}, true, "skipped why ends"},
		{"stop that made an output changed", Outcome{Kind::stop, "why"}, false, "skipped why changed ends"},
		{"fail ends", Outcome{Kind::fail, "why"}, true, "failed why ends"},
		{"fail that made an output", Outcome{Kind::fail, "why"}, false, "failed why changed ends"},
	};
	for (const auto &each : cases) {
		const std::string got = text(judge(each.said, each.lacking));
		check(got == each.expected, each.name, got);
	}
	check(reason::of_sqlstate("23505") == "sqlstate_23505", "reason of an SQLSTATE");
}

void tallies() {
	Tally tally;
	check(tally.line() == "0 candidates: 0 changed, 0 unchanged, 0 skipped, 0 failed", "empty tally", tally.line());
	Tally one;
	one.count_item({});
	check(one.line() == "1 candidate: 0 changed, 1 unchanged, 0 skipped, 0 failed", "one is no plural", one.line());
	// An item counts once: failed before changed before skipped before unchanged.
	check(result_of({true, true, true}) == ItemResult::failed, "failed wins");
	check(result_of({true, false, true}) == ItemResult::changed, "changed wins over skipped");
	check(result_of({false, false, true}) == ItemResult::skipped, "cut short is skipped");
	check(result_of({}) == ItemResult::unchanged, "otherwise unchanged");
	tally.count_item({}, 5);
	tally.count_item({true, false, false});
	tally.count_item({false, false, true}, 3);
	tally.count_item({false, true, true}, 2);
	tally.count_step("a", Status::skipped, reason::done, 5);
	tally.count_step("a", Status::skipped, "no_report", 2);
	tally.count_step("b", Status::skipped, "no_report");
	tally.count_step("a", Status::failed, "zebra");
	tally.count_step("a", Status::failed, "ape");
	tally.count_step("a", Status::ok, "fresh");
	const std::string line = "11 candidates: 1 changed, 5 unchanged, 3 skipped (no_report 3), 2 failed (ape 1, zebra 1)";
	check(tally.line() == line, "reasons of all steps add up, done is left out, equals are by name", tally.line());
	Tally twice = tally;
	twice.add(tally);
	twice.count_new_failures(2);
	check(twice.line() == "22 candidates: 2 changed, 10 unchanged, 6 skipped (no_report 6), 4 failed (ape 2, zebra 2), "
	                      "2 of them for the first time",
	      "tallies add up", twice.line());
	check(twice.candidates() == 22 && twice.steps().size() == tally.steps().size(), "so do their counts");
}

void batch_sizes() {
	BatchSize size;
	check(size.items() == BatchSize::most, "starts with as many as locks allow");
	size.took(256, 100);
	check(size.items() == BatchSize::most, "never more");
	size.took(256, 4000);
	check(size.items() == 64, "shrinks at once", std::to_string(size.items()));
	size.took(64, 10);
	check(size.items() == 128, "grows twofold at most", std::to_string(size.items()));
	size.took(1, 60000);
	check(size.items() == 1, "never less than one", std::to_string(size.items()));
	size.took(0, 10);
	size.took(1, 0);
	check(size.items() == 1, "nothing is learnt from nothing");
}

void patterns() {
	const auto broken = [](int attempted, int failed, const char *other = nullptr) {
		FailurePattern pattern;
		pattern.attempted("a", attempted);
		for (int i = 0; i < failed; ++i)
			pattern.failed("a", other != nullptr && i % 2 == 1 ? other : "53100");
		return pattern.broken() != nullptr;
	};
	check(broken(20, 18), "nine tenths of twenty");
	check(!broken(20, 17), "fewer than nine tenths");
	check(!broken(19, 19), "fewer than twenty");
	check(!broken(100, 100, "P0001"), "two SQLSTATEs");
	FailurePattern pattern;
	pattern.attempted("a", 100);
	pattern.attempted("b", 20);
	for (int i = 0; i < 20; ++i)
		pattern.failed("b", "42P01");
	const auto *const found = pattern.broken();
	check(found != nullptr && found->first == "b" && found->second == "42P01", "says which step and SQLSTATE");
	FailurePattern later;
	later.ignore({"10", "7"});
	check(!later.counts("10") && !later.counts("7"), "what failed in an earlier run does not count");
	check(later.counts("1") && later.counts("8"), "everything else does");
}

void narration() {
	const Decision ok{"42", "price", Status::ok, "", true};
	const Decision skipped{"42", "price", Status::skipped, "no_report", false};
	const Decision failed{"42", "price", Status::failed, "unreadable", false};
	check(is_told(Narrate::all, skipped) && is_told(Narrate::all, ok) && is_told(Narrate::all, failed), "all");
	check(!is_told(Narrate::changes, skipped) && is_told(Narrate::changes, ok) && is_told(Narrate::changes, failed),
	      "changes and failures");
	check(!is_told(Narrate::none, failed) && !is_told(Narrate::none, ok), "none");
	check(line_of("leads", 7, failed) == "leads run=7 item=42 step=price status=failed reason=unreadable", "a line",
	      line_of("leads", 7, failed));
	Decision forged = ok;
	forged.item = "4\n2\x1b[31m";
	check(line_of("leads", 7, forged) == "leads run=7 item=4?2?[31m step=price status=ok", "a key cannot end a line or talk to a terminal",
	      line_of("leads", 7, forged));
	check(line_of("leads", 7, ok) == "leads run=7 item=42 step=price status=ok", "a line without a reason",
	      line_of("leads", 7, ok));
}

} // namespace

int main() {
	verdicts();
	tallies();
	batch_sizes();
	patterns();
	narration();
	std::printf("1..%d\n", number);
	return failures > 0;
}
