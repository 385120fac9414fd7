#pragma once

#include <string>
#include <vector>

#include "bureau/eligibility.hpp"
#include "bureau/group.hpp"
#include "bureau/merge.hpp"

namespace bureau {

// A group that could be moved to another lender, with the facts about its members (in their order).
struct TransferCandidate {
	LoanGroup group;
	std::vector<Eligibility> eligibility;

	bool operator==(const TransferCandidate &) const = default;
};

struct TransferDecision {
	std::vector<TransferCandidate> candidates; // any: the balance transfer fires
	std::string reason;                        // why it does not: as group_loans and unify, or identity_mismatch if the policy says so
	std::vector<Warning> warnings;

	bool operator==(const TransferDecision &) const = default;
};

// Eligibility takes the lowest score any bureau gives.
TransferDecision decide_transfer(const UnifiedReport &report, const Policy &policy);

// The loans as grouping and totals take them.
std::vector<const Tradeline *> facts_of(const UnifiedReport &report);

} // namespace bureau
