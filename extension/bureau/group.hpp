#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bureau/policy.hpp"

namespace bureau {

enum class Role : std::uint8_t { primary, topup, lap };

struct GroupMember {
	std::size_t loan = 0; // index among the loans that were grouped
	Role role = Role::primary;

	bool operator==(const GroupMember &) const = default;
};

// What one lender could lose to a balance transfer: its active own home loans, and its active own loans against property.
struct LoanGroup {
	std::string lender; // the family; empty if masked or absent: such a loan is a group of its own
	bool lender_masked = false;
	Paise outstanding = 0;
	std::vector<GroupMember> members; // the primary first: the largest home loan, then the oldest

	bool operator==(const LoanGroup &) const = default;
};

struct Grouping {
	std::vector<LoanGroup> groups; // in the order of the loans
	std::string reason;            // why there is none; empty if there are groups
	std::vector<Warning> warnings; // tradeline_stale: a member was last reported long before the report

	bool operator==(const Grouping &) const = default;
};

// loans: distinct ones, of a reading or a unified report. Reasons, the one nearest to a transfer wins: only_stale, zero_outstanding,
// status_unknown, only_adverse, lap_only, only_closed, not_own_liability, no_active_home_loan (there never was one), no_accounts.
Grouping group_loans(std::span<const Tradeline *const> loans, const Policy &policy, std::optional<Date> report_day = std::nullopt);

std::string_view to_text(Role role) noexcept;

} // namespace bureau
