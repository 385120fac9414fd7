#include "bureau/codes.hpp"
#include "report.hpp"
#include "tap.hpp"

using namespace report;
using bureau::Holder;
using bureau::Reading;
using bureau::StatusClass;
using bureau::Tradeline;
using tap::check;
using tap::check_equal;

namespace {

std::string history(const Tradeline &tradeline) {
	std::string text;
	for (const bureau::HistoryMonth &month : tradeline.history)
		text += std::to_string(month.year * 100 + month.month) + ":" + (month.dpd ? std::to_string(*month.dpd) : "-") + " ";
	return text;
}

std::string status(std::initializer_list<Member> changes) { return std::string(bureau::to_text(read_account(changes).status)); }

std::string warned(std::initializer_list<Member> changes) { return warnings(read(with_account(changes))); }

} // namespace

TEST("a plain report") {
	const Reading reading = read(with_account());
	const Tradeline home = only(reading);
	check_equal(outcome(reading), "ok", "outcome");
	check_equal(warnings(reading), "", "warnings");
	check(reading.bureau == bureau::Bureau::experian && reading.complete && reading.loans == 1, "facts");
	check_equal(reading.name, "ISHITA UDAHARAN", "name");
	check_equal(reading.pan, "AAAPN0001A", "PAN");
	check_equal(reading.report_number, "1795581930264", "report number");
	check_equal(reading.report_unix_ms.value_or(0), 1795581930264, "the report number tells the milliseconds");
	check(home.position == 1 && home.lender == "STATE BANK OF INDIA" && home.number_tail == "1001" && home.account_type == 2, "account");
	check(home.opened == bureau::Date{2019, 6, 15} && home.reported == bureau::Date{2026, 10, 31} && !home.closed, "days");
	check(home.sanctioned == 350000000 && home.balance == 278000000 && home.past_due == 0 && !home.emi, "amounts");
	check(home.tenure_months == 240 && !home.rate_basis_points && home.holder == Holder::individual, "terms");
}

TEST("report time is Indian, and an unlikely report number is not one") {
	const auto time_of = [](const std::string &number, const std::string &day, const std::string &time) {
		return read(with_accounts("[" + account() + "]", {{"CreditProfileHeader",
			object({{"ReportDate", day}, {"ReportTime", time}, {"ReportNumber", number}})}, {"Header", ""}})).report_unix_ms.value_or(0);
	};
	check_equal(time_of("\"1795581930264\"", "\"20261125\"", "\"101530\""), 1795581930264, "both agree");
	check_equal(time_of("\"1795581999264\"", "\"20261125\"", "\"101530\""), 1795581930000, "the number lies too far away");
	check_equal(time_of("\"NAMU1\"", "\"20261125\"", "101530"), 1795581930000, "no number");
	check_equal(time_of("\"NAMU1\"", "\"20261125\"", "91530"), 1795578330000, "a time without its leading zero");
	check_equal(time_of("\"NAMU1\"", "20261125", "null"), 1795545000000, "no time: midnight in India");
	check_equal(time_of("\"1795581930264\"", "null", "null"), 1795581930264, "no day");
	check_equal(time_of("null", "\"20261399\"", "null"), 0, "neither");
}

