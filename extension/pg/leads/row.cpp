#include "pg/leads/row.hpp"

extern "C" {
#include "access/htup_details.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "utils/array.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"
#include "utils/typcache.h"
}

namespace bt {

TupleDesc row_type(Oid type) noexcept {
	return lookup_rowtype_tupdesc_copy(type, -1);
}

TupleDesc result_row_type(FunctionCallInfo fcinfo) noexcept {
	TupleDesc type = nullptr;
	if (get_call_result_type(fcinfo, nullptr, &type) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "function does not return a row");
	return BlessTupleDesc(type);
}

TupleDesc element_row_type(TupleDesc row, int column) noexcept {
	return row_type(get_element_type(TupleDescAttr(row, column)->atttypid));
}

Datum text_datum(std::string_view utf8) noexcept {
	const int length = static_cast<int>(utf8.size());
	if (GetDatabaseEncoding() == PG_UTF8)
		return PointerGetDatum(cstring_to_text_with_len(utf8.data(), length));
	char *const encoded = pg_any_to_server(utf8.data(), length, PG_UTF8);
	if (encoded == utf8.data()) // nothing to convert, and not terminated
		return PointerGetDatum(cstring_to_text_with_len(encoded, length));
	return PointerGetDatum(cstring_to_text(encoded));
}

Datum text_array(const Datum *values, int count) noexcept {
	return PointerGetDatum(construct_array(const_cast<Datum *>(values), count, TEXTOID, -1, false, TYPALIGN_INT));
}

Datum rupees(bureau::Paise paise) noexcept {
	if (paise % 100 == 0)
		return NumericGetDatum(int64_to_numeric(paise / 100));
	return NumericGetDatum(int64_div_fast_to_numeric(paise, 2));
}

DateADT date_of(bureau::Date date) noexcept {
	return bureau::day_number(date) - (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE);
}

Datum sha256_of(std::string_view text) noexcept {
	bytea *const copy = reinterpret_cast<bytea *>(cstring_to_text_with_len(text.data(), static_cast<int>(text.size())));
	const Datum hash = DirectFunctionCall1(sha256_bytea, PointerGetDatum(copy));
	pfree(copy);
	return hash;
}

void RowWriter::add(Datum value, bool is_null) noexcept {
	if (count_ == most_fields)
		elog(ERROR, "row has too many fields");
	values_[count_] = value;
	nulls_[count_++] = is_null;
}

void RowWriter::expect_all() const noexcept {
	if (count_ != type_->natts)
		elog(ERROR, "row has %d fields, its type has %d", count_, type_->natts);
}

void RowWriter::append_to(Tuplestorestate *rows) noexcept {
	expect_all();
	tuplestore_putvalues(rows, type_, values_, nulls_);
}

Datum RowWriter::finish() noexcept {
	expect_all();
	return HeapTupleGetDatum(heap_form_tuple(type_, values_, nulls_));
}

} // namespace bt
