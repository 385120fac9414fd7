#include <algorithm>

#include "bureau/forms/account.hpp"
#include "bureau/forms/report.hpp"

namespace bureau::forms {

using syntax::Field;
using syntax::Members;
using syntax::View;

namespace {

constexpr AccountPlaces places = {
	.lender = {Field::member_short_name},
	.number = {Field::account_number},
	.type = {Field::account_type},
	.holder = {Field::ownership_indicator},
	.opened = {Field::date_opened},
	.closed = {Field::date_closed},
	.reported = {Field::date_reported},
	.last_payment = {Field::last_payment_date},
	.sanctioned = {Field::high_credit_amount, Field::credit_limit},
	.balance = {Field::current_balance},
	.past_due = {Field::amount_overdue},
	.emi = {Field::emi_amount},
	.written_off = {Field::written_off_amount, Field::written_off_principal},
	.rate = {Field::interest_rate},
	.tenure = {Field::payment_tenure},
	.written_off_settled = {Field::credit_facility_status, Field::written_off_settled_status},
	.suit_filed = {Field::suit_filed_wilful_default},
};

constexpr std::string_view pan_type = "1"; // of idType, without leading zeros

// Three characters a month from the newest to the oldest: days past due, or letters that give none. The start day is the newest, but
// not everywhere; without either day the reporting month counts.
void read_history(const Members &account, AccountReader &reader, Tradeline &tradeline) {
	constexpr std::size_t width = 3;
	const auto start = reader.date(account.text(Field::payment_start_date), Field::payment_start_date);
	const auto end = reader.date(account.text(Field::payment_end_date), Field::payment_end_date);
	const auto newest = std::max(start, end) ? std::max(start, end) : tradeline.reported;
	if (!newest)
		return;
	int months = newest->year * 12 + newest->month - 1;
	for (std::string_view history = account.text(Field::payment_history); history.size() >= width && months >= 1900 * 12; --months) {
		const auto dpd = reader.days_past_due(history.substr(0, width), Field::payment_history);
		tradeline.history.push_back({static_cast<std::int16_t>(months / 12), static_cast<std::int8_t>(months % 12 + 1), dpd});
		history.remove_prefix(width);
	}
	AccountReader::finish_history(tradeline);
}

std::string_view without_leading_zeros(std::string_view text) {
	text.remove_prefix(std::min(text.find_first_not_of('0'), text.size()));
	return text;
}

void read_person(View consumer, Report &to) {
	consumer.each(Field::names, [&](View row) { to.offer_name({row.child(Field::name).text()}); });
	consumer.each(Field::ids, [&](View row) {
		if (without_leading_zeros(row.child(Field::id_type).text()) == pan_type)
			to.offer_pan(row.child(Field::id_number).text(), Field::id_number);
	});
	consumer.each(Field::telephones, [&](View row) { to.offer_mobile(row.child(Field::telephone_number).text()); });
	consumer.each(Field::scores, [&](View row) {
		to.offer_score(row.child(Field::score).text());
		to.no_record = to.no_record || without_leading_zeros(row.child(Field::score).text()) == "-1";
	});
}

void read_consumer(View consumer, Report &to) {
	const Members header(consumer.child(Field::tuef_header));
	to.offer_day(header.text(Field::date_processed), Field::date_processed, DateOrder::day_first);
	to.offer_time(header.text(Field::time_processed));
	to.reading.report_number = header.text(Field::enquiry_control_number);
	read_person(consumer, to);
	AccountReader reader(Bureau::cibil, DateOrder::day_first, places, to.warnings);
	consumer.each(Field::accounts, [&](View row) {
		Tradeline *tradeline = to.add_tradeline(row);
		if (!tradeline)
			return;
		const Members account(row);
		reader.read(account, {.status = StatusClass::active, .by_closing_day = true}, Field::date_closed, *tradeline);
		read_history(account, reader, *tradeline);
	});
}

} // namespace

void read_cibil(View report, Report &to) {
	const View consumer = report.child(Field::consumer_credit_data);
	read_consumer(consumer ? consumer : report, to);
	to.announce_accounts(report.child(Field::consumer_summary_data).child(Field::account_summary).child(Field::total_accounts).text());
}

} // namespace bureau::forms
