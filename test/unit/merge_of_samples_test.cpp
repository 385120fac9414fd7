// The sample borrower of four bureaus, from the bodies to the unified report.

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>

#include <nlohmann/json.hpp>

#include "bureau/balance_transfer.hpp"
#include "bureau/codes.hpp"
#include "bureau/read_report.hpp"
#include "bureau/summary.hpp"
#include "tap.hpp"

using namespace bureau;
using nlohmann::json;
using tap::check;

namespace {

std::string contents(const std::string &file) {
	std::ifstream in("test/data/reports/" + file, std::ios::binary);
	check(in.good(), "cannot open " + file);
	return {std::istreambuf_iterator<char>(in), {}};
}

double rupees(Paise paise) { return static_cast<double>(paise) / 100; }

json bureaus_of(const UnifiedLoan &loan) {
	json bureaus = json::array();
	for (const LoanMember &member : loan.members)
		bureaus.push_back(to_text(member.bureau));
	return bureaus;
}

json scores_of(const UnifiedReport &report) {
	json scores = json::object();
	for (const BureauScore &one : report.scores)
		scores[std::string(to_text(one.bureau))] = one.score;
	return scores;
}

std::string day_text(Date day) {
	char text[32];
	std::snprintf(text, sizeof text, "%04d-%02d-%02d", day.year, day.month, day.day);
	return text;
}

json home_loan_of(const UnifiedLoan &loan) {
	const Tradeline &facts = loan.facts;
	return {{"opened", day_text(facts.opened.value())}, {"sanctioned", rupees(facts.sanctioned.value())}, {"outstanding", rupees(facts.balance.value())},
		{"bureaus", loan.members.size()}, {"rate", facts.rate_basis_points.value() / 100.0}, {"emi", rupees(facts.emi.value())},
		{"tenure_months", facts.tenure_months.value()}, {"ownership", to_text(facts.holder)}};
}

bool is_expected_loan(const UnifiedLoan &loan, const json &expected) {
	static const std::map<std::string, int> types{{"credit card", 10}, {"two-wheeler", 13}, {"consumer loan", 6}};
	return loan.facts.account_type == types.at(expected.at("type")) && bureaus_of(loan) == expected.at("bureaus") &&
	       (loan.facts.status == StatusClass::closed) == expected.value("closed", false) &&
	       (!expected.contains("balance") || rupees(loan.facts.balance.value_or(-1)) == expected.at("balance")) &&
	       (!expected.contains("lender") || loan.facts.lender_family == expected.at("lender"));
}

} // namespace

TEST("the unified sample is as expected, in every order of its reports") {
	const json expected = json::parse(contents("expected-unified.json"));
	std::vector<Reading> readings;
	for (const json &file : expected.at("members"))
		readings.push_back(read_report(contents(file)));
	std::vector<const Reading *> order;
	for (const Reading &reading : readings)
		order.push_back(&reading);
	const UnifiedReport report = unify(order);

	check(report.loans.size() == expected.at("loans"), "loans");
	check(scores_of(report) == expected.at("scores"), "scores");
	const Summary summary = summary_of(facts_of(report), {});
	check(summary.active_home_loans == expected.at("active_home_loans"), "active home loans");
	check(rupees(summary.total_outstanding) == expected.at("total_outstanding"), "total");
	json groups = json::array();
	for (const LoanGroup &group : summary.grouping.groups)
		groups.push_back({{"lender", group.lender}, {"members", group.members.size()}, {"outstanding", rupees(group.outstanding)}});
	check(groups == expected.at("groups"), "groups: " + groups.dump());

	const auto home = std::ranges::find_if(report.loans, [](const UnifiedLoan &loan) { return loan.facts.account_type == 2; });
	check(home != report.loans.end(), "home loan");
	json wanted = expected.at("home_loan");
	wanted.erase("note");
	check(home_loan_of(*home) == wanted, "home loan: " + home_loan_of(*home).dump());
	for (const char *field : {"opened", "balance", "holder"})
		check(std::ranges::count(home->disagreements, field, &Disagreement::field) == 1, std::string("the loser is kept: ") + field);
	for (const json &other : expected.at("other_loans"))
		check(std::ranges::count_if(report.loans, [&](const UnifiedLoan &loan) { return is_expected_loan(loan, other); }) == 1, other.dump());

	std::ranges::sort(order);
	do
		check(unify(order) == report, "another order of reports");
	while (std::ranges::next_permutation(order).found);
}

int main() { return tap::run(); }
