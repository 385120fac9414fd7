#include "bureau/group.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "bureau/warning.hpp"

namespace bureau {

namespace {

using Loans = std::span<const Tradeline *const>;

class Grouper {
public:
	Grouper(Loans loans, const Policy &policy, std::optional<Date> report_day) : loans_(loans), policy_(policy), report_day_(report_day) {}

	Grouping run() {
		for (std::size_t i = 0; i < loans_.size(); ++i)
			if (anchors(*loans_[i]))
				add_anchor(i);
		for (std::size_t i = 0; i < loans_.size(); ++i)
			if (is_property_loan(*loans_[i], policy_) && passes(*loans_[i]) && !anchors(*loans_[i]))
				join_lender(i);
		for (LoanGroup &group : result_.groups)
			finish(group);
		if (result_.groups.empty())
			result_.reason = loans_.empty() ? "no_accounts" : skip_reason();
		return std::move(result_);
	}

private:
	bool passes(const Tradeline &loan) const { return gate_of(loan, policy_, report_day_) == Gate::passed; }

	bool anchors(const Tradeline &loan) const { return passes(loan) && (is_home_loan(loan, policy_) || policy_.property_loan_fires); }

	void add_anchor(std::size_t loan) {
		const std::string &family = loans_[loan]->lender_family;
		std::size_t group = result_.groups.size();
		if (!family.empty())
			group = by_family_.try_emplace(family, group).first->second;
		if (group == result_.groups.size()) {
			result_.groups.emplace_back();
			result_.groups.back().lender = family;
			result_.groups.back().lender_masked = loans_[loan]->lender_masked;
		}
		result_.groups[group].members.push_back({.loan = loan});
	}

	void join_lender(std::size_t loan) {
		const auto group = by_family_.find(loans_[loan]->lender_family);
		if (group != by_family_.end())
			result_.groups[group->second].members.push_back({.loan = loan});
	}

	// Home loans before loans against property, larger before smaller, older before newer.
	auto rank(const GroupMember &member) const {
		const Tradeline &loan = *loans_[member.loan];
		const Date last{.year = 9999, .month = 12, .day = 31};
		return std::tuple(!is_home_loan(loan, policy_), -std::max<Paise>(0, loan.sanctioned.value_or(0)), loan.opened.value_or(last), -outstanding(loan), member.loan);
	}

	void finish(LoanGroup &group) {
		std::ranges::sort(group.members, {}, [this](const GroupMember &member) { return rank(member); });
		for (GroupMember &member : group.members) {
			const Tradeline &loan = *loans_[member.loan];
			member.role = is_home_loan(loan, policy_) ? Role::topup : Role::lap;
			group.outstanding = sum(group.outstanding, outstanding(loan));
			if (is_stale(loan, policy_, report_day_))
				warn({std::string(to_text(WarningCode::tradeline_stale)), "reported"});
		}
		group.members.front().role = Role::primary;
	}

	void warn(Warning warning) {
		if (std::ranges::find(result_.warnings, warning) == result_.warnings.end())
			result_.warnings.push_back(std::move(warning));
	}

	bool any_home_loan_at(Gate gate) const {
		return std::ranges::any_of(loans_, [&](const Tradeline *loan) { return is_home_loan(*loan, policy_) && gate_of(*loan, policy_, report_day_) == gate; });
	}

	std::string skip_reason() const {
		if (any_home_loan_at(Gate::stale))
			return "only_stale";
		if (any_home_loan_at(Gate::zero_outstanding))
			return "zero_outstanding";
		if (any_home_loan_at(Gate::unknown_status))
			return "status_unknown";
		if (any_home_loan_at(Gate::adverse))
			return "only_adverse";
		if (std::ranges::any_of(loans_, [this](const Tradeline *loan) { return passes(*loan); }))
			return "lap_only";
		if (any_home_loan_at(Gate::closed))
			return "only_closed";
		return any_home_loan_at(Gate::not_own_liability) ? "not_own_liability" : "no_active_home_loan";
	}

	Loans loans_;
	const Policy &policy_;
	std::optional<Date> report_day_;
	std::map<std::string_view, std::size_t> by_family_;
	Grouping result_;
};

} // namespace

Grouping group_loans(Loans loans, const Policy &policy, std::optional<Date> report_day) { return Grouper(loans, policy, report_day).run(); }

std::string_view to_text(Role role) noexcept {
	switch (role) {
	case Role::primary: return "primary";
	case Role::topup: return "topup";
	case Role::lap: return "lap";
	}
	return {};
}

} // namespace bureau
