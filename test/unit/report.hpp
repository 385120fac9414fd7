#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bureau/read_report.hpp"

// Experian reports for tests, written as JSON text: one active home loan, to be changed where a test says so.
namespace report {

// A key and the JSON text of its value; an empty text leaves the key out.
using Member = std::pair<std::string, std::string>;

inline std::string in_quotes(std::string_view text) { return '"' + std::string(text) + '"'; }

inline std::string object(const std::vector<Member> &members) {
	std::string json;
	for (const auto &[key, value] : members)
		if (!value.empty())
			json += (json.empty() ? "" : ", ") + in_quotes(key) + ": " + value;
	return "{" + json + "}";
}

inline std::string changed(std::vector<Member> members, std::initializer_list<Member> changes) {
	for (const Member &change : changes) {
		const auto known = std::find_if(members.begin(), members.end(), [&](const Member &member) { return member.first == change.first; });
		if (known == members.end())
			members.push_back(change);
		else
			known->second = change.second;
	}
	return object(members);
}

inline std::string account(std::initializer_list<Member> changes = {}) {
	return changed({{"Subscriber_Name", in_quotes("State Bank of India")}, {"Account_Number", in_quotes("XXXX1001")}, {"Account_Type", in_quotes("02")},
		{"Open_Date", in_quotes("20190615")}, {"Highest_Credit_or_Original_Loan_Amount", in_quotes("3500000")}, {"Account_Status", in_quotes("11")},
		{"Current_Balance", in_quotes("2780000")}, {"Amount_Past_Due", in_quotes("0")}, {"Date_Reported", in_quotes("20261031")}, {"Date_Closed", "null"},
		{"Repayment_Tenure", in_quotes("240")}, {"AccountHoldertypeCode", in_quotes("1")}}, changes);
}

// accounts: the JSON text of CAIS_Account_DETAILS.
inline std::string with_accounts(const std::string &accounts, std::initializer_list<Member> changes = {}) {
	return changed({{"Header", R"({"ReportDate": "20261125", "ReportTime": "101530"})"},
		{"UserMessage", R"({"UserMessageText": "Normal Response"})"},
		{"CreditProfileHeader", R"({"ReportDate": "20261125", "ReportTime": "101530", "ReportNumber": "1795581930264"})"},
		{"Current_Application", R"({"Current_Application_Details": {"Current_Applicant_Details": {"Last_Name": "UDAHARAN",
			"First_Name": "ISHITA", "IncomeTaxPan": "AAAPN0001A", "MobilePhoneNumber": "6000000001"}}})"},
		{"CAIS_Account", object({{"CAIS_Account_DETAILS", accounts}})},
		{"SCORE", R"({"BureauScore": "762"})"}}, changes);
}

// The body of one account.
inline std::string with_account(std::initializer_list<Member> changes = {}) { return with_accounts("[" + account(changes) + "]"); }

inline bureau::Reading read(const std::string &report) { return bureau::read_report("{\"INProfileResponse\": " + report + "}"); }

// The only account of a report; one to look at if there is none.
inline bureau::Tradeline only(const bureau::Reading &reading) {
	return reading.tradelines.size() == 1 ? reading.tradelines.front() : bureau::Tradeline();
}

inline bureau::Tradeline read_account(std::initializer_list<Member> changes) { return only(read(with_account(changes))); }

// "code:field code:field" in order.
inline std::string warnings(const bureau::Reading &reading) {
	std::string text;
	for (const bureau::Warning &warning : reading.warnings)
		text += (text.empty() ? "" : " ") + warning.code + ":" + warning.field;
	return text;
}

inline std::string outcome(const bureau::Reading &reading) {
	static constexpr const char *words[] = {"ok", "skipped", "failed"};
	return std::string(words[static_cast<int>(reading.outcome)]) + (reading.reason.empty() ? "" : " " + reading.reason);
}

} // namespace report
