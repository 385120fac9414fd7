#include <array>

#include "bureau/codes.hpp"
#include "bureau/fold.hpp"
#include "bureau/forms/account.hpp"
#include "bureau/forms/report.hpp"

namespace bureau::forms {

using syntax::Field;
using syntax::Members;
using syntax::View;

namespace {

constexpr AccountPlaces places = {
	.lender = {Field::credit_guarantor, Field::credit_grantor},
	.number = {Field::acct_number},
	.type = {Field::acct_type},
	.holder = {Field::ownership_ind, Field::ownership_type},
	.opened = {Field::disbursed_dt},
	.closed = {Field::closed_dt, Field::date_closed},
	.reported = {Field::date_reported, Field::reported_dt},
	.last_payment = {Field::last_payment_dt, Field::last_payment_date},
	.sanctioned = {Field::disbursed_amt, Field::credit_limit},
	.balance = {Field::current_bal},
	.past_due = {Field::overdue_amt},
	.written_off = {Field::write_off_amt},
	.rate = {Field::interest_rate},
	.tenure = {Field::repayment_tenure},
	.written_off_settled = {Field::written_off_settled_status},
	.suit_filed = {Field::suit_filed_status, Field::suit_filed_wilful_default},
};

ReportedStatus status_at(const Members &account) {
	const std::string_view text = account.text(Field::account_status);
	return {.code = text, .status = text.empty() ? std::nullopt : status_of(text), .missing = text.empty()};
}

// "4,094/Monthly/Monthly"; an instalment of another rhythm is not what the borrower pays a month.
void read_instalment(const Members &account, AccountReader &reader, Tradeline &tradeline) {
	const std::string_view text = account.text(Field::installment_amt);
	const std::size_t slash = text.find('/');
	const std::string rhythm = slash == std::string_view::npos ? std::string() : letters_and_digits(text.substr(slash));
	if (rhythm.empty() || rhythm.starts_with("MONTHLY"))
		tradeline.emi = reader.amount(text.substr(0, slash), Field::installment_amt);
}

// Cuts off what stands before the separator.
std::string_view next(std::string_view &text, char separator) {
	const std::size_t end = text.find(separator);
	const std::string_view piece = text.substr(0, end);
	text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
	return piece;
}

std::string_view month_number(std::string_view name) {
	constexpr auto months = std::to_array<std::string_view>({"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"});
	constexpr auto numbers = std::to_array<std::string_view>({"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"});
	const std::string key = letters_and_digits(name).substr(0, 3);
	for (std::size_t at = 0; at < months.size(); ++at)
		if (months[at] == key)
			return numbers[at];
	return {};
}

// date: "Oct:2026"; value: "000/STD".
void add_month(std::string_view date, std::string_view value, AccountReader &reader, Tradeline &tradeline) {
	const std::string_view month = month_number(next(date, ':'));
	if (month.empty())
		return;
	const auto dpd = reader.days_past_due(next(value, '/'), Field::combined_payment_history);
	reader.add_month(date, Field::combined_payment_history, month, Field::combined_payment_history, dpd, tradeline);
}

void read_history(View account, AccountReader &reader, Tradeline &tradeline) {
	std::string_view combined = account.child(Field::combined_payment_history).text();
	while (!combined.empty()) {
		std::string_view entry = next(combined, '|');
		const std::string_view date = next(entry, ',');
		add_month(date, entry, reader, tradeline);
	}
	account.each(Field::history, [&](View row) {
		if (letters_and_digits(row.child(Field::name).text()) != "COMBINEDPAYMENTHISTORY")
			return;
		std::string_view dates = row.child(Field::dates).text();
		std::string_view values = row.child(Field::values).text();
		while (!dates.empty()) {
			const std::string_view date = next(dates, '|');
			add_month(date, next(values, '|'), reader, tradeline);
		}
	});
	AccountReader::finish_history(tradeline);
}

void read_account(View row, AccountReader &reader, Report &to) {
	Tradeline *tradeline = to.add_tradeline(row);
	if (!tradeline)
		return;
	const Members account(row);
	reader.read(account, status_at(account), Field::account_status, *tradeline);
	read_instalment(account, reader, *tradeline);
	read_history(row, reader, *tradeline);
}

void read_summary(View around, Report &to) {
	const auto announce = [&](Field part, Field long_name) {
		const Members summary(around.child(Field::accounts_summary).child(part));
		const std::string_view count = summary.text(long_name);
		to.announce_accounts(count.empty() ? summary.text(Field::number_of_accounts) : count);
	};
	announce(Field::primary_accounts_summary, Field::primary_number_of_accounts);
	announce(Field::secondary_accounts_summary, Field::secondary_number_of_accounts);
}

void read_request(View request, Report &to) {
	to.offer_name({request.child(Field::name).text()});
	to.offer_name({request.child(Field::first_name).text(), request.child(Field::middle_name).text(), request.child(Field::last_name).text()});
	to.offer_pan(request.child(Field::pan).text(), Field::pan);
	request.child(Field::phones).each(Field::phone, [&](View phone) { to.offer_mobile(phone.text()); });
	to.offer_mobile(request.child(Field::phone_1).text());
}

} // namespace

void read_crif(View report, Report &to) {
	for (const Field block : {Field::header, Field::header_segment}) {
		const Members header(report.child(block));
		to.offer_day(header.text(Field::date_of_issue), Field::date_of_issue, DateOrder::day_first);
		to.offer_day(header.text(Field::date_of_request), Field::date_of_request, DateOrder::day_first);
		if (to.reading.report_number.empty())
			to.reading.report_number = header.text(Field::report_id);
	}
	read_request(report.child(Field::request), to);
	read_request(report.child(Field::request_data).child(Field::applicant_segment), to);
	const View data = report.child(Field::report_data) ? report.child(Field::report_data) : report;
	read_summary(data, to);
	AccountReader reader(Bureau::crif, DateOrder::day_first, places, to.warnings);
	report.each(Field::responses, [&](View responses) {
		responses.each(Field::response, [&](View response) {
			response.each(Field::loan_details, [&](View row) { read_account(row, reader, to); });
		});
		responses.each(Field::loan_details, [&](View row) { read_account(row, reader, to); });
	});
	const View standard = data.child(Field::standard_data);
	standard.each(Field::trade_lines, [&](View row) { read_account(row, reader, to); });
	report.child(Field::scores).each(Field::score, [&](View row) { to.offer_score(row.child(Field::score_value).text()); });
	standard.each(Field::score, [&](View row) { to.offer_score(row.child(Field::value).text()); });
}

} // namespace bureau::forms