TEST("empty is empty, whatever it looks like") {
	for (const char *nothing : {"null", "\"\"", "[]", "{}", "\"  \"", "\"\u00A0\"", "[null]", "[{}]", "{\"x\": null}", "[[], \"\"]"}) {
		const std::string what = std::string("accounts ") + nothing;
		check_equal(outcome(read(with_accounts(nothing))), "skipped no_accounts", what);
		check_equal(outcome(read(with_accounts("null", {{"CAIS_Account", nothing}}))), "skipped no_accounts", what);
		const Tradeline account = read_account({{"Scheduled_Monthly_Payment_Amount", nothing}, {"Date_Closed", nothing}, {"Rate_of_Interest", nothing}});
		check(!account.emi && !account.closed && account.status == StatusClass::active, what);
	}
	const std::string blank = account({{"Subscriber_Name", "\"\""}, {"Account_Number", "null"}, {"Account_Type", "[]"}, {"Open_Date", "{}"},
		{"Highest_Credit_or_Original_Loan_Amount", "\" \""}, {"Account_Status", "\"\""}, {"Current_Balance", "null"}, {"Amount_Past_Due", "null"},
		{"Date_Reported", "null"}, {"Repayment_Tenure", "null"}, {"AccountHoldertypeCode", "null"}});
	check_equal(read(with_accounts("[" + blank + ", " + account() + "]")).tradelines.size(), 1u, "an account without a value is none");
}

TEST("one of a kind may stand without its list, and a single value inside one") {
	const Reading plain = read(with_account());
	check(read(with_accounts(account())) == plain, "an account as object");
	check(read(with_accounts("[[" + account() + "]]")) == plain, "an account in two lists");
	check(read(with_account({{"Account_Status", "[\"11\"]"}, {"Current_Balance", "[2780000]"}, {"Subscriber_Name", "{\"#text\": \"State Bank of India\"}"}})) == plain,
		"values as a converter from XML makes them");
	check(read("[" + with_account() + "]") == plain, "the report in a list");
	check_equal(history(read_account({{"CAIS_Account_History", R"({"Year": "2026", "Month": "9", "Days_Past_Due": "30"})"}})), "202609:30 ", "a month as object");
}

TEST("an entry that is no account is told") {
	const Reading reading = read(with_accounts("[\"see next page\", " + account() + "]"));
	check_equal(reading.tradelines.size(), 1u, "accounts");
	check_equal(warnings(reading), "account_unreadable:CAIS_Account_DETAILS", "warnings");
}

TEST("of equal keys the last counts, at every level and also if it is empty") {
	const std::string other = account({{"Current_Balance", "\"5\""}});
	check_equal(read("{\"CAIS_Account\": {\"CAIS_Account_DETAILS\": [" + account() + "], \"CAIS_Account_DETAILS\": " + other + "}}").tradelines.at(0).balance.value_or(0), 500, "lists");
	check_equal(only(read(with_accounts("[{\"Account_Status\": \"13\", " + account().substr(1) + "]"))).status_code, "11", "values");
	const std::string closed = account();
	check_equal(warnings(read(with_accounts("[" + closed.substr(0, closed.size() - 1) + ", \"Account_Status\": null}]"))), "status_missing:Account_Status", "an empty one");
	check_equal(bureau::read_report("{\"r\": {\"INProfileResponse\": " + with_account() + "}, \"r\": {\"INProfileResponse\": " + with_account({{"Account_Status", "\"13\""}}) + "}}").reason,
		"no_active_home_loan", "envelopes");
	check_equal(read("{\"SCORE\": {\"BureauScore\": 700}, \"SCORE\": {\"BureauScore\": 701, \"BureauScore\": 702}, " + with_account({}).substr(1)).score.value_or(0), 762, "a block, the last before");
	check_equal(read("{" + with_account({}).substr(1, with_account({}).size() - 2) + ", \"SCORE\": {\"BureauScore\": 700}, \"SCORE\": {\"BureauScore\": 701, \"BureauScore\": 702}}").score.value_or(0), 702, "a block, the last behind");
	check_equal(bureau::read_report("{\"result_code\": 101, \"result_code\": 102}").reason, "no_hit", "result codes");
}

TEST("keys are known by their letters and digits") {
	check(read("{\"caisAccount\": {\"caisAccountDetails\": {\"subscriberName\": \"State Bank of India\", \"accountHoldertypeCode\": 2, \"CURRENT_BALANCE\": 7, \"accountType\": 2, \"account_status\": 11}}}")
			.outcome == bureau::Outcome::ok, "without INProfileResponse, in camel case");
	const Tradeline account = read_account({{"SuitFiled_WillfulDefault", "\"01\""}});
	check(account.status == StatusClass::open_adverse, "the other spelling of wilful");
	check_equal(bureau::read_report("{\"data\": {\"india\": {\"credit\": {\"caisAccountinfo\": {\"caisAccountDetails\": [" + report::account() + "]}}}}}").tradelines.size(), 1u, "caisAccountinfo");
}

