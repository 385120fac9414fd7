#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bureau::syntax {

// Every key this reader knows, in its commonest spelling. A key in a body is matched by its letters and digits alone, without case and
// without a namespace prefix: CAIS_Account_DETAILS, caisAccountDetails and ns:cais_account_details are one. Bureaus share a field where
// they share the letters; which object it stands in says whose it is.
#define BUREAU_FIELDS(X) \
	/* envelopes */ \
	X(result_code, "result_code") X(http_response_code, "http_response_code") X(status_code, "status_code") X(status, "status") \
	X(success, "success") X(message, "message") X(error_string, "errorString") X(error, "error") X(error_desc, "ErrorDesc") \
	X(fault, "Fault") X(element_text, "#text") \
	/* Experian: report */ \
	X(in_profile_response, "INProfileResponse") X(header, "Header") X(report_date, "ReportDate") X(report_time, "ReportTime") \
	X(user_message, "UserMessage") X(user_message_text, "UserMessageText") X(credit_profile_header, "CreditProfileHeader") \
	X(report_number, "ReportNumber") X(current_application, "Current_Application") \
	X(current_application_details, "Current_Application_Details") X(current_applicant_details, "Current_Applicant_Details") \
	X(last_name, "Last_Name") X(first_name, "First_Name") X(middle_name1, "Middle_Name1") X(middle_name2, "Middle_Name2") \
	X(middle_name3, "Middle_Name3") X(income_tax_pan, "IncomeTaxPan") \
	X(telephone_number_applicant, "Telephone_Number_Applicant_1st") X(mobile_phone_number, "MobilePhoneNumber") \
	X(cais_account, "CAIS_Account") X(cais_summary, "CAIS_Summary") X(credit_account, "Credit_Account") \
	X(credit_account_total, "CreditAccountTotal") X(cais_account_details, "CAIS_Account_DETAILS") X(score, "SCORE") \
	X(bureau_score, "BureauScore") X(fcirex_score, "FCIREXScore") \
	/* Experian: account */ \
	X(subscriber_name, "Subscriber_Name") X(account_number, "Account_Number") X(account_type, "Account_Type") X(open_date, "Open_Date") \
	X(credit_limit_amount, "Credit_Limit_Amount") X(highest_credit, "Highest_Credit_or_Original_Loan_Amount") \
	X(terms_duration, "Terms_Duration") X(terms_frequency, "Terms_Frequency") \
	X(scheduled_payment, "Scheduled_Monthly_Payment_Amount") X(account_status, "Account_Status") \
	X(current_balance, "Current_Balance") X(amount_past_due, "Amount_Past_Due") X(date_reported, "Date_Reported") \
	X(date_closed, "Date_Closed") X(date_of_last_payment, "Date_of_Last_Payment") \
	X(suit_filed_wilful_default, "SuitFiled_WilfulDefault") X(written_off_settled_status, "Written_off_Settled_Status") \
	X(written_off_amount, "Written_Off_Amt_Total") X(written_off_principal, "Written_Off_Amt_Principal") \
	X(rate_of_interest, "Rate_of_Interest") X(repayment_tenure, "Repayment_Tenure") X(holder_type_code, "AccountHoldertypeCode") \
	X(cais_account_history, "CAIS_Account_History") X(year, "Year") X(month, "Month") X(days_past_due, "Days_Past_Due") \
	X(cais_holder_details, "CAIS_Holder_Details") X(surname_as_given, "Surname_Non_Normalized") \
	X(first_name_as_given, "First_Name_Non_Normalized") X(middle_name1_as_given, "Middle_Name_1_Non_Normalized") \
	X(middle_name2_as_given, "Middle_Name_2_Non_Normalized") X(middle_name3_as_given, "Middle_Name_3_Non_Normalized") \
	X(cais_holder_address_details, "CAIS_Holder_Address_Details") X(cais_holder_phone_details, "CAIS_Holder_Phone_Details") \
	X(telephone_number, "Telephone_Number") X(mobile_telephone_number, "Mobile_Telephone_Number") \
	X(cais_holder_id_details, "CAIS_Holder_ID_Details") \
	/* CIBIL: TUEF as JSON */ \
	X(consumer_credit_data, "consumerCreditData") X(tuef_header, "tuefHeader") \
	X(date_processed, "dateProcessed") X(time_processed, "timeProcessed") X(enquiry_control_number, "enquiryControlNumber") \
	X(names, "names") X(name, "name") X(ids, "ids") X(id_type, "idType") X(id_number, "idNumber") X(telephones, "telephones") \
	X(scores, "scores") X(accounts, "accounts") X(member_short_name, "memberShortName") X(ownership_indicator, "ownershipIndicator") \
	X(date_opened, "dateOpened") X(last_payment_date, "lastPaymentDate") X(high_credit_amount, "highCreditAmount") \
	X(credit_limit, "creditLimit") X(amount_overdue, "amountOverdue") X(payment_history, "paymentHistory") \
	X(payment_start_date, "paymentStartDate") X(payment_end_date, "paymentEndDate") X(emi_amount, "emiAmount") X(interest_rate, "interestRate") \
	X(payment_tenure, "paymentTenure") X(credit_facility_status, "creditFacilityStatus") X(total_accounts, "totalAccounts") \
	X(consumer_summary_data, "consumerSummaryData") X(account_summary, "accountSummary") \
	/* CIBIL: consumer report (TrueLink) */ \
	X(true_link_credit_report, "TrueLinkCreditReport") X(borrower, "Borrower") X(credit_score, "CreditScore") X(risk_score, "riskScore") \
	X(borrower_name, "BorrowerName") X(forename, "Forename") X(surname, "Surname") X(borrower_telephone, "BorrowerTelephone") \
	X(phone_number, "PhoneNumber") X(number, "Number") X(identifier_partition, "IdentifierPartition") X(identifier, "Identifier") \
	X(identifier_name, "IdentifierName") X(id, "Id") X(trade_line_partition, "TradeLinePartition") X(trade_line, "Tradeline") \
	X(account_type_symbol, "accountTypeSymbol") X(account_type_description, "accountTypeDescription") \
	X(creditor_name, "creditorName") X(high_balance, "highBalance") X(open_closed, "OpenClosed") X(symbol, "symbol") \
	X(description, "description") X(account_designator, "AccountDesignator") X(granted_trade, "GrantedTrade") \
	X(term_months, "termMonths") X(date_last_payment, "dateLastPayment") X(pay_status_history, "PayStatusHistory") \
	X(monthly_pay_status, "MonthlyPayStatus") X(date, "date") X(reference_key, "ReferenceKey") X(sources, "Sources") \
	X(source, "Source") X(inquiry_date, "InquiryDate") X(creation_date, "CreationDate") \
	/* Equifax */ \
	X(inquiry_response_header, "InquiryResponseHeader") X(report_order_number, "ReportOrderNO") X(time, "Time") \
	X(ccr_response, "CCRResponse") X(cir_report_data_list, "CIRReportDataLst") X(cir_report_data, "CIRReportData") \
	X(id_and_contact_info, "IDAndContactInfo") X(personal_info, "PersonalInfo") X(full_name, "FullName") X(middle_name, "MiddleName") \
	X(identity_info, "IdentityInfo") X(pan_id, "PANId") X(phone_info, "PhoneInfo") X(retail_account_details, "RetailAccountDetails") \
	X(institution, "Institution") X(ownership_type, "OwnershipType") X(balance, "Balance") X(past_due_amount, "PastDueAmount") \
	X(open, "Open") X(sanction_amount, "SanctionAmount") X(high_credit, "HighCredit") X(installment_amount, "InstallmentAmount") \
	X(write_off_amount, "WriteOffAmount") X(history_48_months, "History48Months") X(key, "key") X(payment_status, "PaymentStatus") \
	X(score_details, "ScoreDetails") X(value, "Value") X(retail_accounts_summary, "RetailAccountsSummary") \
	X(no_of_accounts, "NoOfAccounts") \
	/* CRIF High Mark */ \
	X(b2c_report, "B2C-REPORT") X(indv_report, "INDV-REPORT") X(header_segment, "HEADER-SEGMENT") X(report_id, "REPORT-ID") \
	X(date_of_issue, "DATE-OF-ISSUE") X(date_of_request, "DATE-OF-REQUEST") X(report_data, "REPORT-DATA") \
	X(standard_data, "STANDARD-DATA") X(responses, "RESPONSES") X(response, "RESPONSE") X(loan_details, "LOAN-DETAILS") \
	X(trade_lines, "TRADELINES") X(acct_number, "ACCT-NUMBER") X(credit_guarantor, "CREDIT-GUARANTOR") \
	X(credit_grantor, "CREDIT-GRANTOR") X(acct_type, "ACCT-TYPE") X(reported_dt, "REPORTED-DT") X(ownership_ind, "OWNERSHIP-IND") \
	X(disbursed_amt, "DISBURSED-AMT") X(disbursed_dt, "DISBURSED-DT") X(closed_dt, "CLOSED-DT") X(current_bal, "CURRENT-BAL") \
	X(overdue_amt, "OVERDUE-AMT") X(write_off_amt, "WRITE-OFF-AMT") X(installment_amt, "INSTALLMENT-AMT") \
	X(last_payment_dt, "LAST-PAYMENT-DT") X(combined_payment_history, "COMBINED-PAYMENT-HISTORY") X(history, "HISTORY") \
	X(dates, "DATES") X(values, "VALUES") X(score_value, "SCORE-VALUE") X(accounts_summary, "ACCOUNTS-SUMMARY") \
	X(primary_accounts_summary, "PRIMARY-ACCOUNTS-SUMMARY") X(primary_number_of_accounts, "PRIMARY-NUMBER-OF-ACCOUNTS") \
	X(secondary_accounts_summary, "SECONDARY-ACCOUNTS-SUMMARY") X(secondary_number_of_accounts, "SECONDARY-NUMBER-OF-ACCOUNTS") \
	X(number_of_accounts, "NUMBER-OF-ACCOUNTS") X(request, "REQUEST") X(request_data, "REQUEST-DATA") \
	X(applicant_segment, "APPLICANT-SEGMENT") X(pan, "PAN") X(phones, "PHONES") X(phone, "PHONE") X(phone_1, "PHONE-1") \
	X(suit_filed_status, "SUIT-FILED-STATUS")

enum class Field : std::uint16_t {
	unknown,
#define BUREAU_FIELD_NAME(symbol, name) symbol,
	BUREAU_FIELDS(BUREAU_FIELD_NAME)
#undef BUREAU_FIELD_NAME
	count_ // not a field
};

inline constexpr std::size_t field_count = static_cast<std::size_t>(Field::count_);

// Empty for Field::unknown.
std::string_view field_name(Field field) noexcept;

Field find_field(std::string_view key) noexcept;

// find_field, faster for keys that come again and again in one spelling, within a text and from text to text.
class FieldCache {
public:
	Field find(std::string_view key) noexcept;

private:
	static constexpr std::size_t longest_key = 48;
	struct Entry {
		char key[longest_key] = {};
		std::uint32_t length = 0;
		Field field = Field::unknown;

		bool is(std::string_view wanted) const noexcept;
	};
	static constexpr std::size_t entry_count = 512;
	Entry entries_[entry_count];
};

} // namespace bureau::syntax
