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
	.lender = {Field::institution},
	.number = {Field::account_number},
	.type = {Field::account_type},
	.holder = {Field::ownership_type},
	.opened = {Field::date_opened},
	.closed = {Field::date_closed},
	.reported = {Field::date_reported},
	.last_payment = {Field::last_payment_date},
	.sanctioned = {Field::sanction_amount, Field::high_credit, Field::credit_limit},
	.balance = {Field::balance, Field::current_balance},
	.past_due = {Field::past_due_amount},
	.emi = {Field::installment_amount},
	.written_off = {Field::write_off_amount},
	.rate = {Field::interest_rate},
	.tenure = {Field::repayment_tenure},
	.suit_filed = {Field::suit_filed_status},
};

// The account's own words say more than Open, which only parts the living from the ended.
ReportedStatus status_at(const Members &account) {
	const std::string_view text = account.text(Field::account_status);
	const std::string open = letters_and_digits(account.text(Field::open));
	const auto words = text.empty() ? std::nullopt : status_of(text);
	if (open == "NO" || open == "N")
		return {.code = text, .status = words && *words != StatusClass::active ? words : StatusClass::closed};
	if (open == "YES" || open == "Y")
		return {.code = text, .status = words.value_or(StatusClass::active)};
	return {.code = text, .status = words, .missing = text.empty()};
}

// Keys are "10-26". Buckets such as "30+" count as their lower end.
void read_history(View account, AccountReader &reader, Tradeline &tradeline) {
	account.each(Field::history_48_months, [&](View row) {
		const std::string_view key = row.child(Field::key).text();
		std::string_view status = row.child(Field::payment_status).text();
		if (status.ends_with('+'))
			status.remove_suffix(1);
		const auto dpd = reader.days_past_due(status, Field::payment_status);
		const std::size_t dash = key.find('-');
		if (dash == std::string_view::npos)
			return;
		const std::string_view year = key.substr(dash + 1);
		reader.add_month(year.size() == 2 ? "20" + std::string(year) : std::string(year), Field::key, key.substr(0, dash), Field::key, dpd, tradeline);
	});
	AccountReader::finish_history(tradeline);
}

void read_person(View data, Report &to) {
	const View contact = data.child(Field::id_and_contact_info);
	const View name = contact.child(Field::personal_info).child(Field::name);
	to.offer_name({name.child(Field::full_name).text()});
	to.offer_name({name.child(Field::first_name).text(), name.child(Field::middle_name).text(), name.child(Field::last_name).text()});
	contact.child(Field::identity_info).each(Field::pan_id, [&](View row) { to.offer_pan(row.child(Field::id_number).text(), Field::pan_id); });
	contact.each(Field::phone_info, [&](View row) { to.offer_mobile(row.child(Field::number).text()); });
	data.each(Field::score_details, [&](View row) { to.offer_score(row.child(Field::value).text()); });
}

void read_header(View around, Report &to) {
	const Members header(around.child(Field::inquiry_response_header));
	to.offer_day(header.text(Field::date), Field::date, DateOrder::year_first);
	to.offer_time(header.text(Field::time));
	if (to.reading.report_number.empty())
		to.reading.report_number = header.text(Field::report_order_number);
}

void read_data(View data, AccountReader &reader, Report &to) {
	read_person(data, to);
	to.announce_accounts(data.child(Field::retail_accounts_summary).child(Field::no_of_accounts).text());
	data.each(Field::retail_account_details, [&](View row) {
		Tradeline *tradeline = to.add_tradeline(row);
		if (!tradeline)
			return;
		const Members account(row);
		reader.read(account, status_at(account), Field::account_status, *tradeline);
		read_history(row, reader, *tradeline);
	});
}

} // namespace

void read_equifax(View report, Report &to) {
	AccountReader reader(Bureau::equifax, DateOrder::year_first, places, to.warnings);
	read_header(report, to);
	const View response = report.child(Field::ccr_response) ? report.child(Field::ccr_response) : report;
	const auto read_part = [&](View part) {
		read_header(part, to);
		part.each(Field::cir_report_data, [&](View data) { read_data(data, reader, to); });
	};
	response.each(Field::cir_report_data_list, read_part);
	read_part(response);
	read_data(response, reader, to);
}

} // namespace bureau::forms
