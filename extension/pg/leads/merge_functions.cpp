#include "pg/leads/reading_row.hpp"
#include "pg/leads/unified_row.hpp"

using backfill::pg::call;

BACKFILL_FUNCTION(bt_leads_unify) {
	std::vector<bureau::Reading> readings;
	for (const Datum row : bt::array_elements(PG_GETARG_DATUM(0)))
		readings.push_back(bt::read_reading(row));
	std::vector<const bureau::Reading *> pointers;
	for (const bureau::Reading &reading : readings)
		pointers.push_back(&reading);
	const bureau::UnifiedReport report = bureau::unify(pointers);
	return call([&]() noexcept { return bt::unified_row(report, bt::result_row_type(fcinfo)); });
}

BACKFILL_FUNCTION(bt_leads_decide_transfer) {
	const bureau::UnifiedReport report = bt::read_unified(PG_GETARG_DATUM(0));
	const bureau::TransferDecision decision = bureau::decide_transfer(report, bt::read_policy(PG_GETARG_DATUM(1)));
	return call([&]() noexcept { return bt::decision_row(decision, report, bt::result_row_type(fcinfo)); });
}
