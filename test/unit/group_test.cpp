// The gate of a balance transfer, loan groups, reasons and totals.

#include <algorithm>
#include <limits>

#include "bureau/summary.hpp"
#include "loan.hpp"
#include "tap.hpp"

using namespace bureau;
using loan::day;
using loan::home;
using loan::rupees;
using tap::check;
using tap::check_equal;

namespace {

std::vector<const Tradeline *> pointers(const std::vector<Tradeline> &loans) {
	std::vector<const Tradeline *> all;
	for (const Tradeline &one : loans)
		all.push_back(&one);
	return all;
}

Summary summary(const std::vector<Tradeline> &loans, const Policy &policy = {}, std::optional<Date> report_day = std::nullopt) {
	return summary_of(pointers(loans), policy, report_day);
}

std::string reason(const std::vector<Tradeline> &loans, const Policy &policy = {}) { return summary(loans, policy).grouping.reason; }

Tradeline changed(auto change) {
	Tradeline t = home();
	change(t);
	return t;
}

Tradeline lap(const std::string &lender = "SBI") {
	Tradeline t = home(lender, "XXXX3001", 700'000 * rupees);
	t.account_type = 3;
	return t;
}

const auto closed = [](Tradeline &t) { t.status = StatusClass::closed; t.status_code = "13"; };
const auto adverse = [](Tradeline &t) { t.status = StatusClass::open_adverse; t.status_code = "97"; };
const auto unknown = [](Tradeline &t) { t.status = StatusClass::unknown; t.status_code.clear(); };
const auto guarantor = [](Tradeline &t) { t.holder = Holder::guarantor; };
const auto repaid = [](Tradeline &t) { t.balance = 0; };
const auto card = [](Tradeline &t) { t.account_type = 10; };

} // namespace

TEST("home loan, top-up and property loan of one lender are one group") {
	Tradeline topup = home("LIC HOUSING FINANCE LTD", "XXXX2", 500 * rupees), main = home("LIC Housing Finance Limited", "XXXX1", 3000 * rupees);
	topup.sanctioned = 600 * rupees;
	const Summary s = summary({lap("LIC HFL"), topup, main});
	check_equal(s.grouping.groups.size(), 1u, "groups");
	const LoanGroup &group = s.grouping.groups[0];
	check_equal(group.lender, "LIC HOUSING FINANCE", "lender");
	check(group.members == std::vector<GroupMember>{{2, Role::primary}, {1, Role::topup}, {0, Role::lap}}, "roles");
	check_equal(group.outstanding, 703'500 * rupees, "outstanding with the property loan");
	check_equal(s.home_loan_outstanding, 3'500 * rupees, "home loans alone");
	check_equal(s.active_home_loans, 2, "active home loans");
	check_equal(s.grouping.reason, "", "no reason");
}

TEST("of two home loans of one amount the older is primary") {
	Tradeline old = home("SBI", "XXXX1002");
	old.opened = day(2015, 1, 1);
	check(summary({home(), old}).grouping.groups[0].members.front() == GroupMember{1, Role::primary}, "older");
}

TEST("another lender is another group, and a property loan of a third joins none") {
	const Summary s = summary({home("SBI"), home("Tata Capital"), lap("Bajaj Housing Finance")});
	check_equal(s.grouping.groups.size(), 2u, "groups");
	check(s.grouping.groups[0].lender == "STATE BANK OF INDIA" && s.grouping.groups[1].lender == "TATA CAPITAL", "in the order of the loans");
	check_equal(s.total_outstanding, 2'700'000 * rupees, "total");
	check_equal(summary({home("HDFC Ltd"), home("HDFC Bank")}).grouping.groups.size(), 1u, "a merged lender is the same");
}

TEST("masked and absent lenders never group") {
	for (const char *name : {"XXXXXXXXXX", ""}) {
		const Summary s = summary({home(name), lap(name), home(name)});
		check_equal(s.grouping.groups.size(), 2u, "groups");
		for (const LoanGroup &group : s.grouping.groups)
			check(group.members.size() == 1 && group.lender.empty() && group.lender_masked == (*name != 0), "of one loan, without a name");
	}
}

TEST("each reason alone") {
	check_equal(reason({}), "no_accounts", "nothing");
	check_equal(reason({changed(card)}), "no_active_home_loan", "card");
	check_equal(reason({lap()}), "lap_only", "property loan");
	check_equal(reason({changed(closed)}), "only_closed", "closed");
	check_equal(reason({changed([](Tradeline &t) { t.status = StatusClass::over; t.status_code = "32"; })}), "only_closed", "settled");
	check_equal(reason({changed(adverse)}), "only_adverse", "adverse");
	check_equal(reason({changed(unknown)}), "status_unknown", "no status");
	check_equal(reason({changed(guarantor)}), "not_own_liability", "guarantor");
	check_equal(reason({changed(repaid)}), "zero_outstanding", "no balance");
	check_equal(reason({changed([](Tradeline &t) { t.balance = -100; })}), "zero_outstanding", "credit balance");
	check_equal(reason({changed([](Tradeline &t) { t.balance = 0; t.status_code = "0"; t.status = StatusClass::unknown; })}), "zero_outstanding", "status 0, no balance");
	check_equal(reason({changed([](Tradeline &t) { t.balance.reset(); })}), "zero_outstanding", "absent balance");
}

TEST("of several reasons the one nearest to a transfer wins") {
	const std::vector<Tradeline> nearest_first{changed(repaid), changed(unknown), changed(adverse), lap(), changed(closed), changed(guarantor), changed(card)};
	const char *reasons[] = {"zero_outstanding", "status_unknown", "only_adverse", "lap_only", "only_closed", "not_own_liability", "no_active_home_loan"};
	for (std::size_t first = 0; first < nearest_first.size(); ++first) {
		std::vector<Tradeline> rest(nearest_first.begin() + static_cast<std::ptrdiff_t>(first), nearest_first.end());
		check_equal(reason(rest), reasons[first], reasons[first]);
		std::ranges::reverse(rest);
		check_equal(reason(rest), reasons[first], "reversed");
	}
	check_equal(reason({changed(repaid), home()}), "", "and none if one passes");
}

TEST("what fires without a switch: every home loan type, joint, days past due, status 0, unlisted status") {
	for (const int type : {2, 42, 44})
		check_equal(reason({changed([&](Tradeline &t) { t.account_type = type; })}), "", "type " + std::to_string(type));
	for (const char *code : {"0", "11", "71", "84", "999", "Current Account"})
		check_equal(reason({changed([&](Tradeline &t) { t.status_code = code; })}), "", code);
	check_equal(reason({changed([](Tradeline &t) { t.holder = Holder::joint; })}), "", "joint");
	for (const Holder holder : {Holder::authorised_user, Holder::guarantor, Holder::deceased})
		check_equal(reason({changed([&](Tradeline &t) { t.holder = holder; })}), "not_own_liability", "others do not");
}

TEST("each switch changes one answer") {
	const auto with = [](auto change) {
		Policy policy;
		change(policy);
		return policy;
	};
	const auto status = [](const char *code) { return std::vector{changed([&](Tradeline &t) { t.status_code = code; })}; };
	const auto holder = [](Holder h) { return std::vector{changed([&](Tradeline &t) { t.holder = h; })}; };
	check_equal(reason({lap()}, with([](Policy &p) { p.property_loan_fires = true; })), "", "property loan");
	check_equal(reason({home()}, with([](Policy &p) { p.home_loan_types = {42}; })), "no_active_home_loan", "types");
	check_equal(reason(status("999"), with([](Policy &p) { p.unlisted_status_fires = false; })), "status_unknown", "unlisted");
	check_equal(reason(status("0"), with([](Policy &p) { p.zero_status_fires = false; })), "status_unknown", "status 0");
	check_equal(reason(status("71"), with([](Policy &p) { p.past_due_status_fires = false; })), "only_adverse", "days past due");
	check_equal(reason({changed(unknown)}, with([](Policy &p) { p.missing_status_fires = true; })), "", "missing status");
	check_equal(reason({changed(adverse)}, with([](Policy &p) { p.open_adverse_fires = true; })), "", "adverse");
	check_equal(reason(holder(Holder::joint), with([](Policy &p) { p.joint_fires = false; })), "not_own_liability", "joint");
	check_equal(reason(holder(Holder::guarantor), with([](Policy &p) { p.guarantor_fires = true; })), "", "guarantor");
	check_equal(reason(holder(Holder::authorised_user), with([](Policy &p) { p.authorised_user_fires = true; })), "", "authorised user");
	check_equal(reason(holder(Holder::deceased), with([](Policy &p) { p.deceased_fires = true; })), "", "deceased");
	check_equal(reason(holder(Holder::unknown), with([](Policy &p) { p.unknown_holder_fires = false; })), "not_own_liability", "unknown holder");
	check_equal(reason({home()}, with([](Policy &p) { p.outstanding_above = 1'000'000 * rupees; })), "zero_outstanding", "amount needed");
}

TEST("a home loan not reported for more than a year is found, with a warning") {
	const Date report = day(2026, 11, 25);
	const auto reported = [](Date when) { return std::vector{changed([&](Tradeline &t) { t.reported = when; })}; };
	check(summary(reported(day(2025, 11, 25)), {}, report).grouping.warnings.empty(), "a year");
	const Grouping stale = summary(reported(day(2025, 11, 24)), {}, report).grouping;
	check(stale.groups.size() == 1 && stale.warnings == std::vector<Warning>{{"tradeline_stale", "reported"}}, "a year and a day");
	Policy strict;
	strict.stale_fires = false;
	check_equal(summary(reported(day(2025, 11, 24)), strict, report).grouping.reason, "only_stale", "unless the policy says otherwise");
}

TEST("totals") {
	std::vector<Tradeline> loans{home(), changed(closed), changed(adverse), changed(unknown), changed(card)};
	loans[4].balance = -187 * rupees;
	const Summary s = summary(loans);
	check_equal(s.loans, 5, "loans");
	check_equal(s.open, 3, "open");
	check_equal(s.active_home_loans, 1, "active home loans");
	check_equal(s.home_loan_outstanding, 1'000'000 * rupees, "home loan outstanding");
	check_equal(s.total_outstanding, 3'000'000 * rupees, "closed and credit balances count nothing");
	Tradeline huge = home();
	huge.balance = std::numeric_limits<Paise>::max();
	check_equal(summary({huge, huge}).total_outstanding, std::numeric_limits<Paise>::max(), "sums do not wrap");
}

int main() { return tap::run(); }
