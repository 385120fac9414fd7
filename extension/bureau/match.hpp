#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "bureau/reading.hpp"

namespace bureau {

// A loan as one bureau reports it, and how far that report can be trusted.
struct BureauLoan {
	const Tradeline *loan = nullptr;
	Bureau bureau = Bureau::experian;
	bool complete = false;                 // of its report
	std::optional<std::int64_t> report_ms; // of its report
};

// Whether two bureaus may mean the same loan: same class of loan, opened within 31 days of each other, amounts within 1 % or one missing.
bool may_be_same_loan(const Tradeline &a, const Tradeline &b) noexcept;

// How many of these say that they do: equal number tail (at least 4 digits, as far as both are unmasked), equal lender family, equal opening day.
int evidence_of_same_loan(const Tradeline &a, const Tradeline &b) noexcept;

inline constexpr int evidence_needed = 2;

// Tradelines beyond this number in one report stay unmatched, which bounds time and memory. Vendors refuse far smaller reports.
inline constexpr std::size_t most_matched_of_a_bureau = 500;

// Sets of loans of different bureaus that are one loan; never two of one bureau, which tells its own loans apart. The strongest
// matches come first, and all members of a set pass the gates with each other. loans must be sorted by loan_before; members
// and sets come out in that order.
std::vector<std::vector<BureauLoan>> match_loans(std::span<const BureauLoan> loans);

// By opening day, amount, bureau and number, and then by everything else: does not depend on the order of reports or accounts.
bool loan_before(const BureauLoan &a, const BureauLoan &b);

} // namespace bureau
