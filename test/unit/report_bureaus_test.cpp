#include "report.hpp"
#include "tap.hpp"

using bureau::Bureau;
using bureau::Date;
using bureau::Holder;
using bureau::Reading;
using bureau::StatusClass;
using bureau::Tradeline;
using tap::check;
using tap::check_equal;

namespace {

Tradeline at(const Reading &reading, std::size_t index) { return index < reading.tradelines.size() ? reading.tradelines[index] : Tradeline(); }

std::string history(const Tradeline &tradeline) {
	std::string text;
	for (const bureau::HistoryMonth &month : tradeline.history)
		text += std::to_string(month.year * 100 + month.month) + ":" + (month.dpd ? std::to_string(*month.dpd) : "-") + " ";
	return text;
}

} // namespace

TEST("CIBIL: days first, closing day instead of a status, its own holder codes") {
	const Reading reading = bureau::read_report(R"({"controlData": {"success": true}, "consumerCreditData": {
		"tuefHeader": {"dateProcessed": "25112026", "timeProcessed": "101600", "enquiryControlNumber": "001"},
		"names": {"name": "aarav  nakli"}, "ids": [{"idType": "06", "idNumber": "1"}, {"idType": "01", "idNumber": "AAAPN0040A"}],
		"telephones": [{"telephoneNumber": "02200000000"}, {"telephoneNumber": "+91 6000000040"}],
		"scores": [{"score": "000-1"}, {"score": "00774"}],
		"accounts": [
			{"memberShortName": "NOT DISCLOSED", "accountNumber": "XXXX4001", "accountType": "02", "ownershipIndicator": 4, "dateOpened": "12062019", "dateReported": "31102026",
				"highCreditAmount": 4500000, "currentBalance": 3890000.5, "amountOverdue": 0, "paymentHistory": "000030XXXSTD", "paymentStartDate": "01102026", "paymentEndDate": "01072026",
				"emiAmount": 38940, "interestRate": 8.6, "paymentTenure": 240},
			{"memberShortName": "HDFC BANK", "accountType": "10", "ownershipIndicator": 3, "dateReported": "15012026", "currentBalance": 1, "paymentHistory": "000000", "dateClosed": "07052024"},
			{"memberShortName": "HDFC BANK", "accountType": "02", "ownershipIndicator": 1, "currentBalance": 1, "creditFacilityStatus": "02"}]}})");
	check_equal(report::outcome(reading) + " " + report::warnings(reading), "ok lender_masked:memberShortName", "outcome");
	check(reading.bureau == Bureau::cibil && reading.score == 774 && reading.pan == "AAAPN0040A" && reading.mobile == "6000000040" && reading.name == "AARAV NAKLI", "person");
	check_equal(reading.report_unix_ms.value_or(0), 1795581960000, "time");
	const Tradeline home = at(reading, 0);
	check(home.opened == Date{2019, 6, 12} && home.holder == Holder::joint && home.status == StatusClass::active && home.status_code.empty(), "home loan");
	check(home.balance == 389000050 && home.emi == 3894000 && home.rate_basis_points == 860 && home.tenure_months == 240, "amounts");
	check_equal(history(home), "202610:0 202609:30 202608:- 202607:- ", "history");
	check(at(reading, 1).status == StatusClass::closed && at(reading, 1).holder == Holder::guarantor, "closed");
	check_equal(history(at(reading, 1)), "202601:0 202512:0 ", "history from the reporting month");
	check(at(reading, 2).status == StatusClass::open_adverse, "written off");
}

TEST("CIBIL: no hit") {
	check_equal(report::outcome(bureau::read_report(R"({"controlData": {"success": true}, "consumerCreditData": [{"tuefHeader": {"dateProcessed": "25112026"}, "scores": [{"score": "000-1"}]}]})")),
		"skipped no_hit", "a score of -1 and no accounts");
	check_equal(report::outcome(bureau::read_report(R"({"controlData": {"success": true}, "consumerCreditData": [{"tuefHeader": {"dateProcessed": "25112026"}, "scores": [{"score": "00774"}]}]})")),
		"skipped no_accounts", "a score and no accounts");
	check_equal(report::outcome(bureau::read_report(R"({"controlData": {"success": false, "errorResponseArray": [{"errorMessage": "internal"}]}})")), "failed vendor_error", "an error");
}

