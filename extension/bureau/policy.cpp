#include "bureau/policy.hpp"

#include <algorithm>
#include <limits>

#include "bureau/codes.hpp"

namespace bureau {

namespace {

bool is_one_of(const std::vector<int> &types, const std::optional<int> &type) {
	return type && std::ranges::find(types, *type) != types.end();
}

bool is_own(Holder holder, const Policy &policy) {
	switch (holder) {
	case Holder::individual: return true;
	case Holder::joint: return policy.joint_fires;
	case Holder::guarantor: return policy.guarantor_fires;
	case Holder::authorised_user: return policy.authorised_user_fires;
	case Holder::deceased: return policy.deceased_fires;
	case Holder::unknown: return policy.unknown_holder_fires;
	}
	return false;
}

// Status codes that were read as active by a decision which the policy may take back.
Gate gate_of_active(const Tradeline &loan, const Policy &policy) {
	const std::optional<int> code = status_number(loan.status_code);
	if (!code)
		return Gate::passed; // words, which name the class themselves
	const AccountStatus *status = find_account_status(*code);
	if (!status)
		return policy.unlisted_status_fires ? Gate::passed : Gate::unknown_status;
	if (status->days_past_due > 0 && !policy.past_due_status_fires)
		return Gate::adverse;
	return *code == 0 && !policy.zero_status_fires ? Gate::unknown_status : Gate::passed;
}

Gate gate_of_status(const Tradeline &loan, const Policy &policy) {
	switch (loan.status) {
	case StatusClass::active: return gate_of_active(loan, policy);
	case StatusClass::open_adverse: return policy.open_adverse_fires ? Gate::passed : Gate::adverse;
	case StatusClass::closed:
	case StatusClass::over: return Gate::closed;
	case StatusClass::unknown: break;
	}
	// Status 0 without a balance: what stops it is the balance.
	const bool fires = loan.status_code.empty() ? policy.missing_status_fires : status_number(loan.status_code) == 0 && policy.zero_status_fires;
	return fires ? Gate::passed : Gate::unknown_status;
}

} // namespace

bool is_home_loan(const Tradeline &loan, const Policy &policy) { return is_one_of(policy.home_loan_types, loan.account_type); }

bool is_property_loan(const Tradeline &loan, const Policy &policy) { return is_one_of(policy.property_loan_types, loan.account_type); }

Gate gate_of(const Tradeline &loan, const Policy &policy, std::optional<Date> report_day) {
	if (!is_home_loan(loan, policy) && !is_property_loan(loan, policy))
		return Gate::other_type;
	if (!is_own(loan.holder, policy))
		return Gate::not_own_liability;
	if (const Gate status = gate_of_status(loan, policy); status != Gate::passed)
		return status;
	if (outstanding(loan) <= policy.outstanding_above)
		return Gate::zero_outstanding;
	return is_stale(loan, policy, report_day) && !policy.stale_fires ? Gate::stale : Gate::passed;
}

bool is_active_home_loan(const Tradeline &loan, const Policy &policy, std::optional<Date> report_day) {
	return is_home_loan(loan, policy) && gate_of(loan, policy, report_day) == Gate::passed;
}

bool is_stale(const Tradeline &loan, const Policy &policy, std::optional<Date> report_day) {
	if (!report_day || !loan.reported)
		return false;
	const int months = months_between(*loan.reported, *report_day);
	const bool anniversary = loan.reported->day == report_day->day;
	return months > policy.stale_after_months || (months == policy.stale_after_months && !anniversary);
}

Paise outstanding(const Tradeline &loan) noexcept { return std::max<Paise>(0, loan.balance.value_or(0)); }

Paise sum(Paise a, Paise b) noexcept {
	Paise result;
	if (__builtin_add_overflow(a, b, &result))
		return a > 0 ? std::numeric_limits<Paise>::max() : std::numeric_limits<Paise>::min();
	return result;
}

} // namespace bureau
