// Which report of one bureau and one mobile speaks for the borrower.

#include <algorithm>
#include <array>

#include "bureau/best_report.hpp"
#include "tap.hpp"

using namespace bureau;
using tap::check;
using tap::check_equal;

TEST("hit, completeness, report time, arrival, id: in this order, whatever the order of the reports") {
	// Best first; each later one is better in everything that counts less.
	std::array<ReportRank, 7> ranked{{
		{.hit = true, .complete = true, .report_unix_ms = 200, .received = 10, .id = 2},
		{.hit = true, .complete = true, .report_unix_ms = 200, .received = 10, .id = 1},
		{.hit = true, .complete = true, .report_unix_ms = 200, .received = 5, .id = 3},
		{.hit = true, .complete = true, .report_unix_ms = 100, .received = 20, .id = 4},
		{.hit = true, .complete = true, .report_unix_ms = std::nullopt, .received = 30, .id = 5},
		{.hit = true, .complete = false, .report_unix_ms = 300, .received = 40, .id = 6},
		{.hit = false, .complete = true, .report_unix_ms = 400, .received = 50, .id = 7},
	}};
	const auto expected = ranked;
	std::array<std::size_t, 7> order{0, 1, 2, 3, 4, 5, 6};
	do {
		for (std::size_t i = 0; i < order.size(); ++i)
			ranked[i] = expected[order[i]];
		check_equal(ranked[best_report(ranked).value()].id, 2, "best");
	} while (std::ranges::next_permutation(order).found);
	for (std::size_t a = 0; a < expected.size(); ++a)
		for (std::size_t b = 0; b < expected.size(); ++b)
			check_equal(is_better(expected[a], expected[b]), a < b, std::to_string(a) + " and " + std::to_string(b));
	check(!best_report({}), "no reports");
}

int main() { return tap::run(); }