TEST("what cannot be read is null, and the warning names the field and nothing of the body") {
	check_equal(warned({{"Current_Balance", std::string(400, '9')}}), "amount_unparsed:Current_Balance", "a number of 400 digits");
	check_equal(warned({{"Amount_Past_Due", "\"12 secret\""}}), "amount_unparsed:Amount_Past_Due", "text");
	check_equal(warned({{"Date_Reported", "\"20260231\""}}), "date_unparsed:Date_Reported", "a day that is none");
	check_equal(warned({{"Rate_of_Interest", "\"900\""}}), "amount_unparsed:Rate_of_Interest", "a rate");
	check_equal(warned({{"Repayment_Tenure", "\"240000\""}}), "amount_unparsed:Repayment_Tenure", "a tenure");
	check_equal(warned({{"Account_Type", "\"195\""}}), "account_type_unknown:Account_Type", "a type of another code set");
	check_equal(warned({{"AccountHoldertypeCode", "\"9\""}}), "holder_unknown:AccountHoldertypeCode", "a holder");
	check_equal(warned({{"SecretKey", "\"\\ud800 and more than thirty-two characters\""}}), "bad_unicode_replaced:CAIS_Account_DETAILS", "an unknown key");
	check_equal(warned({{"Subscriber_Name", "\"A\\u0000B\""}}), "bad_unicode_replaced:Subscriber_Name", "NUL");
}

TEST("a code of one set is not looked up in another") {
	check_equal(read_account({{"Account_Type", "\"58\""}}).account_type.value_or(0), 58, "business, not housing");
	check_equal(outcome(read(with_account({{"Account_Type", "\"58\""}}))), "skipped no_active_home_loan", "no home loan");
	check_equal(read_account({{"Account_Type", "\" 002 \""}}).account_type.value_or(0), 2, "padded");
	check_equal(read_account({{"Account_Type", "2"}}).account_type.value_or(0), 2, "a number");
	check_equal(read_account({{"Account_Type", "\"Housing Loan\""}}).account_type.value_or(0), 2, "in words");
}

TEST("status, closing day and flags together make the class") {
	check_equal(status({{"Account_Status", "\"011\""}}), "active", "padded");
	check_equal(status({{"Account_Status", "11"}}), "active", "a number");
	check_equal(status({{"Account_Status", "\"13\""}}), "closed", "closed");
	check_equal(status({{"Account_Status", "\"13\""}, {"Written_off_Settled_Status", "\"02\""}}), "closed", "a flag changes only what is active");
	check_equal(status({{"Account_Status", "\"43\""}}), "open_adverse", "written off");
	check_equal(status({{"Account_Status", "\"43\""}, {"Date_Closed", "\"20240101\""}}), "closed", "written off, then closed");
	check_equal(status({{"Account_Status", "\"32\""}, {"Date_Closed", "\"20240101\""}}), "over", "settled and closed");
	check_equal(status({{"Account_Status", "\"71\""}}), "active", "days past due");
	check_equal(status({{"Account_Status", "\"00\""}}), "active", "no suit filed, something owed");
	check_equal(status({{"Account_Status", "\"00\""}, {"Current_Balance", "\"0\""}}), "unknown", "no suit filed, nothing owed");
	check_equal(status({{"Account_Status", "\"00\""}, {"Date_Closed", "\"20240101\""}}), "closed", "no suit filed, closed");
	check_equal(status({{"Account_Status", "null"}}), "unknown", "missing");
	check_equal(status({{"Account_Status", "\"998\""}}), "active", "in no table");
	check_equal(warned({{"Account_Status", "\"998\""}}), "status_unknown:Account_Status", "in no table");
	check_equal(status({{"Account_Status", "\"998\""}, {"Date_Closed", "\"20240101\""}}), "closed", "in no table, closed");
	check_equal(warned({{"Account_Status", "\"11\""}, {"Date_Closed", "\"20240101\""}}), "active_status_but_date_closed:Account_Status", "a contradiction");
	for (const char *none : {"\"0\"", "\"00000000\"", "\"00010101\"", "0", "\"0001-01-01\""})
		check_equal(status({{"Date_Closed", none}}), "active", std::string("closed on ") + none);
	check_equal(status({{"Written_off_Settled_Status", "\"00\""}}), "active", "00 says nothing");
	check_equal(status({{"Written_off_Settled_Status", "\"02\""}}), "open_adverse", "written off by flag");
	check_equal(status({{"Written_off_Settled_Status", "\"99\""}, {"SuitFiled_WilfulDefault", "\"00\""}}), "active", "clear");
}

