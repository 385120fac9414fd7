#include "bureau/eligibility.hpp"

#include <algorithm>
#include <chrono>

#include "bureau/amortization.hpp"
#include "bureau/codes.hpp"

namespace bureau {

namespace {

int month_number(int year, int month) noexcept { return year * 12 + month; }

// At least so many days past due now; the status code may say more than the field.
std::optional<int> days_past_due_now(const Tradeline &loan) {
	const std::optional<int> code = status_number(loan.status_code);
	const AccountStatus *status = code ? find_account_status(*code) : nullptr;
	const int by_status = status ? status->days_past_due : 0;
	return by_status > loan.dpd.value_or(0) ? std::optional(by_status) : loan.dpd;
}

// Months are counted back from the one the account was last reported for.
std::optional<int> most_days_past_due(const Tradeline &loan, std::optional<Date> report_day, int months) {
	std::optional<int> most = days_past_due_now(loan);
	const std::optional<Date> last = loan.reported ? loan.reported : report_day;
	if (!last)
		return most;
	for (const HistoryMonth &month : loan.history) {
		const int age = month_number(last->year, last->month) - month_number(month.year, month.month);
		if (age < months && month.dpd)
			most = std::max(most.value_or(0), *month.dpd);
	}
	return most;
}

// The balance is as of the day the account was reported, so payments are counted to there.
std::optional<int> inferred_rate(const Tradeline &loan, std::optional<Date> report_day) {
	const std::optional<Date> as_of = loan.reported ? loan.reported : report_day;
	if (!loan.opened || !as_of || !loan.sanctioned || !loan.balance || !loan.tenure_months)
		return std::nullopt;
	return infer_rate(*loan.sanctioned, *loan.balance, *loan.tenure_months, months_between(*loan.opened, *as_of));
}

void find_rate_and_payment(const Tradeline &loan, std::optional<Date> report_day, Eligibility &facts) {
	facts.rate_basis_points = loan.rate_basis_points;
	if (!facts.rate_basis_points) {
		facts.rate_basis_points = inferred_rate(loan, report_day);
		facts.rate_inferred = facts.rate_basis_points.has_value();
	}
	facts.emi = loan.emi;
	if (!facts.emi && facts.rate_basis_points && loan.sanctioned && loan.tenure_months) {
		facts.emi = monthly_payment(*loan.sanctioned, *facts.rate_basis_points, *loan.tenure_months);
		facts.emi_computed = facts.emi.has_value();
	}
}

void name_missing(const Tradeline &loan, Eligibility &facts) {
	const auto need = [&](bool known, const char *name) {
		if (!known)
			facts.missing.emplace_back(name);
	};
	need(facts.seasoning_months.has_value(), "seasoning");
	need(facts.days_past_due_12.has_value(), "days_past_due");
	need(facts.score.has_value(), "score");
	need(facts.rate_basis_points.has_value(), "rate");
	need(facts.tenure_left_months.has_value(), "tenure");
	need(facts.emi.has_value(), "emi");
	need(loan.holder != Holder::unknown, "holder");
}

} // namespace

Eligibility eligibility_of(const Tradeline &loan, std::optional<Date> report_day, std::optional<int> score) {
	Eligibility facts;
	if (loan.opened && report_day && *loan.opened <= *report_day)
		facts.seasoning_months = months_between(*loan.opened, *report_day);
	facts.days_past_due_3 = most_days_past_due(loan, report_day, 3);
	facts.days_past_due_6 = most_days_past_due(loan, report_day, 6);
	facts.days_past_due_12 = most_days_past_due(loan, report_day, 12);
	facts.score = score;
	find_rate_and_payment(loan, report_day, facts);
	if (facts.seasoning_months && loan.tenure_months && *loan.tenure_months > *facts.seasoning_months)
		facts.tenure_left_months = *loan.tenure_months - *facts.seasoning_months;
	name_missing(loan, facts);
	return facts;
}

Date day_in_india(std::int64_t unix_ms) noexcept {
	using namespace std::chrono;
	constexpr std::int64_t first = -62'135'596'800'000, last = 253'402'214'400'000; // years 1 to 9999
	const sys_time<milliseconds> there{milliseconds{std::clamp(unix_ms, first, last)} + hours{5} + minutes{30}};
	const year_month_day day{floor<days>(there)};
	return {.year = static_cast<std::int16_t>(static_cast<int>(day.year())),
		.month = static_cast<std::int8_t>(static_cast<unsigned>(day.month())),
		.day = static_cast<std::int8_t>(static_cast<unsigned>(day.day()))};
}

} // namespace bureau
