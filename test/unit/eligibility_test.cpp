// Annuity arithmetic, and the facts beside the gate.

#include <cmath>
#include <limits>

#include "bureau/amortization.hpp"
#include "bureau/eligibility.hpp"
#include "loan.hpp"
#include "tap.hpp"

using namespace bureau;
using loan::day;
using loan::home;
using loan::rupees;
using tap::check;
using tap::check_equal;

namespace {

long double payment_by_formula(Paise principal, int rate, int months) {
	const long double r = rate / 120'000.0L, growth = std::pow(1 + r, static_cast<long double>(months));
	return static_cast<long double>(principal) * r * growth / (growth - 1);
}

long double balance_by_formula(Paise principal, int rate, int months, int paid) {
	const long double r = rate / 120'000.0L, whole = std::pow(1 + r, static_cast<long double>(months)), part = std::pow(1 + r, static_cast<long double>(paid));
	return static_cast<long double>(principal) * (whole - part) / (whole - 1);
}

const Date report = day(2026, 11, 25);

} // namespace

TEST("payments known from elsewhere") {
	check_equal(monthly_payment(100'000 * rupees, 1200, 12).value(), 888'488, "1 lakh, 12 %, 12 months: 8884.88");
	check_equal(monthly_payment(4'500'000 * rupees, 860, 240).value(), 3'933'732, "45 lakh, 8.6 %, 20 years: 39337.32");
	check_equal(balance_after(100'000 * rupees, 1200, 12, 0).value(), 10'000'000, "nothing paid");
	check_equal(balance_after(100'000 * rupees, 1200, 12, 12).value(), 0, "all paid");
	check_equal(monthly_payment(100, 1, 1).value(), 100, "the smallest rate");
}

TEST("integers agree with the formula to the paisa") {
	for (const Paise principal : {50'000 * rupees, 3'500'000 * rupees, 1'000'000'000 * rupees})
		for (const int rate : {500, 731, 860, 1250, 1800})
			for (const int months : {12, 60, 240, 360}) {
				const std::string what = std::to_string(principal) + " " + std::to_string(rate) + " " + std::to_string(months);
				check(std::fabs(static_cast<long double>(monthly_payment(principal, rate, months).value()) - payment_by_formula(principal, rate, months)) < 0.51L, "payment " + what);
				for (int paid = 1; paid < months; paid += 7)
					check(std::fabs(static_cast<long double>(balance_after(principal, rate, months, paid).value()) - balance_by_formula(principal, rate, months, paid)) < 0.51L,
						"balance " + what + " after " + std::to_string(paid));
			}
}

TEST("a rate comes back from the balance it led to") {
	for (const int rate : {500, 501, 860, 915, 1799, 1800})
		for (const int paid : {6, 12, 89, 200}) {
			const Paise principal = 3'500'000 * rupees, balance = balance_after(principal, rate, 240, paid).value();
			check_equal(infer_rate(principal, balance, 240, paid).value_or(0), rate, std::to_string(rate) + " after " + std::to_string(paid));
			check_equal(infer_rate(principal, balance / rupees * rupees, 240, paid).value_or(0), rate, "whole rupees");
		}
}

TEST("no rate where the formula does not hold") {
	const Paise principal = 3'500'000 * rupees;
	check(!infer_rate(principal, balance_after(principal, 490, 240, 60).value(), 240, 60), "below 5 %");
	check(!infer_rate(principal, balance_after(principal, 1810, 240, 60).value(), 240, 60), "above 18 %");
	check(!infer_rate(principal, 100 * rupees, 240, 60), "prepaid");
	check(!infer_rate(principal, principal, 240, 60) && !infer_rate(principal, principal + 1, 240, 60), "nothing repaid");
	check(!infer_rate(principal, 0, 240, 60) && !infer_rate(principal, -1, 240, 60), "nothing owed");
	check(!infer_rate(principal, 1'000'000 * rupees, 240, 0) && !infer_rate(principal, 1'000'000 * rupees, 240, 240), "before the first and after the last payment");
	check(!infer_rate(principal, 1'000'000 * rupees, 240, -3) && !infer_rate(principal, 1'000'000 * rupees, 0, 0), "nonsense");
	constexpr Paise most = std::numeric_limits<Paise>::max();
	check(!infer_rate(most, most - 1, 240, 60) && !monthly_payment(most, 860, 240) && !balance_after(most, 860, 240, 1), "beyond bounds");
	check(!monthly_payment(principal, 0, 240) && !monthly_payment(principal, -1, 240) && !monthly_payment(principal, 860, 1201), "more nonsense");
	check(monthly_payment(1'000'000'000'000'000, 10'000, 1'200).has_value(), "at the bounds");
}

TEST("facts of a loan that tells everything") {
	Tradeline t = home();
	t.opened = day(2019, 6, 26);
	t.rate_basis_points = 860;
	t.tenure_months = 240;
	t.emi = 38'940 * rupees;
	t.dpd = 0;
	const Eligibility facts = eligibility_of(t, report, 762);
	check_equal(facts.seasoning_months.value_or(-1), 88, "seasoning up to the report, not to the reported month");
	check_equal(facts.tenure_left_months.value_or(-1), 152, "tenure left");
	check(facts.rate_basis_points == 860 && !facts.rate_inferred && facts.emi == 38'940 * rupees && !facts.emi_computed, "as reported");
	check(facts.missing.empty() && facts.score == 762, "nothing missing");
}

TEST("days past due by windows") {
	Tradeline t = home();
	t.history = {{2026, 10, 0}, {2026, 9, 5}, {2026, 8, std::nullopt}, {2026, 7, 31}, {2026, 5, 40}, {2026, 4, 62}, {2025, 11, 70}, {2025, 10, 400}};
	const Eligibility facts = eligibility_of(t, report, std::nullopt);
	check_equal(facts.days_past_due_3.value_or(-1), 5, "August to October");
	check_equal(facts.days_past_due_6.value_or(-1), 40, "May to October");
	check_equal(facts.days_past_due_12.value_or(-1), 70, "November to October");
	t.dpd = 45;
	check_equal(eligibility_of(t, report, {}).days_past_due_6.value_or(-1), 45, "now");
	t.status_code = "80";
	check_equal(eligibility_of(t, report, {}).days_past_due_3.value_or(-1), 90, "the status says 90 or more");
	t.dpd.reset();
	t.status_code = "11";
	t.history = {{2020, 1, 90}};
	check(!eligibility_of(t, report, {}).days_past_due_12, "nothing known of the year");
}

TEST("a rate and a payment that the report does not name are marked") {
	Tradeline t = home();
	t.opened = day(2019, 6, 15);
	t.tenure_months = 240;
	t.balance = balance_after(*t.sanctioned, 915, 240, 88).value(); // 88 months up to the day reported
	const Eligibility facts = eligibility_of(t, report, 700);
	check(facts.rate_basis_points == 915 && facts.rate_inferred, "rate");
	check(facts.emi == monthly_payment(*t.sanctioned, 915, 240) && facts.emi_computed, "payment");
	t.balance = 100 * rupees;
	const Eligibility prepaid = eligibility_of(t, report, 700);
	check(!prepaid.rate_basis_points && !prepaid.rate_inferred && !prepaid.emi, "nothing is invented");
	check(prepaid.missing == std::vector<std::string>{"days_past_due", "rate", "emi"}, "missing");
}

TEST("what is missing is named") {
	Tradeline t = home();
	t.opened.reset();
	t.holder = Holder::unknown;
	const Eligibility facts = eligibility_of(t, std::nullopt, std::nullopt);
	check(facts.missing == std::vector<std::string>{"seasoning", "days_past_due", "score", "rate", "tenure", "emi", "holder"}, "all");
	t.opened = day(2000, 1, 1);
	t.tenure_months = 240;
	check(!eligibility_of(t, report, {}).tenure_left_months, "a loan beyond its term has no known rest");
	t.opened = day(2027, 1, 1);
	check(!eligibility_of(t, report, {}).seasoning_months, "opened after the report");
}

TEST("the day in India") {
	check(day_in_india(0) == day(1970, 1, 1), "epoch");
	check(day_in_india(66'599'999) == day(1970, 1, 1) && day_in_india(66'600'000) == day(1970, 1, 2), "midnight is at 18:30 UTC");
	check(day_in_india(1'795'581'930'264) == day(2026, 11, 25), "a report");
	day_in_india(std::numeric_limits<std::int64_t>::max());
	day_in_india(std::numeric_limits<std::int64_t>::min());
}

int main() { return tap::run(); }
