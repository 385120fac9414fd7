#include "pg/leads/reading_row.hpp"

#include "bureau/codes.hpp"
#include "bureau/read_report.hpp"
#include "pg/leads/moment.hpp"

extern "C" {
#include "utils/array.h"
}

namespace bt {

namespace {

constexpr int longest_history = 12 * 50; // months; longer than a loan lives

int month_number(const bureau::HistoryMonth &m) noexcept { return m.year * 12 + m.month - 1; }

// Days past due by month without gaps: history_newest and history_dpd. What lies further back than a loan's life is left out.
void write_history(RowWriter &row, const std::vector<bureau::HistoryMonth> &history) noexcept {
	if (history.empty()) {
		row.null();
		row.null();
		return;
	}
	const bureau::HistoryMonth &newest = history.front();
	int length = 1;
	for (const bureau::HistoryMonth &month : history) {
		const int age = month_number(newest) - month_number(month);
		if (age >= length && age < longest_history)
			length = age + 1;
	}
	Datum *const values = static_cast<Datum *>(palloc0(sizeof(Datum) * static_cast<Size>(length)));
	bool *const nulls = static_cast<bool *>(palloc(static_cast<Size>(length)));
	for (int i = 0; i < length; ++i)
		nulls[i] = true;
	for (const bureau::HistoryMonth &month : history) {
		const int age = month_number(newest) - month_number(month);
		if (age < 0 || age >= length || !month.dpd)
			continue;
		values[age] = Int32GetDatum(*month.dpd);
		nulls[age] = false;
	}
	int dimension = length;
	int lower = 1;
	row.date(bureau::Date{newest.year, newest.month, 1});
	row.datum(PointerGetDatum(construct_md_array(values, nulls, 1, &dimension, &lower, INT4OID, 4, true, TYPALIGN_INT)));
}

} // namespace

Datum tradeline_row(const bureau::Tradeline &t, TupleDesc type) noexcept {
	RowWriter row(type);
	row.int4(t.position);
	row.text_or_null(t.lender);
	row.text_or_null(t.lender_family);
	row.boolean(t.lender_masked);
	row.text_or_null(t.account_number);
	row.text_or_null(t.number_tail);
	row.int4(t.account_type);
	row.text_or_null(t.status_code);
	row.text(bureau::to_text(t.status));
	row.text(bureau::to_text(t.holder));
	row.date(t.opened);
	row.date(t.closed);
	row.date(t.reported);
	row.date(t.last_payment);
	row.amount(t.sanctioned);
	row.amount(t.balance);
	row.amount(t.past_due);
	row.amount(t.emi);
	row.amount(t.written_off);
	row.amount(t.rate_basis_points); // percent, as rupees: both have two decimals
	row.int4(t.tenure_months);
	row.int4(t.dpd);
	write_history(row, t.history);
	return row.finish();
}

namespace {

Datum tradeline_rows(const std::vector<bureau::Tradeline> &tradelines, TupleDesc type) noexcept {
	const int count = static_cast<int>(tradelines.size());
	Datum *const rows = static_cast<Datum *>(palloc(sizeof(Datum) * static_cast<Size>(count + 1)));
	for (int i = 0; i < count; ++i)
		rows[i] = tradeline_row(tradelines[static_cast<std::size_t>(i)], type);
	return PointerGetDatum(construct_array(rows, count, type->tdtypeid, -1, false, TYPALIGN_DOUBLE));
}

} // namespace

// Codes, each once; then each warning as code:field, or code where no field is meant.
void write_warnings(RowWriter &row, const std::vector<bureau::Warning> &warnings) noexcept {
	const Size size = sizeof(Datum) * (warnings.size() + 1);
	Datum *const codes = static_cast<Datum *>(palloc(size));
	Datum *const fields = static_cast<Datum *>(palloc(size));
	int code_count = 0;
	int field_count = 0;
	for (std::size_t i = 0; i < warnings.size(); ++i) {
		const bureau::Warning &warning = warnings[i];
		bool known = false;
		for (std::size_t j = 0; j < i && !known; ++j)
			known = warnings[j].code == warning.code;
		if (!known)
			codes[code_count++] = text_datum(warning.code);
		const char *const colon = warning.field.empty() ? "" : ":";
		fields[field_count++] = CStringGetTextDatum(psprintf("%s%s%s", warning.code.c_str(), colon, warning.field.c_str()));
	}
	row.datum(text_array(codes, code_count));
	row.datum(text_array(fields, field_count));
}

void write_timestamp(RowWriter &row, std::optional<std::int64_t> unix_ms) noexcept {
	unix_ms ? row.datum(TimestampTzGetDatum(timestamp_of(*unix_ms))) : row.null();
}

Datum reading_row(const bureau::Reading &reading, TupleDesc type) noexcept {
	const bool failed = reading.outcome == bureau::Outcome::failed;
	RowWriter row(type);
	row.text(bureau::to_text(reading.outcome));
	row.text_or_null(reading.reason);
	write_warnings(row, reading.warnings);
	reading.bureau ? row.text(bureau::to_text(*reading.bureau)) : row.null();
	row.text_or_null(reading.report_number);
	write_timestamp(row, reading.report_unix_ms);
	row.int4(reading.score);
	row.text_or_null(reading.mobile);
	row.text_or_null(reading.name);
	row.text_or_null(reading.pan);
	row.boolean(reading.complete);
	row.int4(reading.loans);
	reading.semantic_text.empty() ? row.null() : row.datum(sha256_of(reading.semantic_text));
	row.int4(bureau::reader_version);
	if (failed)
		row.null();
	else
		row.datum(tradeline_rows(reading.tradelines, element_row_type(type, type->natts - 1)));
	return row.finish();
}

} // namespace bt
