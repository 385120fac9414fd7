#pragma once

#include <algorithm>

#include "bureau/merge.hpp"
#include "loan.hpp"
#include "tap.hpp"

// Readings of one borrower's reports, and what they become together.
namespace loan {

inline bureau::Reading reading(bureau::Bureau bureau, std::vector<bureau::Tradeline> tradelines) {
	bureau::Reading r;
	r.outcome = bureau::Outcome::ok;
	r.bureau = bureau;
	r.complete = true;
	r.report_unix_ms = 1'795'581'930'000;
	r.tradelines = std::move(tradelines);
	for (int position = 0; bureau::Tradeline &t : r.tradelines)
		t.position = ++position;
	return r;
}

inline bureau::UnifiedReport unified(const std::vector<bureau::Reading> &readings) {
	std::vector<const bureau::Reading *> all;
	for (const bureau::Reading &one : readings)
		all.push_back(&one);
	return bureau::unify(all);
}

inline bureau::Bureau source_of(const bureau::UnifiedLoan &loan, const std::string &field) {
	const auto found = std::ranges::find(loan.provenance, field, &bureau::FieldSource::field);
	tap::check(found != loan.provenance.end(), "provenance of " + field);
	return found == loan.provenance.end() ? bureau::Bureau::experian : found->bureau;
}

inline bool lost(const bureau::UnifiedLoan &loan, const std::string &field, bureau::Bureau bureau, const std::string &value) {
	return std::ranges::find(loan.disagreements, bureau::Disagreement{field, bureau, value}) != loan.disagreements.end();
}

} // namespace loan
