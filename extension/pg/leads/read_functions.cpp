#include "bureau/mobile.hpp"
#include "bureau/read_report.hpp"
#include "pg/leads/reading_row.hpp"

using backfill::pg::call;

BACKFILL_FUNCTION(bt_leads_mobile_number) {
	const text *const written = call([&]() noexcept { return PG_GETARG_TEXT_PP(0); });
	const std::string number = bureau::mobile_number({VARDATA_ANY(written), VARSIZE_ANY_EXHDR(written)});
	if (number.empty())
		PG_RETURN_NULL();
	return call([&]() noexcept { return PointerGetDatum(cstring_to_text_with_len(number.data(), static_cast<int>(number.size()))); });
}

BACKFILL_FUNCTION(bt_leads_read_report) {
	const bytea *const body = call([&]() noexcept {
		CHECK_FOR_INTERRUPTS();
		return PG_GETARG_BYTEA_PP(0);
	});
	const bureau::Reading reading = bureau::read_report({VARDATA_ANY(body), VARSIZE_ANY_EXHDR(body)});
	return call([&]() noexcept { return bt::reading_row(reading, bt::result_row_type(fcinfo)); });
}

BACKFILL_FUNCTION(bt_leads_reader_version) { PG_RETURN_INT32(bureau::reader_version); }
