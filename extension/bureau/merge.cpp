#include "bureau/merge.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "bureau/best_report.hpp"
#include "bureau/codes.hpp"
#include "bureau/duplicates.hpp"
#include "bureau/stable_hash.hpp"
#include "bureau/warning.hpp"
#include "core/error.hpp"

namespace bureau {

namespace {

using Readings = std::vector<const Reading *>;

// In the bureaus' order. Those of no bureau are no-hits that name none: they only give a reason.
Readings usable(std::span<const Reading *const> readings) {
	Readings used;
	for (const Reading *reading : readings)
		if (reading->outcome != Outcome::failed)
			used.push_back(reading);
	std::ranges::stable_sort(used, {}, &Reading::bureau);
	const auto same_bureau = [](const Reading *a, const Reading *b) { return a->bureau && a->bureau == b->bureau; };
	if (std::ranges::adjacent_find(used, same_bureau) != used.end())
		throw backfill::core::Error(backfill::core::ErrorCode::invalid_argument, "two reports of one bureau", "Pass only the best report of each bureau.");
	return used;
}

std::vector<BureauLoan> loans_of(const Readings &readings) {
	std::vector<BureauLoan> loans;
	for (const Reading *reading : readings) {
		if (!reading->bureau)
			continue;
		for (const Tradeline *loan : distinct_loans(reading->tradelines))
			loans.push_back({loan, *reading->bureau, reading->complete, reading->report_unix_ms});
	}
	std::ranges::sort(loans, loan_before);
	return loans;
}

// What stays the same about a loan while it is paid back or transferred to another lender.
std::string stable_key(const BureauLoan &member) {
	const Tradeline &t = *member.loan;
	std::string key(to_text(member.bureau));
	key.append(" ").append(to_text(loan_class(t.account_type)));
	key.append(" ").append(t.opened ? std::to_string(day_number(*t.opened)) : "");
	key.append(" ").append(t.sanctioned ? std::to_string(*t.sanctioned) : "");
	return key.append(" ").append(t.number_tail);
}

// Loans that no stable fact tells apart are numbered in their order.
class LoanIds {
public:
	std::string next(std::span<const BureauLoan> members) {
		StableHash hash;
		for (const BureauLoan &member : members) {
			const std::string key = stable_key(member);
			hash.add(key);
			hash.add(std::to_string(seen_[key]++));
		}
		return hash.hex();
	}

private:
	std::map<std::string, int> seen_;
};

UnifiedLoan unified_loan(std::span<const BureauLoan> members, LoanIds &ids) {
	SurvivingFacts surviving = surviving_facts(members);
	UnifiedLoan loan{ids.next(members), std::move(surviving.facts), {}, std::move(surviving.provenance), std::move(surviving.disagreements)};
	for (const BureauLoan &member : members)
		loan.members.push_back({member.bureau, member.loan->position});
	std::ranges::sort(loan.members, {}, &LoanMember::bureau);
	return loan;
}

// A bureau that knows the borrower outweighs those that do not; not found at all outweighs not found by this name.
std::string reason_for_nothing(const Readings &readings) {
	if (readings.empty())
		return "no_report";
	const auto any = [&](auto holds) { return std::ranges::any_of(readings, holds); };
	if (any([](const Reading *reading) { return is_hit(*reading); }))
		return "no_accounts";
	return any([](const Reading *reading) { return reading->reason == "no_hit"; }) ? "no_hit" : "name_not_found";
}

void describe_borrower(const Readings &readings, UnifiedReport &report) {
	std::set<std::string_view> pans;
	for (const Reading *reading : readings) {
		if (reading->bureau && reading->score)
			report.scores.push_back({*reading->bureau, *reading->score});
		if (!reading->pan.empty())
			pans.insert(reading->pan);
		report.newest_unix_ms = std::max(report.newest_unix_ms, reading->report_unix_ms);
	}
	if (pans.size() > 1)
		report.warnings.push_back({std::string(to_text(WarningCode::identity_mismatch)), "pan"});
}

} // namespace

UnifiedReport unify(std::span<const Reading *const> readings) {
	const Readings used = usable(readings);
	UnifiedReport report;
	describe_borrower(used, report);
	LoanIds ids;
	for (const auto &members : match_loans(loans_of(used))) {
		report.loans.push_back(unified_loan(members, ids));
		report.loans.back().facts.position = static_cast<int>(report.loans.size());
	}
	if (report.loans.empty())
		report.reason = reason_for_nothing(used);
	return report;
}

} // namespace bureau
