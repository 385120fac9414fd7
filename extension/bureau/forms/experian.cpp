#include "bureau/codes.hpp"
#include "bureau/forms/account.hpp"
#include "bureau/forms/report.hpp"

namespace bureau::forms {

using syntax::Field;
using syntax::Members;
using syntax::View;

namespace {

constexpr AccountPlaces places = {
	.lender = {Field::subscriber_name},
	.number = {Field::account_number},
	.type = {Field::account_type},
	.holder = {Field::holder_type_code},
	.opened = {Field::open_date},
	.closed = {Field::date_closed},
	.reported = {Field::date_reported},
	.last_payment = {Field::date_of_last_payment},
	.sanctioned = {Field::highest_credit, Field::credit_limit_amount},
	.balance = {Field::current_balance},
	.past_due = {Field::amount_past_due},
	.emi = {Field::scheduled_payment},
	.written_off = {Field::written_off_amount, Field::written_off_principal},
	.rate = {Field::rate_of_interest},
	.tenure = {Field::repayment_tenure},
	.written_off_settled = {Field::written_off_settled_status, Field::credit_facility_status},
	.suit_filed = {Field::suit_filed_wilful_default},
};

ReportedStatus status_at(const Members &account) {
	const std::string_view text = account.text(Field::account_status);
	if (text.empty())
		return {.missing = true};
	const auto code = parse_count(text, 9999).value;
	if (!code)
		return {.code = text, .status = status_of(text)};
	const AccountStatus *known = find_account_status(*code);
	return {.code = text, .status = known ? std::optional(known->status) : std::nullopt};
}

// Where the tenure is unknown, a term counted in months is the same.
void read_term(const Members &account, AccountReader &reader, Tradeline &tradeline) {
	if (!tradeline.tenure_months && account.text(Field::terms_frequency) == "M")
		tradeline.tenure_months = reader.months(account.text(Field::terms_duration), Field::terms_duration);
}

void read_history(View account, AccountReader &reader, Tradeline &tradeline) {
	account.each(Field::cais_account_history, [&](View row) {
		std::string_view year, month, days;
		row.each_member([&](View member) {
			if (member.field() == Field::year)
				year = member.text();
			else if (member.field() == Field::month)
				month = member.text();
			else if (member.field() == Field::days_past_due)
				days = member.text();
		});
		const auto dpd = reader.days_past_due(days, Field::days_past_due);
		reader.add_month(year, Field::year, month, Field::month, dpd, tradeline);
	});
	AccountReader::finish_history(tradeline);
}

void read_applicant(View report, Report &to) {
	const Members applicant(report.child(Field::current_application).child(Field::current_application_details).child(Field::current_applicant_details));
	const auto text = [&](Field field) { return applicant.text(field); };
	to.offer_name({text(Field::first_name), text(Field::middle_name1), text(Field::middle_name2), text(Field::middle_name3), text(Field::last_name)});
	to.offer_pan(text(Field::income_tax_pan), Field::income_tax_pan);
	to.offer_mobile(text(Field::mobile_phone_number));
	to.offer_mobile(text(Field::telephone_number_applicant));
}

// Where the applicant's own block is empty, the lenders' records stand in.
void read_holders(View account, Report &to) {
	account.each(Field::cais_holder_details, [&](View row) {
		const Members holder(row);
		const auto text = [&](Field field) { return holder.text(field); };
		to.offer_name({text(Field::first_name_as_given), text(Field::middle_name1_as_given), text(Field::middle_name2_as_given),
			text(Field::middle_name3_as_given), text(Field::surname_as_given)});
		to.offer_pan(text(Field::income_tax_pan), Field::income_tax_pan);
	});
	account.each(Field::cais_holder_id_details, [&](View row) { to.offer_pan(row.child(Field::income_tax_pan).text(), Field::income_tax_pan); });
	for (const Field field : {Field::mobile_telephone_number, Field::telephone_number})
		account.each(Field::cais_holder_phone_details, [&](View row) { to.offer_mobile(row.child(field).text()); });
}

void read_header(View report, Report &to) {
	for (const Field block : {Field::credit_profile_header, Field::header}) {
		const Members header(report.child(block));
		to.offer_day(header.text(Field::report_date), Field::report_date, DateOrder::year_first);
		to.offer_time(header.text(Field::report_time));
		if (to.reading.report_number.empty())
			to.reading.report_number = header.text(Field::report_number);
	}
}

} // namespace

void read_experian(View report, Report &to) {
	read_header(report, to);
	const View score = report.child(Field::score);
	to.offer_score(score.child(Field::bureau_score).text());
	to.offer_score(score.child(Field::fcirex_score).text());
	to.offer_score(score.child(Field::fcirex_score).child(Field::bureau_score).text());
	read_applicant(report, to);
	const View cais = report.child(Field::cais_account) ? report.child(Field::cais_account) : report;
	to.announce_accounts(cais.child(Field::cais_summary).child(Field::credit_account).child(Field::credit_account_total).text());
	AccountReader reader(Bureau::experian, DateOrder::year_first, places, to.warnings);
	cais.each(Field::cais_account_details, [&](View row) {
		Tradeline *tradeline = to.add_tradeline(row);
		if (!tradeline)
			return;
		const Members account(row);
		reader.read(account, status_at(account), Field::account_status, *tradeline);
		read_term(account, reader, *tradeline);
		read_history(row, reader, *tradeline);
		if (to.reading.name.empty() || to.reading.pan.empty() || to.reading.mobile.empty())
			read_holders(row, to);
	});
}

} // namespace bureau::forms