TEST("CIBIL's consumer report, as JSON and as XML with attributes") {
	const Reading json = bureau::read_report(R"({"GetCustomerAssetsResponse": {"GetCustomerAssetsSuccess": {"Asset": {"CreationDate": "2026-11-25T10:16:00+05:30", "TrueLinkCreditReport": {
		"ReferenceKey": "9",
		"Borrower": {"CreditScore": {"riskScore": "774"}, "BorrowerName": {"Name": {"Forename": "Aarav", "Surname": "Nakli"}}, "BorrowerTelephone": [{"PhoneNumber": {"Number": "6000000040"}}],
			"IdentifierPartition": {"Identifier": [{"ID": {"IdentifierName": "TaxId", "Id": "AAAPN0040A"}}]}},
		"TradeLinePartition": [
			{"accountTypeSymbol": "02", "accountTypeDescription": "Housing Loan", "Tradeline": {"creditorName": "HDFC BANK", "accountNumber": "XXXX4001", "currentBalance": "3890000", "highBalance": "4500000",
				"dateOpened": "2019-06-12+05:30", "dateReported": "2026-10-31+05:30", "OpenClosed": {"symbol": "O"}, "AccountDesignator": {"symbol": "J", "description": "Joint"},
				"GrantedTrade": {"EMIAmount": "38940", "amountPastDue": "0", "termMonths": "240", "interestRate": "8.6", "PayStatusHistory": {"MonthlyPayStatus": [
					{"date": "2026-10-01+05:30", "status": "0"}, {"date": "2026-09-01+05:30", "status": "XXX"}]}}}},
			{"accountTypeDescription": "Credit Card", "Tradeline": {"creditorName": "HDFC BANK", "dateClosed": "2024-01-01", "OpenClosed": {"description": "Closed"}}}]}}}}})");
	check_equal(report::outcome(json) + " " + report::warnings(json), "ok ", "outcome");
	check(json.bureau == Bureau::cibil && json.score == 774 && json.pan == "AAAPN0040A" && json.mobile == "6000000040" && json.name == "AARAV NAKLI", "person");
	check_equal(json.report_unix_ms.value_or(0), 1795581960000, "time");
	const Tradeline home = at(json, 0);
	check(home.account_type == 2 && home.holder == Holder::joint && home.opened == Date{2019, 6, 12} && home.emi == 3894000 && home.rate_basis_points == 860 && home.past_due == 0, "home loan");
	check_equal(history(home), "202610:0 202609:- ", "history");
	check(at(json, 1).account_type == 10 && at(json, 1).status == StatusClass::closed, "card");
	const Reading xml = bureau::read_report(R"(<TrueLinkCreditReport ReferenceKey="9"><Borrower><CreditScore riskScore="774"/></Borrower>
		<TradeLinePartition accountTypeSymbol="02"><Tradeline creditorName="HDFC BANK" accountNumber="XXXX4001" currentBalance="3890000" highBalance="4500000" dateOpened="2019-06-12+05:30">
			<OpenClosed symbol="O" description="Open"/><AccountDesignator symbol="J" description="Joint"/><GrantedTrade EMIAmount="38940"/></Tradeline></TradeLinePartition></TrueLinkCreditReport>)");
	check_equal(report::outcome(xml), "ok", "XML");
	check(xml.score == 774 && at(xml, 0).balance == 389000000 && at(xml, 0).emi == 3894000 && at(xml, 0).holder == Holder::joint, "XML values");
}

