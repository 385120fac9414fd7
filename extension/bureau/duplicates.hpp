#pragma once

#include <span>
#include <vector>

#include "bureau/reading.hpp"

namespace bureau {

// The loans behind the tradelines of one report: a loan is reported twice when two months of it, or two legal entities after a
// transfer, both stayed in the report. Time n log n.
//
// One loan is: the same class of loan, opening day, amount and number tail, and besides that the same unmasked number, or the same
// lender, or different reporting days (two lenders that report a masked number for the same day are two loans). Without a number
// tail, only tradelines of a known lender that are equal in everything.
//
// The tradeline that survives is the one reported last; a loan that goes on before one that has ended.
// Result: the survivors, in the order of the tradelines.
std::vector<const Tradeline *> distinct_loans(std::span<const Tradeline> tradelines);

} // namespace bureau
