#pragma once

#include <span>
#include <string>
#include <vector>

#include "bureau/match.hpp"

namespace bureau {

// Which bureau's value a field of a merged loan has. A field that came from several bureaus (history) has several entries.
struct FieldSource {
	std::string field;
	Bureau bureau = Bureau::experian;

	bool operator==(const FieldSource &) const = default;
};

// A value that lost. Amounts in rupees, days as YYYY-MM-DD, rates in percent.
struct Disagreement {
	std::string field;
	Bureau bureau = Bureau::experian;
	std::string value;

	bool operator==(const Disagreement &) const = default;
};

struct SurvivingFacts {
	Tradeline facts; // position and number apart, each field from one of the bureaus
	std::vector<FieldSource> provenance;
	std::vector<Disagreement> disagreements;
};

// One loan out of what several bureaus say about it:
// - state (status, closing day, balance, past due, days past due): the bureau that reported it last, unless another says that it ended
//   on or after the last report of all that still have it open;
// - opening day, amount, type, holder, lender: what most bureaus say, then the latest;
// - rate, EMI, tenure and the rest: the latest bureau that has them; history month by month.
// Ties: a complete report, the newer report, the bureaus' order.
SurvivingFacts surviving_facts(std::span<const BureauLoan> members);

} // namespace bureau