TEST("whose loan it is") {
	const auto outcome_of = [](const char *code) { return outcome(read(with_account({{"AccountHoldertypeCode", code}}))); };
	check_equal(outcome_of("2"), "ok", "joint");
	check_equal(outcome_of("\"7\""), "skipped no_active_home_loan", "guarantor");
	check_equal(outcome_of("\"3\""), "skipped no_active_home_loan", "authorised user");
	check_equal(outcome_of("\"z\""), "skipped no_active_home_loan", "deceased");
	check_equal(outcome_of("null"), "ok", "nobody is named");
}

TEST("history: any order, duplicates, unpadded months, days past due in words") {
	const Tradeline account = read_account({{"CAIS_Account_History", R"([
		{"Year": "2026", "Month": "8", "Days_Past_Due": "0"}, {"Year": 2026, "Month": "10", "Days_Past_Due": "XXX"}, {"Year": "2026", "Month": "09", "Days_Past_Due": ""},
		{"Year": "2026", "Month": "08", "Days_Past_Due": "30"}, {"Year": "2026", "Month": "8", "Days_Past_Due": null}, {"Year": "2025", "Month": "12", "Days_Past_Due": 450}])"}});
	check_equal(history(account), "202610:- 202609:- 202608:30 202512:450 ", "months");
	check(!account.dpd, "the newest month tells what is past due now");
	const Reading bad = read(with_account({{"CAIS_Account_History", R"([{"Year": "999999999999", "Month": "-1", "Days_Past_Due": "99999999999999999999"}, {"Year": "2026", "Month": "13"}, {"Year": "", "Month": ""}])"}}));
	check_equal(history(only(bad)), "", "no months");
	check_equal(warnings(bad), "amount_unparsed:Days_Past_Due amount_unparsed:Year amount_unparsed:Month", "warnings");
}

TEST("a term in months stands in for a tenure that is not known") {
	const auto tenure = [](std::initializer_list<Member> changes) { return read_account(changes).tenure_months.value_or(0); };
	check_equal(tenure({{"Repayment_Tenure", "\"0\""}, {"Terms_Duration", "\"012\""}, {"Terms_Frequency", "\"M\""}}), 12, "months");
	check_equal(tenure({{"Repayment_Tenure", "\"0\""}, {"Terms_Duration", "\"012\""}, {"Terms_Frequency", "\"W\""}}), 0, "weeks");
	check_equal(tenure({{"Terms_Duration", "\"012\""}, {"Terms_Frequency", "\"M\""}}), 240, "a tenure that is known");
}

TEST("lender names") {
	const auto lender = [](const std::string &name) { return read_account({{"Subscriber_Name", in_quotes(name)}}).lender; };
	check_equal(lender(" icicibank"), "ICICI BANK", "a blank before it");
	check_equal(lender("\u00A0State  Bank\u00A0of India\u00A0"), "STATE BANK OF INDIA", "no-break spaces");
	check_equal(lender("J&amp;amp;K Bank Ltd."), lender("J&K Bank"), "escaped twice");
	check_equal(lender("N\\u00e4muna Bank"), "N\u00C4MUNA BANK", "an escape");
	check_equal(lender("XXXXXXXXXX"), "", "masked");
	check_equal(warned({{"Subscriber_Name", "\"NOT DISCLOSED\""}}), "lender_masked:Subscriber_Name", "withheld");
	check_equal(warned({{"Subscriber_Name", "\"NOT DISCLOSED\""}, {"Account_Status", "\"13\""}}), "", "withheld, but of no interest any more");
}

TEST("score: 300 to 900, in any of its places") {
	const auto score = [](const char *block) { return read(with_accounts("[" + account() + "]", {{"SCORE", block}})).score.value_or(0); };
	check_equal(score(R"({"BureauScore": "00774"})"), 774, "padded");
	check_equal(score(R"({"BureauScore": 774.0})"), 774, "a number with a fraction");
	check_equal(score(R"({"FCIREXScore": "801"})"), 801, "the other name");
	check_equal(score(R"({"FCIREXScore": {"BureauScore": "801"}})"), 801, "a block inside");
	for (const char *none : {"null", R"({"BureauScore": "0"})", R"({"BureauScore": "-1"})", R"({"BureauScore": 5})", R"({"BureauScore": 901})", R"({"BureauScore": 299})", R"({"BureauScore": "NA"})"})
		check_equal(score(none), 0, none);
	check_equal(warnings(read(with_accounts("[" + account() + "]", {{"SCORE", ""}}))), "score_missing:SCORE", "missing");
}

TEST("degraded: no score, or fewer accounts than announced") {
	const auto announced = [](const char *total) {
		return read(with_accounts("null", {{"CAIS_Account", "{\"CAIS_Summary\": {\"Credit_Account\": {\"CreditAccountTotal\": " + std::string(total) + "}}, \"CAIS_Account_DETAILS\": [" + account() + "]}"}}));
	};
	check(announced("\"1\"").complete && warnings(announced("\"1\"")).empty(), "as announced");
	check(!announced("7").complete, "fewer");
	check_equal(warnings(announced("7")), "summary_mismatch:CreditAccountTotal", "fewer");
	check(announced("0").complete, "more than announced is not degraded");
	check_equal(warnings(announced("0")), "summary_mismatch:CreditAccountTotal", "more");
	check(!read(with_accounts("[" + account() + "]", {{"SCORE", ""}})).complete, "no score");
}

TEST("the borrower: from the application, else from the lenders' records") {
	const std::string holders = R"("CAIS_Holder_Details": {"Surname_Non_Normalized": "Nakli", "First_Name_Non_Normalized": " rohan ", "Middle_Name_1_Non_Normalized": "K", "Income_TAX_PAN": "aaapn0002a"},
		"CAIS_Holder_Phone_Details": [{"Telephone_Number": "02200000000", "Mobile_Telephone_Number": "XXXXXX0035"}, {"Mobile_Telephone_Number": "+91 60000-00002"}])";
	const std::string with_holders = "{" + holders + ", " + account().substr(1);
	const Reading reading = read(with_accounts("[" + with_holders + "]", {{"Current_Application", ""}}));
	check_equal(reading.name, "ROHAN K NAKLI", "name");
	check_equal(reading.pan, "AAAPN0002A", "PAN");
	check_equal(reading.mobile, "6000000002", "mobile");
	const Reading applied = read(with_accounts("[" + with_holders + "]"));
	check(applied.name == "ISHITA UDAHARAN" && applied.pan == "AAAPN0001A" && applied.mobile == "6000000001", "the application counts first");
	const auto pan = [](const char *text) {
		return read(with_accounts("[" + account() + "]", {{"Current_Application",
			object({{"Current_Application_Details", object({{"Current_Applicant_Details", object({{"IncomeTaxPan", text}})}})}})}}));
	};
	check_equal(pan("\"XXXXX0001A\"").pan + warnings(pan("\"XXXXX0001A\"")), "", "masked");
	check_equal(pan("\"AAAPN00\"").pan + warnings(pan("\"AAAPN00\"")), "pan_unparsed:IncomeTaxPan", "no PAN");
}