TEST("Equifax: words for codes, Open, months as 10-26") {
	const Reading reading = bureau::read_report(R"({"InquiryResponseHeader": {"Date": "2026-11-25", "Time": "10:16:00", "ReportOrderNO": "77"}, "CCRResponse": {"CIRReportDataLst": {"CIRReportData": {
		"IDAndContactInfo": {"PersonalInfo": {"Name": {"FirstName": "AARAV", "LastName": "NAKLI"}}, "IdentityInfo": {"PANId": [{"IdNumber": "AAAPN0040A"}]}, "PhoneInfo": {"Number": "6000000040"}},
		"RetailAccountsSummary": {"NoOfAccounts": "5"},
		"ScoreDetails": [{"Type": "ERS", "Value": "771"}],
		"RetailAccountDetails": [
			{"AccountNumber": "000600000004001", "Institution": "HDFC Bank Limited", "AccountType": "Housing Loan", "OwnershipType": "Joint Account", "Balance": "3905000.00", "Open": "Yes",
				"SanctionAmount": "4500000", "DateReported": "2026-09-30", "DateOpened": "2019-06-10", "AccountStatus": "Current Account",
				"History48Months": [{"key": "09-26", "PaymentStatus": "000"}, {"key": "08-26", "PaymentStatus": "30+"}, {"key": "07-26", "PaymentStatus": "*"}, {"key": "06-26", "PaymentStatus": "NEW"}]},
			{"Institution": "A", "AccountType": "Personal Loan", "Open": "No", "AccountStatus": "Current Account"},
			{"Institution": "B", "AccountType": "Personal Loan", "Open": "No"},
			{"Institution": "C", "AccountType": "Housing Loan", "AccountStatus": "Written-off", "Open": "Yes"},
			{"Institution": "D", "AccountType": "Moon Loan"}]}}}})");
	check_equal(report::warnings(reading), "account_type_unknown:Account_Type status_missing:Account_Status", "warnings");
	check(reading.bureau == Bureau::equifax && reading.score == 771 && reading.complete && reading.pan == "AAAPN0040A" && reading.name == "AARAV NAKLI" && reading.report_number == "77", "report");
	check_equal(reading.report_unix_ms.value_or(0), 1795581960000, "time");
	const Tradeline home = at(reading, 0);
	check(home.number_tail == "600000004001" && home.balance == 390500000 && home.holder == Holder::joint && home.status == StatusClass::active, "home loan");
	check_equal(history(home), "202609:0 202608:30 202607:- 202606:- ", "history");
	check(at(reading, 1).status == StatusClass::closed && at(reading, 2).status == StatusClass::closed, "not open");
	check(at(reading, 3).status == StatusClass::open_adverse, "written off");
	check(at(reading, 4).status == StatusClass::unknown && !at(reading, 4).account_type, "unknown");
	check_equal(report::outcome(bureau::read_report(R"({"CCRResponse": {"Status": "1", "CIRReportDataLst": [{"Error": {"ErrorCode": "00", "ErrorDesc": "Consumer not found in bureau"}}]}})")),
		"skipped no_hit", "no hit");
}

