#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bureau/reading.hpp"

namespace bureau {

// What a lender asks about a home loan before it takes it over. Facts beside the gate, never a part of it.
struct Eligibility {
	std::optional<int> seasoning_months;     // whole months from the opening to the report
	std::optional<int> days_past_due_3;      // the most within the last 3, 6 and 12 months that the account was reported for
	std::optional<int> days_past_due_6;
	std::optional<int> days_past_due_12;
	std::optional<int> score;
	std::optional<int> rate_basis_points;
	bool rate_inferred = false;              // from the balance; the report names none
	std::optional<int> tenure_left_months;
	std::optional<Paise> emi;
	bool emi_computed = false;               // from amount, rate and tenure; the report names none
	std::vector<std::string> missing;        // of: seasoning, days_past_due, score, rate, tenure, emi, holder

	bool operator==(const Eligibility &) const = default;
};

// report_day: when the bureau made the report, never today.
Eligibility eligibility_of(const Tradeline &loan, std::optional<Date> report_day, std::optional<int> score);

// The day of a moment in India, by which bureaus date their reports.
Date day_in_india(std::int64_t unix_ms) noexcept;

} // namespace bureau
