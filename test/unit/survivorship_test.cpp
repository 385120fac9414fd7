// One loan in several bureaus: whose word about it survives.

#include "unified.hpp"

using namespace bureau;
using loan::day;
using loan::home;
using loan::lost;
using loan::reading;
using loan::rupees;
using loan::source_of;
using loan::unified;
using tap::check;

TEST("a bureau that says closed after the others' reports wins, with its balance") {
	Tradeline open = home(), closed = home();
	closed.status = StatusClass::closed;
	closed.status_code = "13";
	closed.balance = 0;
	closed.reported = day(2026, 10, 15); // before the other's
	closed.closed = day(2026, 10, 31);
	const auto merged = [&] { return unified({reading(Bureau::experian, {open}), reading(Bureau::cibil, {closed})}).loans.at(0); };
	UnifiedLoan one = merged();
	check(one.facts.status == StatusClass::closed && one.facts.balance == 0 && one.facts.closed == day(2026, 10, 31), "closed on the other's reporting day");
	check(source_of(one, "status") == Bureau::cibil && lost(one, "status", Bureau::experian, "active") && lost(one, "balance", Bureau::experian, "1000000.00"), "the other is kept");
	closed.closed = day(2026, 10, 30);
	one = merged();
	check(one.facts.status == StatusClass::active && one.facts.balance == 1'000'000 * rupees && !one.facts.closed, "a later report says it goes on");
	check(lost(one, "closed", Bureau::cibil, "2026-10-30") && lost(one, "status", Bureau::cibil, "closed"), "the closing is kept");
	closed.closed.reset();
	check(merged().facts.status == StatusClass::active, "closed without a day, reported earlier");
	closed.reported = day(2026, 11, 15);
	check(merged().facts.status == StatusClass::closed, "closed without a day, reported later");
	closed.status = StatusClass::unknown;
	check(merged().facts.status == StatusClass::active, "a later report without a status says nothing");
}


TEST("a masked lender takes the name another bureau gives") {
	const UnifiedLoan one = unified({reading(Bureau::experian, {home("XXXXXXXX", "XXXX1001")}), reading(Bureau::cibil, {home("HDFC Ltd", "XXXX1001")})}).loans.at(0);
	check(one.facts.lender == "HDFC" && one.facts.lender_family == "HDFC BANK" && !one.facts.lender_masked && source_of(one, "lender") == Bureau::cibil, "name");
	const UnifiedLoan masked = unified({reading(Bureau::experian, {home("XXXXXXXX", "XXXX1001")}), reading(Bureau::cibil, {home("XXXXXXXX", "XXXX1001")})}).loans.at(0);
	check(masked.facts.lender.empty() && masked.facts.lender_masked && masked.members.size() == 2, "masked everywhere");
}


TEST("history month by month") {
	Tradeline a = home(), b = home();
	a.history = {{2026, 10, 0}, {2026, 9, std::nullopt}, {2026, 8, 0}};
	b.reported = day(2026, 9, 30);
	b.history = {{2026, 9, 12}, {2026, 8, 30}, {2026, 7, 0}};
	const UnifiedLoan one = unified({reading(Bureau::experian, {a}), reading(Bureau::cibil, {b})}).loans.at(0);
	check(one.facts.history == std::vector<HistoryMonth>{{2026, 10, 0}, {2026, 9, 12}, {2026, 8, 0}, {2026, 7, 0}}, "the latest report that knows the month");
	check(lost(one, "history", Bureau::cibil, "2026-08 30"), "the other is kept");
}


int main() { return tap::run(); }