TEST("CRIF: two generations of keys, instalments with their rhythm") {
	const Reading older = bureau::read_report(R"({"B2C-REPORT": {"HEADER": {"REPORT-ID": "N1", "DATE-OF-ISSUE": "25-11-2026"}, "REQUEST": {"NAME": "AARAV NAKLI", "PAN": "AAAPN0040A", "PHONES": {"PHONE": ["6000000040"]}},
		"ACCOUNTS-SUMMARY": {"PRIMARY-ACCOUNTS-SUMMARY": {"PRIMARY-NUMBER-OF-ACCOUNTS": "1"}, "SECONDARY-ACCOUNTS-SUMMARY": {"SECONDARY-NUMBER-OF-ACCOUNTS": "2"}},
		"RESPONSES": [{"RESPONSE": {"LOAN-DETAILS": {"ACCT-NUMBER": "XXXXXXXX4001", "CREDIT-GUARANTOR": "HDFC BANK LTD", "ACCT-TYPE": "Housing Loan", "DATE-REPORTED": "31-10-2026", "OWNERSHIP-IND": "Joint",
				"ACCOUNT-STATUS": "Active", "DISBURSED-AMT": "45,00,000", "DISBURSED-DT": "10-06-2019", "CURRENT-BAL": "38,90,000", "INSTALLMENT-AMT": "38,940/Monthly/Monthly",
				"COMBINED-PAYMENT-HISTORY": "Oct:2026,000/STD|Sep:2026,030/STD|Aug:2026,XXX/XXX|"}}},
			{"RESPONSE": {"LOAN-DETAILS": {"CREDIT-GUARANTOR": "Namuna Micro", "ACCT-TYPE": "Microfinance Housing Loan", "ACCOUNT-STATUS": "Active", "OWNERSHIP-IND": "Guarantor", "CURRENT-BAL": "1", "INSTALLMENT-AMT": "500/Weekly"}}},
			{"RESPONSE": {"LOAN-DETAILS": {"CREDIT-GUARANTOR": "Nakli Bank", "ACCT-TYPE": "Property Loan", "ACCOUNT-STATUS": "Closed", "CLOSED-DT": "2022-11-28 00:00:00.0"}}}],
		"SCORES": {"SCORE": [{"SCORE-VALUE": "760"}]}}})");
	check_equal(report::outcome(older) + " " + report::warnings(older), "ok ", "outcome");
	check(older.bureau == Bureau::crif && older.score == 760 && older.complete && older.mobile == "6000000040" && older.pan == "AAAPN0040A", "report");
	check(at(older, 0).balance == 389000000 && at(older, 0).emi == 3894000 && at(older, 0).holder == Holder::joint && at(older, 0).opened == Date{2019, 6, 10}, "home loan");
	check_equal(history(at(older, 0)), "202610:0 202609:30 202608:- ", "history");
	check(at(older, 1).account_type == 42 && !at(older, 1).emi && at(older, 1).holder == Holder::guarantor, "a weekly instalment is not a monthly one");
	check(at(older, 2).account_type == 3 && at(older, 2).status == StatusClass::closed && at(older, 2).closed == Date{2022, 11, 28}, "closed");
	const Reading newer = bureau::read_report(R"({"data": {"B2C-REPORT": {"HEADER-SEGMENT": {"REPORT-ID": "N2", "DATE-OF-REQUEST": "25-11-2026 10:16:00"}, "REPORT-DATA": {"STANDARD-DATA": {"TRADELINES": [
			{"ACCT-NUMBER": "XXXXXXXX4001", "CREDIT-GRANTOR": "HDFC BANK LTD", "ACCT-TYPE": "Pradhan Mantri Awas Yojana - CLSS", "REPORTED-DT": "31-10-2026", "OWNERSHIP-TYPE": "Individual", "ACCOUNT-STATUS": "Active",
				"CURRENT-BAL": "38,90,000", "HISTORY": [{"NAME": "COMBINED-PAYMENT-HISTORY", "DATES": "Oct:2026|Sep:2026|", "VALUES": "000/STD|060/STD|"}, {"NAME": "AMOUNT-PAID-HISTORY", "DATES": "Oct:2026|", "VALUES": "1|"}]}],
		"SCORE": [{"NAME": "PERFORM CONSUMER 2.2", "VALUE": "760"}]}, "ACCOUNTS-SUMMARY": {"PRIMARY-ACCOUNTS-SUMMARY": {"NUMBER-OF-ACCOUNTS": "1"}}}}}})");
	check_equal(report::outcome(newer) + " " + report::warnings(newer), "ok ", "outcome");
	check(newer.score == 760 && newer.complete && at(newer, 0).account_type == 44, "report");
	check_equal(newer.report_unix_ms.value_or(0), 1795581960000, "time");
	check_equal(history(at(newer, 0)), "202610:0 202609:60 ", "history");
}

int main() { return tap::run(); }
