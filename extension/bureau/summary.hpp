#pragma once

#include <span>

#include "bureau/group.hpp"

namespace bureau {

// The totals of a report, from its own loans and never from the summary it carries.
struct Summary {
	int loans = 0;
	int open = 0;                    // active, and open but adverse
	int active_home_loans = 0;
	Paise home_loan_outstanding = 0; // of the active home loans
	Paise total_outstanding = 0;     // of loans that are open or of unknown status
	Grouping grouping;

	bool operator==(const Summary &) const = default;
};

// loans: distinct ones, of a reading or a unified report.
Summary summary_of(std::span<const Tradeline *const> loans, const Policy &policy, std::optional<Date> report_day = std::nullopt);

} // namespace bureau
