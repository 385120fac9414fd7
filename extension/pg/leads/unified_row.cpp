#include "pg/leads/unified_row.hpp"

#include "bureau/codes.hpp"
#include "pg/leads/reading_row.hpp"
#include "pg/leads/words.hpp"

extern "C" {
#include "utils/array.h"
}

namespace bt {

namespace {

Datum *datums(std::size_t count) noexcept { return static_cast<Datum *>(palloc(sizeof(Datum) * (count + 1))); }

Datum row_array(const Datum *rows, std::size_t count, TupleDesc type) noexcept {
	return PointerGetDatum(construct_array(const_cast<Datum *>(rows), static_cast<int>(count), type->tdtypeid, -1, false, TYPALIGN_DOUBLE));
}

void write_members(RowWriter &row, const std::vector<bureau::LoanMember> &members) noexcept {
	Datum *const bureaus = datums(members.size());
	Datum *const positions = datums(members.size());
	for (std::size_t i = 0; i < members.size(); ++i) {
		bureaus[i] = text_datum(bureau::to_text(members[i].bureau));
		positions[i] = Int32GetDatum(members[i].position);
	}
	row.datum(text_array(bureaus, static_cast<int>(members.size())));
	row.datum(PointerGetDatum(construct_array(positions, static_cast<int>(members.size()), INT4OID, 4, true, TYPALIGN_INT)));
}

// Only where there is a choice: of a loan that one bureau knows, everything is from there.
void write_provenance(RowWriter &row, const bureau::UnifiedLoan &loan) noexcept {
	if (loan.members.size() < 2)
		return row.null();
	Datum *const entries = datums(loan.provenance.size());
	for (std::size_t i = 0; i < loan.provenance.size(); ++i) {
		const std::string_view bureau = bureau::to_text(loan.provenance[i].bureau);
		entries[i] = CStringGetTextDatum(psprintf("%s:%.*s", loan.provenance[i].field.c_str(), static_cast<int>(bureau.size()), bureau.data()));
	}
	row.datum(text_array(entries, static_cast<int>(loan.provenance.size())));
}

void write_disagreements(RowWriter &row, const std::vector<bureau::Disagreement> &disagreements, TupleDesc type) noexcept {
	if (disagreements.empty())
		return row.null();
	Datum *const rows = datums(disagreements.size());
	for (std::size_t i = 0; i < disagreements.size(); ++i) {
		RowWriter entry(type);
		entry.text(disagreements[i].field);
		entry.text(bureau::to_text(disagreements[i].bureau));
		entry.text(disagreements[i].value);
		rows[i] = entry.finish();
	}
	row.datum(row_array(rows, disagreements.size(), type));
}

// Columns of bt.unified_loan_reading.
constexpr int disagreements_column = 4;
constexpr int facts_column = 5;

void write_loans(RowWriter &row, const std::vector<bureau::UnifiedLoan> &loans, TupleDesc type) noexcept {
	const TupleDesc disagreement_type = element_row_type(type, disagreements_column);
	const TupleDesc facts_type = row_type(TupleDescAttr(type, facts_column)->atttypid);
	Datum *const rows = datums(loans.size());
	for (std::size_t i = 0; i < loans.size(); ++i) {
		RowWriter entry(type);
		entry.text(loans[i].id);
		write_members(entry, loans[i].members);
		write_provenance(entry, loans[i]);
		write_disagreements(entry, loans[i].disagreements, disagreement_type);
		entry.datum(tradeline_row(loans[i].facts, facts_type));
		rows[i] = entry.finish();
	}
	row.datum(row_array(rows, loans.size(), type));
}

void write_score(RowWriter &row, const std::vector<bureau::BureauScore> &scores, bureau::Bureau bureau) noexcept {
	for (const bureau::BureauScore &score : scores)
		if (score.bureau == bureau)
			return row.int4(score.score);
	row.null();
}

constexpr bureau::Bureau bureaus[] = {bureau::Bureau::experian, bureau::Bureau::cibil, bureau::Bureau::equifax, bureau::Bureau::crif};

} // namespace

Datum unified_row(const bureau::UnifiedReport &report, TupleDesc type) noexcept {
	RowWriter row(type);
	row.text_or_null(report.reason);
	write_warnings(row, report.warnings);
	write_timestamp(row, report.newest_unix_ms);
	for (const bureau::Bureau bureau : bureaus)
		write_score(row, report.scores, bureau);
	write_loans(row, report.loans, element_row_type(type, type->natts - 1));
	return row.finish();
}

bureau::UnifiedReport read_unified(Datum datum) {
	RowReader row(datum);
	bureau::UnifiedReport report;
	report.reason = row.text();
	report.warnings = read_warnings(row);
	report.newest_unix_ms = row.unix_ms();
	for (const bureau::Bureau bureau : bureaus)
		if (const std::optional<int> score = row.int4())
			report.scores.push_back({bureau, *score});
	for (const Datum element : row.elements()) {
		RowReader entry(element);
		bureau::UnifiedLoan loan;
		loan.id = entry.text();
		entry.skip(facts_column - 1); // where the facts are from does not matter any more
		loan.facts = read_tradeline(entry.datum());
		report.loans.push_back(std::move(loan));
	}
	return report;
}

} // namespace bt
