// One borrower in several bureaus: which loans are the same, and whose they are.

#include <algorithm>
#include <limits>
#include <random>

#include "bureau/balance_transfer.hpp"
#include "bureau/codes.hpp"
#include "bureau/merge.hpp"
#include "bureau/summary.hpp"
#include "core/error.hpp"
#include "unified.hpp"

using namespace bureau;
using loan::day;
using loan::home;
using loan::reading;
using loan::rupees;
using loan::unified;
using loan::source_of;
using loan::lost;
using tap::check;
using tap::check_equal;

namespace {

std::size_t loans_of_two(const Tradeline &a, const Tradeline &b) { return unified({reading(Bureau::experian, {a}), reading(Bureau::cibil, {b})}).loans.size(); }

Tradeline hdfc_home(const std::string &lender, const std::string &number) {
	Tradeline t = home(lender, number, 3'890'000 * rupees);
	t.opened = day(2019, 6, 10);
	t.sanctioned = 4'500'000 * rupees;
	t.holder = Holder::joint;
	t.tenure_months = 240;
	return t;
}

Tradeline with_terms(Tradeline t) {
	t.rate_basis_points = 860;
	t.emi = 38'940 * rupees;
	return t;
}

Tradeline hdfc_card(const std::string &number, Paise balance, Date reported) {
	Tradeline t = home("HDFC Bank", number, balance);
	t.account_type = 10;
	t.opened = day(2021, 8, 10);
	t.sanctioned = 61'200 * rupees;
	t.reported = reported;
	return t;
}

Tradeline closed_loan(const std::string &lender, const std::string &number, int type, Paise amount, Date opened, Date closed, Date reported) {
	Tradeline t = home(lender, number, 0);
	t.account_type = type;
	t.sanctioned = amount;
	t.opened = opened;
	t.closed = closed;
	t.reported = reported;
	t.status = StatusClass::closed;
	return t;
}

// The same home loan in four bureaus, a card in two, and two closed loans in one each.
std::vector<Reading> four_bureaus() {
	Tradeline experian = hdfc_home("HDFC Bank Ltd", "XXXXXXXX4001"), cibil = with_terms(hdfc_home("HDFC BANK", "600000004001"));
	Tradeline equifax = with_terms(hdfc_home("HDFC Bank Limited", "000600000004001")), crif = with_terms(hdfc_home("HDFC BANK LTD", "XXXXXXXX4001"));
	experian.holder = Holder::individual;
	cibil.opened = day(2019, 6, 12);
	equifax.balance = 3'905'000 * rupees;
	equifax.reported = day(2026, 9, 30);
	std::vector<Reading> all{
		reading(Bureau::experian, {experian, hdfc_card("XXXXXXXXXXXX4002", 18'450 * rupees, day(2026, 10, 31))}),
		reading(Bureau::cibil, {cibil, hdfc_card("XXXX4002", 20'110 * rupees, day(2026, 11, 15)),
			closed_loan("NOT DISCLOSED", "XXXX4003", 13, 90'000 * rupees, day(2022, 5, 5), day(2024, 5, 7), day(2024, 5, 31))}),
		reading(Bureau::equifax, {equifax, closed_loan("Bajaj Finance Limited", "P000004004", 6, 30'000 * rupees, day(2024, 2, 1), day(2025, 1, 5), day(2025, 1, 31))}),
		reading(Bureau::crif, {crif})};
	const int scores[] = {768, 774, 771, 760};
	for (std::size_t i = 0; i < all.size(); ++i)
		all[i].score = scores[i];
	return all;
}

} // namespace

TEST("a home loan known to four bureaus counts once") {
	const UnifiedReport report = unified(four_bureaus());
	check_equal(report.loans.size(), 4u, "loans");
	const Summary s = summary_of(facts_of(report), {});
	check_equal(s.active_home_loans, 1, "active home loans");
	check_equal(s.total_outstanding, 3'910'110 * rupees, "total");
	check(s.grouping.groups.size() == 1 && s.grouping.groups[0].lender == "HDFC BANK" && s.grouping.groups[0].outstanding == 3'890'000 * rupees, "group");
	check(report.scores == std::vector<BureauScore>{{Bureau::experian, 768}, {Bureau::cibil, 774}, {Bureau::equifax, 771}, {Bureau::crif, 760}}, "scores stay apart");
	const UnifiedLoan &home_loan = report.loans[0];
	const Tradeline &facts = home_loan.facts;
	check_equal(home_loan.members.size(), 4u, "bureaus");
	check(facts.opened == day(2019, 6, 10) && lost(home_loan, "opened", Bureau::cibil, "2019-06-12"), "three bureaus' opening day, and CIBIL's is kept");
	check(facts.balance == 3'890'000 * rupees && lost(home_loan, "balance", Bureau::equifax, "3905000.00"), "the latest balance");
	check(facts.holder == Holder::joint && lost(home_loan, "holder", Bureau::experian, "individual"), "holder");
	check(facts.rate_basis_points == 860 && source_of(home_loan, "rate") == Bureau::cibil, "rate");
	check(facts.emi == 38'940 * rupees && facts.tenure_months == 240 && source_of(home_loan, "tenure") == Bureau::experian, "EMI and tenure");
	check(facts.sanctioned == 4'500'000 * rupees && facts.number_tail == "600000004001" && facts.lender == "HDFC BANK", "amount, number, lender");
	check_equal(home_loan.disagreements.size(), 4u, "opened, balance, holder, reported");
	check(lost(home_loan, "reported", Bureau::equifax, "2026-09-30"), "reported");
	const UnifiedLoan &card = report.loans[1];
	check(card.facts.balance == 20'110 * rupees && source_of(card, "balance") == Bureau::cibil && card.members.size() == 2, "card");
	check(report.loans[2].members == std::vector<LoanMember>{{Bureau::cibil, 3}} && report.loans[3].members == std::vector<LoanMember>{{Bureau::equifax, 2}}, "the others stay alone");
}

TEST("neither the order of reports nor that of accounts changes anything") {
	std::vector<Reading> readings = four_bureaus();
	// Loans that are hard to tell apart: two pairs of twins, and loans without a number.
	for (Reading &one : readings)
		for (const char *number : {"XXXX7001", "XXXX7002", "XXXXXXXX", "XXXXXXXX"}) {
			one.tradelines.push_back(home("SBI", number, 100 + static_cast<Paise>(one.tradelines.size())));
			one.tradelines.back().position = static_cast<int>(one.tradelines.size());
		}
	const UnifiedReport expected = unified(readings);
	check_equal(expected.loans.size(), 8u, "loans");
	std::mt19937 random(20261129);
	for (int round = 0; round < 300; ++round) {
		std::ranges::shuffle(readings, random);
		for (Reading &one : readings)
			std::ranges::shuffle(one.tradelines, random);
		check(unified(readings) == expected, "round " + std::to_string(round));
	}
}

TEST("gates: class, amount within 1 %, opened within 31 days") {
	const Tradeline base = home("SBI", "XXXX1001");
	const auto changed = [&](auto change) {
		Tradeline t = base;
		change(t);
		return loans_of_two(base, t);
	};
	check_equal(changed([](Tradeline &) {}), 1u, "equal");
	check_equal(changed([](Tradeline &t) { t.account_type = 44; }), 1u, "another housing type");
	check_equal(changed([](Tradeline &t) { t.account_type = 3; }), 2u, "another class");
	check_equal(changed([](Tradeline &t) { t.account_type.reset(); }), 2u, "no type");
	check_equal(changed([](Tradeline &t) { t.sanctioned = 3'465'000 * rupees; }), 1u, "1 % less");
	check_equal(changed([](Tradeline &t) { t.sanctioned = 3'464'999 * rupees; }), 2u, "more than 1 % less");
	check_equal(changed([](Tradeline &t) { t.sanctioned.reset(); }), 1u, "no amount");
	check_equal(changed([](Tradeline &t) { t.sanctioned = 0; }), 1u, "amount 0");
	check_equal(changed([](Tradeline &t) { t.opened = day(2019, 7, 16); }), 1u, "31 days");
	check_equal(changed([](Tradeline &t) { t.opened = day(2019, 7, 17); }), 2u, "32 days");
	check_equal(changed([](Tradeline &t) { t.opened.reset(); }), 2u, "no day");
	check_equal(changed([](Tradeline &t) { t.sanctioned = std::numeric_limits<Paise>::min(); }), 1u, "an amount that is none");
}

TEST("evidence: two of number, lender and day") {
	struct Case {
		const char *number, *lender;
		Date opened;
		std::size_t loans;
	};
	const Case cases[] = {
		{"XXXX1001", "HDFC Bank", day(2019, 6, 15), 1}, {"XXXX1001", "SBI", day(2019, 6, 20), 1},  {"XXXX9999", "SBI", day(2019, 6, 15), 1},
		{"XXXX9999", "HDFC Bank", day(2019, 6, 15), 2}, {"XXXX9999", "SBI", day(2019, 6, 20), 2},  {"XXXX1001", "HDFC Bank", day(2019, 6, 20), 2},
		{"XXXX1001", "XXXXXXX", day(2019, 6, 15), 1},   {"XXXXXXXX", "XXXXXXX", day(2019, 6, 15), 2}, {"0012341001", "Axis Bank", day(2019, 6, 15), 1},
		{"0012341002", "Axis Bank", day(2019, 6, 15), 2},
	};
	for (const Case &c : cases) {
		Tradeline other = home(c.lender, c.number);
		other.opened = c.opened;
		check_equal(loans_of_two(home("SBI", "XXXX1001"), other), c.loans, std::string(c.number) + " " + c.lender);
	}
	Tradeline masked = home("XXXXXXXX", "XXXXXXXX");
	check_equal(loans_of_two(masked, masked), 2u, "two masked loans of one day are two");
}

TEST("twin loans find their twins, and never two of one bureau become one") {
	std::vector<Tradeline> twins{home("SBI", "XXXX7001", 100), home("SBI", "XXXX7002", 200)};
	std::vector<Tradeline> others{home("SBI", "XXXX7002", 200), home("SBI", "XXXX7001", 100)};
	const UnifiedReport report = unified({reading(Bureau::experian, twins), reading(Bureau::crif, others)});
	check_equal(report.loans.size(), 2u, "loans");
	for (const UnifiedLoan &one : report.loans)
		check(one.disagreements.empty() && one.members.size() == 2, "each with its twin");
	check(report.loans[0].id != report.loans[1].id, "ids");
}

TEST("the strongest matches come first, whatever the order of the numbers") {
	const std::vector<Tradeline> masked{home("SBI", "XXXX7002", 200), home("SBI", "XXXX9001", 100)};
	const std::vector<Tradeline> plain{home("SBI", "119001", 100), home("SBI", "227002", 200)};
	for (const UnifiedLoan &one : unified({reading(Bureau::experian, masked), reading(Bureau::crif, plain)}).loans)
		check(one.disagreements.empty() && one.members.size() == 2, "each with its own number");
}

TEST("a chain of small differences does not join what the gates keep apart") {
	Tradeline a = home("SBI", "XXXX1001"), b = a, c = a;
	b.opened = day(2019, 7, 10);
	c.opened = day(2019, 8, 5);
	const UnifiedReport report = unified({reading(Bureau::experian, {a}), reading(Bureau::cibil, {b}), reading(Bureau::equifax, {c})});
	check_equal(report.loans.size(), 2u, "loans");
}

TEST("duplicates inside one report are told apart before the bureaus are compared") {
	Tradeline old = home("SBI", "1001", 900 * rupees);
	old.reported = day(2026, 9, 30);
	const UnifiedReport report = unified({reading(Bureau::experian, {old, home("SBI", "1001", 800 * rupees)}), reading(Bureau::cibil, {home("SBI", "1001", 800 * rupees)})});
	check(report.loans.size() == 1 && report.loans[0].facts.balance == 800 * rupees && report.loans[0].disagreements.empty(), "one loan, newest month");
}

TEST("ids: the same while a loan is repaid, another for another loan") {
	const auto id = [](Tradeline t) { return unified({reading(Bureau::experian, {std::move(t)})}).loans.at(0).id; };
	Tradeline t = home();
	const std::string first = id(t);
	check_equal(first.size(), 32u, "digits");
	check_equal(first, "69800f1d43d44727a425c8d0006471db", "in every release");
	t.balance = 5;
	t.reported = day(2026, 11, 30);
	loan::set_lender(t, "HDFC Bank");
	check_equal(id(t), first, "repaid and transferred");
	t.sanctioned = 3'500'001 * rupees;
	check(id(t) != first, "another amount");
}

TEST("masking every lender never makes groups fewer") {
	std::mt19937 random(11);
	const char *lenders[] = {"SBI", "HDFC Bank", "Axis Bank"};
	const Bureau bureaus[] = {Bureau::experian, Bureau::cibil, Bureau::crif};
	for (int round = 0; round < 500; ++round) {
		std::vector<Reading> readings;
		for (const Bureau bureau : bureaus) {
			std::vector<Tradeline> t;
			for (int i = 0; i < 3; ++i) {
				t.push_back(home(lenders[random() % 3], random() % 2 ? "XXXX1001" : "XXXX1002"));
				t.back().opened = day(2019, 6, 15 + static_cast<int>(random() % 3));
				t.back().account_type = random() % 4 ? 2 : 3;
			}
			readings.push_back(reading(bureau, t));
		}
		const auto groups = [&] { return summary_of(facts_of(unified(readings)), {}).grouping.groups.size(); };
		const std::size_t named = groups();
		for (Reading &one : readings)
			for (Tradeline &t : one.tradelines)
				loan::set_lender(t, "NOT DISCLOSED");
		check(groups() >= named, "round " + std::to_string(round));
	}
}

TEST("identities, and reports that say nothing") {
	std::vector<Reading> readings = four_bureaus();
	readings[0].pan = readings[1].pan = "AAAPN0040A";
	check(unified(readings).warnings.empty(), "one PAN");
	readings[2].pan = "AAAPN0041A";
	const UnifiedReport mixed = unified(readings);
	check(mixed.warnings == std::vector<Warning>{{"identity_mismatch", "pan"}}, "two PANs");
	check(decide_transfer(mixed, {}).candidates.size() == 1, "only warned of");
	Policy strict;
	strict.identity_mismatch_fires = false;
	check_equal(decide_transfer(mixed, strict).reason, "identity_mismatch", "unless the policy says otherwise");

	Reading no_hit = reading(Bureau::cibil, {}), empty = reading(Bureau::experian, {}), failed = reading(Bureau::crif, {home()});
	no_hit.outcome = empty.outcome = Outcome::skipped;
	no_hit.reason = "no_hit";
	empty.reason = "no_accounts";
	failed.outcome = Outcome::failed;
	check_equal(unified({}).reason, "no_report", "none");
	check_equal(unified({failed}).reason, "no_report", "failed");
	check_equal(unified({no_hit}).reason, "no_hit", "no hit");
	check_equal(unified({no_hit, empty}).reason, "no_accounts", "known to one bureau");
	no_hit.bureau.reset();
	Reading other_name = no_hit;
	other_name.reason = "name_not_found";
	check_equal(unified({no_hit, no_hit, other_name}).reason, "no_hit", "no-hits that name no bureau");
	check_equal(unified({other_name}).reason, "name_not_found", "not by this name");
	check_equal(decide_transfer(unified({no_hit}), {}).reason, "no_hit", "the decision says the same");
	try {
		unified({reading(Bureau::cibil, {}), reading(Bureau::cibil, {})});
		check(false, "two reports of one bureau are refused");
	} catch (const backfill::core::Error &e) {
		check(e.code() == backfill::core::ErrorCode::invalid_argument, "error code");
	}
}

TEST("a decision: facts of each member, the lowest score") {
	const TransferDecision decision = decide_transfer(unified(four_bureaus()), {});
	check(decision.reason.empty() && decision.candidates.size() == 1 && decision.candidates[0].eligibility.size() == 1, "one candidate");
	const Eligibility &facts = decision.candidates[0].eligibility[0];
	check(facts.score == 760 && facts.seasoning_months == 89 && facts.tenure_left_months == 151 && facts.rate_basis_points == 860 && !facts.rate_inferred, "facts");
	check(facts.missing == std::vector<std::string>{"days_past_due"}, "missing");
}

TEST("hostile numbers of equal loans are bounded") {
	std::vector<Reading> readings;
	for (const Bureau bureau : {Bureau::experian, Bureau::cibil, Bureau::equifax, Bureau::crif}) {
		std::vector<Tradeline> t(600, home());
		for (std::size_t i = 0; i < t.size(); ++i)
			loan::set_number(t[i], "XXXX" + std::to_string(1000 + i));
		readings.push_back(reading(bureau, t));
	}
	check_equal(unified(readings).loans.size(), 500u + 4 * 100u, "matched up to the bound, apart beyond it");
}

int main() { return tap::run(); }
