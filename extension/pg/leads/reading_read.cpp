#include "pg/leads/reading_row.hpp"
#include "pg/leads/words.hpp"

namespace bt {

namespace {

std::vector<bureau::HistoryMonth> read_history(RowReader &row) {
	std::vector<bureau::HistoryMonth> history;
	const std::optional<bureau::Date> newest = row.date();
	if (!newest)
		return row.skip(), history;
	std::vector<bool> unknown;
	const std::vector<Datum> dpd = array_elements(row.datum(), &unknown);
	const int first = newest->year * 12 + newest->month - 1;
	for (std::size_t age = 0; age < dpd.size(); ++age) {
		const int month = first - static_cast<int>(age);
		if (!unknown[age])
			history.push_back({static_cast<std::int16_t>(month / 12), static_cast<std::int8_t>(month % 12 + 1), DatumGetInt32(dpd[age])});
	}
	return history;
}

std::optional<int> read_rate(RowReader &row) {
	const std::optional<bureau::Paise> hundredths = row.amount();
	return hundredths ? std::optional(static_cast<int>(*hundredths)) : std::nullopt;
}

} // namespace

std::vector<bureau::Warning> read_warnings(RowReader &row) {
	std::vector<bureau::Warning> warnings;
	row.skip(); // the codes alone
	for (const Datum element : row.elements()) {
		const std::string warning = text_of(element);
		const std::size_t colon = warning.find(':');
		warnings.push_back({warning.substr(0, colon), colon == warning.npos ? "" : warning.substr(colon + 1)});
	}
	return warnings;
}

bureau::Tradeline read_tradeline(Datum datum) {
	RowReader row(datum);
	bureau::Tradeline t;
	t.position = row.int4().value_or(0);
	t.lender = row.text();
	t.lender_family = row.text();
	t.lender_masked = row.boolean();
	t.account_number = row.text();
	t.number_tail = row.text();
	t.account_type = row.int4();
	t.status_code = row.text();
	t.status = status_class_of(row.text());
	t.holder = holder_of(row.text());
	t.opened = row.date();
	t.closed = row.date();
	t.reported = row.date();
	t.last_payment = row.date();
	t.sanctioned = row.amount();
	t.balance = row.amount();
	t.past_due = row.amount();
	t.emi = row.amount();
	t.written_off = row.amount();
	t.rate_basis_points = read_rate(row);
	t.tenure_months = row.int4();
	t.dpd = row.int4();
	t.history = read_history(row);
	return t;
}

bureau::Reading read_reading(Datum datum) {
	RowReader row(datum);
	bureau::Reading reading;
	reading.outcome = outcome_of(row.text());
	reading.reason = row.text();
	reading.warnings = read_warnings(row);
	reading.bureau = bureau_of(row.text());
	reading.report_number = row.text();
	reading.report_unix_ms = row.unix_ms();
	reading.score = row.int4();
	reading.mobile = row.text();
	reading.name = row.text();
	reading.pan = row.text();
	reading.complete = row.boolean();
	reading.loans = row.int4().value_or(0);
	row.skip(2); // the hash of a text that is not kept, and the reader's version
	for (const Datum tradeline : row.elements())
		reading.tradelines.push_back(read_tradeline(tradeline));
	return reading;
}

} // namespace bt
