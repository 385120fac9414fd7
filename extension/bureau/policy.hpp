#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "bureau/reading.hpp"

namespace bureau {

// What makes a loan fire a balance transfer. The defaults are the product's decisions; each can be switched.
struct Policy {
	std::vector<int> home_loan_types{2, 42, 44}; // housing, microfinance housing, PMAY-CLSS
	std::vector<int> property_loan_types{3};     // join the group of the same lender
	bool property_loan_fires = false;            // true: they fire without a home loan beside them
	bool unlisted_status_fires = true;           // a status code that is in no table, if it was read as active
	bool zero_status_fires = true;               // status 0, "no suit filed", if it was read as active
	bool past_due_status_fires = true;           // 71 to 84: days past due, still active
	bool missing_status_fires = false;
	bool open_adverse_fires = false;             // restructured, suit filed, wilful default, written off
	bool joint_fires = true;
	bool guarantor_fires = false;
	bool authorised_user_fires = false;
	bool deceased_fires = false;
	bool unknown_holder_fires = true;            // the report names nobody else
	bool stale_fires = true;                     // last reported more than stale_after_months before the report; warns in any case
	bool identity_mismatch_fires = true;         // reports of one mobile with different PANs; warns in any case
	int stale_after_months = 12;
	Paise outstanding_above = 0;
};

// Where a loan stops on its way to a balance transfer, in the order of the questions.
enum class Gate : std::uint8_t { other_type, not_own_liability, closed, adverse, unknown_status, zero_outstanding, stale, passed };

bool is_home_loan(const Tradeline &loan, const Policy &policy);
bool is_property_loan(const Tradeline &loan, const Policy &policy);

// The gate of a home loan or a loan against property: the same questions for both.
Gate gate_of(const Tradeline &loan, const Policy &policy, std::optional<Date> report_day = std::nullopt);

// An active home loan of the borrower's own with something outstanding.
bool is_active_home_loan(const Tradeline &loan, const Policy &policy, std::optional<Date> report_day = std::nullopt);

bool is_stale(const Tradeline &loan, const Policy &policy, std::optional<Date> report_day);

// What is owed: a credit balance owes nothing, and so does an absent one.
Paise outstanding(const Tradeline &loan) noexcept;

// Stops at the largest amount: hostile sums do not wrap.
Paise sum(Paise a, Paise b) noexcept;

} // namespace bureau
