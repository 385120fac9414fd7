#include "bureau/balance_transfer.hpp"

#include <algorithm>

#include "bureau/warning.hpp"

namespace bureau {

namespace {

std::optional<int> lowest_score(const std::vector<BureauScore> &scores) {
	const auto lowest = std::ranges::min_element(scores, {}, &BureauScore::score);
	return lowest == scores.end() ? std::nullopt : std::optional(lowest->score);
}

} // namespace

std::vector<const Tradeline *> facts_of(const UnifiedReport &report) {
	std::vector<const Tradeline *> loans;
	for (const UnifiedLoan &loan : report.loans)
		loans.push_back(&loan.facts);
	return loans;
}

TransferDecision decide_transfer(const UnifiedReport &report, const Policy &policy) {
	TransferDecision decision;
	decision.warnings = report.warnings;
	if (report.loans.empty()) {
		decision.reason = report.reason;
		return decision;
	}
	const bool mismatch = std::ranges::any_of(report.warnings, [](const Warning &warning) { return warning.code == to_text(WarningCode::identity_mismatch); });
	if (mismatch && !policy.identity_mismatch_fires) {
		decision.reason = "identity_mismatch";
		return decision;
	}
	const std::optional<Date> report_day = report.newest_unix_ms ? std::optional(day_in_india(*report.newest_unix_ms)) : std::nullopt;
	const std::vector<const Tradeline *> loans = facts_of(report);
	Grouping grouping = group_loans(loans, policy, report_day);
	decision.reason = std::move(grouping.reason);
	decision.warnings.insert(decision.warnings.end(), grouping.warnings.begin(), grouping.warnings.end());
	for (LoanGroup &group : grouping.groups) {
		TransferCandidate candidate{std::move(group), {}};
		for (const GroupMember &member : candidate.group.members)
			candidate.eligibility.push_back(eligibility_of(*loans[member.loan], report_day, lowest_score(report.scores)));
		decision.candidates.push_back(std::move(candidate));
	}
	return decision;
}

} // namespace bureau