TEST("duplicates in a report are counted once and told") {
	const Reading reading = read(with_accounts("[" + account() + ", " + account({{"Date_Reported", "\"20260930\""}}) + "]"));
	check(reading.tradelines.size() == 2 && reading.loans == 1, "counts");
	check_equal(warnings(reading), "duplicate_tradeline:Account_Number", "warnings");
}

TEST("a home loan last reported more than a year before the report") {
	check_equal(warned({{"Date_Reported", "\"20251124\""}}), "tradeline_stale:Date_Reported", "older");
	check_equal(warned({{"Date_Reported", "\"20251125\""}}), "", "a year to the day");
	check_equal(outcome(read(with_account({{"Date_Reported", "\"20251124\""}}))), "ok", "detected all the same");
	check_equal(warned({{"Date_Reported", "\"20200101\""}, {"Account_Status", "\"13\""}}), "", "a closed one");
}

TEST("no hit and no accounts are final answers of two kinds") {
	const auto said = [](const char *text) { return outcome(read(with_accounts("null", {{"UserMessage", object({{"UserMessageText", in_quotes(text)}})}}))); };
	check_equal(said("Normal Response"), "skipped no_accounts", "normal");
	check_equal(said("SYS100004 (No record found)"), "skipped no_hit", "no record");
	check_equal(said("SYS100005"), "skipped no_hit", "the other code");
	check_equal(outcome(read(with_accounts("[" + account() + "]", {{"UserMessage", R"({"UserMessageText": "SYS100004"})"}}))), "ok", "accounts say more than a message");
	check_equal(outcome(bureau::read_report("{\"INProfileResponse\": {}}")), "failed not_a_report", "an empty report is none");
}

