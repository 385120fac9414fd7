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
	.lender = {Field::creditor_name},
	.number = {Field::account_number},
	.type = {Field::account_type_symbol, Field::account_type_description},
	.opened = {Field::date_opened},
	.closed = {Field::date_closed},
	.reported = {Field::date_reported},
	.last_payment = {Field::date_last_payment, Field::last_payment_date},
	.sanctioned = {Field::high_balance, Field::credit_limit},
	.balance = {Field::current_balance},
	.past_due = {Field::amount_past_due},
	.emi = {Field::emi_amount},
	.written_off = {Field::written_off_amount, Field::written_off_principal},
	.rate = {Field::interest_rate},
	.tenure = {Field::term_months, Field::repayment_tenure},
	.written_off_settled = {Field::written_off_settled_status, Field::credit_facility_status},
	.suit_filed = {Field::suit_filed_wilful_default},
};

ReportedStatus status_at(View trade) {
	const View open_closed = trade.child(Field::open_closed);
	const std::string_view symbol = open_closed.child(Field::symbol).text();
	const std::string_view text = symbol.empty() ? open_closed.child(Field::description).text() : symbol;
	if (text.empty())
		return {.status = StatusClass::active, .missing = true};
	const std::string word = letters_and_digits(text);
	if (word == "O" || word == "OPEN")
		return {.code = text, .status = StatusClass::active};
	if (word == "C" || word == "CLOSED")
		return {.code = text, .status = StatusClass::closed};
	return {.code = text, .status = status_of(text)};
}

void read_history(View granted, AccountReader &reader, Tradeline &tradeline) {
	granted.child(Field::pay_status_history).each(Field::monthly_pay_status, [&](View row) {
		const auto day = reader.date(row.child(Field::date).text(), Field::monthly_pay_status);
		const auto dpd = reader.days_past_due(row.child(Field::status).text(), Field::monthly_pay_status);
		if (day)
			tradeline.history.push_back({day->year, day->month, dpd});
	});
	AccountReader::finish_history(tradeline);
}

void read_trade(View partition, View trade, AccountReader &reader, Report &to) {
	Tradeline *tradeline = to.add_tradeline(trade);
	if (!tradeline)
		return;
	const View granted = trade.child(Field::granted_trade);
	Members account(partition);
	account.add(granted);
	account.add(trade);
	reader.read(account, status_at(trade), Field::open_closed, *tradeline);
	const View designator = trade.child(Field::account_designator);
	const std::string_view words = designator.child(Field::description).text();
	reader.read_holder(words.empty() ? designator.child(Field::symbol).text() : words, Field::account_designator, *tradeline);
	read_history(granted, reader, *tradeline);
}

void read_borrower(View borrower, Report &to) {
	const View name = borrower.child(Field::borrower_name).child(Field::name);
	to.offer_name({name.child(Field::forename).text(), name.child(Field::middle_name).text(), name.child(Field::surname).text()});
	borrower.child(Field::identifier_partition).each(Field::identifier, [&](View row) {
		const View id = row.child(Field::id).is(syntax::Kind::object) ? row.child(Field::id) : row;
		const std::string kind = letters_and_digits(id.child(Field::identifier_name).text());
		if (kind == "TAXID" || kind == "PAN" || kind == "PANID")
			to.offer_pan(id.child(Field::id).text(), Field::identifier);
	});
	borrower.each(Field::borrower_telephone, [&](View row) { to.offer_mobile(row.child(Field::phone_number).child(Field::number).text()); });
	borrower.each(Field::credit_score, [&](View row) { to.offer_score(row.child(Field::risk_score).text()); });
}

} // namespace

void read_true_link(View report, Report &to) {
	const View found = report.child(Field::true_link_credit_report);
	const View credit = found ? found : report;
	const View borrower = credit.child(Field::borrower);
	to.offer_day(credit.child(Field::sources).child(Field::source).child(Field::inquiry_date).text(), Field::inquiry_date, DateOrder::year_first);
	to.offer_day(report.child(Field::creation_date).text(), Field::creation_date, DateOrder::year_first);
	to.reading.report_number = credit.child(Field::reference_key).text();
	read_borrower(borrower, to);
	AccountReader reader(Bureau::cibil, DateOrder::year_first, places, to.warnings);
	for (const View holder : {credit, borrower})
		holder.each(Field::trade_line_partition, [&](View partition) {
			partition.each(Field::trade_line, [&](View trade) { read_trade(partition, trade, reader, to); });
		});
}

} // namespace bureau::forms
