#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bureau/survivorship.hpp"

namespace bureau {

// Where a merged loan stands in a bureau's report.
struct LoanMember {
	Bureau bureau = Bureau::experian;
	int position = 0;

	bool operator==(const LoanMember &) const = default;
};

// One loan, however many bureaus know it.
struct UnifiedLoan {
	std::string id;                          // 32 hexadecimal digits, unique among the borrower's loans; the same in every run over the same reports
	Tradeline facts;                         // position: its number in the unified report, from 1
	std::vector<LoanMember> members;         // one a bureau, in the bureaus' order
	std::vector<FieldSource> provenance;
	std::vector<Disagreement> disagreements;

	bool operator==(const UnifiedLoan &) const = default;
};

struct BureauScore {
	Bureau bureau = Bureau::experian;
	int score = 0;

	bool operator==(const BureauScore &) const = default;
};

// What all bureaus say about one borrower. Scores stay apart: they are not on one scale.
struct UnifiedReport {
	std::vector<UnifiedLoan> loans;            // by opening day and amount
	std::vector<BureauScore> scores;           // in the bureaus' order
	std::optional<std::int64_t> newest_unix_ms; // the newest of the reports
	std::string reason;                        // why there are no loans: no_hit, name_not_found, no_accounts, no_report; empty if there are
	std::vector<Warning> warnings;             // identity_mismatch: the reports name different PANs

	bool operator==(const UnifiedReport &) const = default;
};

// readings: the best report of each bureau, in any order. Failed ones say nothing. Throws core::Error (invalid_argument) for two of one bureau.
UnifiedReport unify(std::span<const Reading *const> readings);

} // namespace bureau