TEST("the semantic text tells data apart and not reports") {
	const Reading plain = read(with_account());
	const std::string later = R"({"ReportDate": "20261126", "ReportTime": "235959", "ReportNumber": "1795700000000"})";
	const Reading again = read(with_accounts("[" + account() + "]", {{"CreditProfileHeader", later}, {"Header", later}, {"TotalCAPS_Summary", R"({"TotalCAPSLast7Days": "3"})"}}));
	check(plain.report_unix_ms != again.report_unix_ms, "another report");
	check_equal(again.semantic_text, plain.semantic_text, "the same data");
	const std::string card = account({{"Account_Type", "\"10\""}, {"Account_Number", "\"XXXX7001\""}});
	check_equal(read(with_accounts("[" + card + "," + account() + "]")).semantic_text, read(with_accounts("[" + account() + "," + card + "]")).semantic_text, "in another order");
	for (const auto &change : std::vector<Member>{{"Current_Balance", "\"2779999\""}, {"Account_Status", "\"71\""}, {"Date_Reported", "\"20261130\""}, {"Account_Number", "\"XXXX1002\""},
			 {"Subscriber_Name", "\"Canara Bank\""}, {"Rate_of_Interest", "\"9.15\""}, {"CAIS_Account_History", R"({"Year": "2026", "Month": "10", "Days_Past_Due": "1"})"}})
		check(read(with_account({change})).semantic_text != plain.semantic_text, "other data: " + change.first);
	check(read(with_accounts("[" + account() + "," + account() + "]")).semantic_text != plain.semantic_text, "an account more");
	check(read(with_accounts("[" + account() + "]", {{"SCORE", R"({"BureauScore": 763})"}})).semantic_text != plain.semantic_text, "another score");
}

int main() { return tap::run(); }
