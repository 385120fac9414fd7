#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "bureau/codes.hpp"
#include "bureau/duplicates.hpp"
#include "bureau/read_report.hpp"
#include "bureau/summary.hpp"
#include "tap.hpp"

using nlohmann::json;

namespace {

const std::string folder = "test/data/reports/";

std::string contents(const std::string &file) {
	std::ifstream in(folder + file, std::ios::binary);
	tap::check(in.good(), "cannot open " + file);
	return {std::istreambuf_iterator<char>(in), {}};
}

double rupees(bureau::Paise paise) { return static_cast<double>(paise) / 100; }

json groups_of(const bureau::Grouping &grouping) {
	json groups = json::array();
	for (const bureau::LoanGroup &group : grouping.groups) {
		const json lender = group.lender.empty() ? json() : json(group.lender);
		groups.push_back({{"lender", lender}, {"members", group.members.size()}, {"outstanding", rupees(group.outstanding)}});
	}
	std::sort(groups.begin(), groups.end());
	return groups;
}

json warnings_of(const bureau::Reading &reading) {
	json codes = json::array();
	for (const bureau::Warning &warning : reading.warnings)
		if (std::find(codes.begin(), codes.end(), warning.code) == codes.end())
			codes.push_back(warning.code);
	std::sort(codes.begin(), codes.end());
	return codes;
}

json sorted(json values) {
	std::sort(values.begin(), values.end());
	return values;
}

// A reading in the terms of expected.json.
json facts_of(const bureau::Reading &reading) {
	const auto loans = bureau::distinct_loans(reading.tradelines);
	const bureau::Summary summary = bureau::summary_of(loans, bureau::Policy());
	return {
		{"outcome", bureau::to_text(reading.outcome)},
		{"reason", reading.reason},
		{"score", reading.score ? json(*reading.score) : json()},
		{"accounts", reading.tradelines.size()},
		{"loans", reading.loans},
		{"open", summary.open},
		{"active_home_loans", summary.active_home_loans},
		{"groups", groups_of(summary.grouping)},
		{"home_loan_outstanding", rupees(summary.home_loan_outstanding)},
		{"total_outstanding", rupees(summary.total_outstanding)},
		{"mobile", reading.mobile.empty() ? json() : json(reading.mobile)},
		{"warnings", warnings_of(reading)},
	};
}

} // namespace

TEST("every sample is read as expected") {
	const json expected = json::parse(contents("expected.json"));
	tap::check(expected.size() > 50, "samples are missing");
	for (const json &row : expected) {
		const std::string file = row.at("file");
		const json facts = facts_of(bureau::read_report(contents(file)));
		for (const auto &[name, value] : facts.items()) {
			const json wanted = row.at(name).is_array() ? sorted(row.at(name)) : row.at(name);
			tap::check(value == wanted, file + " " + name + ": got " + value.dump() + ", expected " + wanted.dump());
		}
	}
}

int main() { return tap::run(); }
