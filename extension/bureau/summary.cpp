#include "bureau/summary.hpp"

namespace bureau {

Summary summary_of(std::span<const Tradeline *const> loans, const Policy &policy, std::optional<Date> report_day) {
	Summary summary;
	summary.loans = static_cast<int>(loans.size());
	for (const Tradeline *loan : loans) {
		const bool open = loan->status == StatusClass::active || loan->status == StatusClass::open_adverse;
		summary.open += open;
		if (open || loan->status == StatusClass::unknown)
			summary.total_outstanding = sum(summary.total_outstanding, outstanding(*loan));
		if (is_active_home_loan(*loan, policy, report_day)) {
			++summary.active_home_loans;
			summary.home_loan_outstanding = sum(summary.home_loan_outstanding, outstanding(*loan));
		}
	}
	summary.grouping = group_loans(loans, policy, report_day);
	return summary;
}

} // namespace bureau
