#include "pg/leads/reading_row.hpp"
#include "pg/leads/unified_row.hpp"

extern "C" {
#include "utils/array.h"
}

namespace bt {

namespace {

// One group of a borrower is one lender's; where the lender is masked, it is one loan.
std::string_view group_key(const bureau::LoanGroup &group, const bureau::UnifiedLoan &primary) noexcept {
	return group.lender.empty() ? std::string_view(primary.id) : std::string_view(group.lender);
}

void write_eligibility(RowWriter &row, const bureau::Eligibility &facts) noexcept {
	row.int4(facts.seasoning_months);
	row.int4(facts.days_past_due_3);
	row.int4(facts.days_past_due_6);
	row.int4(facts.days_past_due_12);
	row.int4(facts.score);
	row.amount(facts.rate_basis_points);
	row.boolean(facts.rate_inferred);
	row.int4(facts.tenure_left_months);
	row.amount(facts.emi);
	row.boolean(facts.emi_computed);
	Datum *const missing = static_cast<Datum *>(palloc(sizeof(Datum) * (facts.missing.size() + 1)));
	for (std::size_t i = 0; i < facts.missing.size(); ++i)
		missing[i] = text_datum(facts.missing[i]);
	row.datum(text_array(missing, static_cast<int>(facts.missing.size())));
}

// The primary comes first among the members, and so do its facts.
Datum candidate_row(const bureau::TransferCandidate &candidate, const bureau::UnifiedReport &report, TupleDesc type) noexcept {
	const bureau::LoanGroup &group = candidate.group;
	const std::size_t count = group.members.size();
	Datum *const loans = static_cast<Datum *>(palloc(sizeof(Datum) * (count + 1)));
	Datum *const roles = static_cast<Datum *>(palloc(sizeof(Datum) * (count + 1)));
	for (std::size_t i = 0; i < count; ++i) {
		loans[i] = text_datum(report.loans[group.members[i].loan].id);
		roles[i] = text_datum(bureau::to_text(group.members[i].role));
	}
	RowWriter row(type);
	row.text(group_key(group, report.loans[group.members.front().loan]));
	row.text_or_null(group.lender);
	row.boolean(group.lender_masked);
	row.datum(rupees(group.outstanding));
	row.datum(text_array(loans, static_cast<int>(count)));
	row.datum(text_array(roles, static_cast<int>(count)));
	write_eligibility(row, candidate.eligibility.front());
	return row.finish();
}

} // namespace

Datum decision_row(const bureau::TransferDecision &decision, const bureau::UnifiedReport &report, TupleDesc type) noexcept {
	const TupleDesc candidate_type = element_row_type(type, type->natts - 1);
	const std::size_t count = decision.candidates.size();
	Datum *const rows = static_cast<Datum *>(palloc(sizeof(Datum) * (count + 1)));
	for (std::size_t i = 0; i < count; ++i)
		rows[i] = candidate_row(decision.candidates[i], report, candidate_type);
	RowWriter row(type);
	row.text_or_null(decision.reason);
	write_warnings(row, decision.warnings);
	row.datum(PointerGetDatum(construct_array(rows, static_cast<int>(count), candidate_type->tdtypeid, -1, false, TYPALIGN_DOUBLE)));
	return row.finish();
}

bureau::Policy read_policy(Datum datum) {
	RowReader row(datum);
	bureau::Policy policy;
	row.skip();
	policy.home_loan_types = int4_elements(row.datum());
	policy.property_loan_types = int4_elements(row.datum());
	policy.property_loan_fires = row.boolean();
	policy.unlisted_status_fires = row.boolean();
	policy.zero_status_fires = row.boolean();
	policy.past_due_status_fires = row.boolean();
	policy.missing_status_fires = row.boolean();
	policy.open_adverse_fires = row.boolean();
	policy.joint_fires = row.boolean();
	policy.guarantor_fires = row.boolean();
	policy.authorised_user_fires = row.boolean();
	policy.deceased_fires = row.boolean();
	policy.unknown_holder_fires = row.boolean();
	policy.stale_fires = row.boolean();
	policy.identity_mismatch_fires = row.boolean();
	policy.stale_after_months = row.int4().value_or(policy.stale_after_months);
	policy.outstanding_above = row.amount().value_or(policy.outstanding_above);
	return policy;
}

} // namespace bt
