#include "pg/leads/row_reader.hpp"

#include <stdexcept>

#include "pg/leads/moment.hpp"

extern "C" {
#include "access/htup_details.h"
#include "utils/array.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"
#include "utils/typcache.h"
}

namespace bt {

using backfill::pg::call;

namespace {

Datum hundredths(Datum numeric) noexcept {
	const Datum hundred = NumericGetDatum(int64_to_numeric(100));
	return DirectFunctionCall1(numeric_int8, DirectFunctionCall2(numeric_mul, numeric, hundred));
}

// Takes a row apart; returns the number of its fields.
int deform(Datum row, Datum *values, bool *nulls, int most) noexcept {
	const HeapTupleHeader header = DatumGetHeapTupleHeader(row);
	HeapTupleData tuple{};
	tuple.t_len = HeapTupleHeaderGetDatumLength(header);
	tuple.t_data = header;
	const TupleDesc type = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(header), HeapTupleHeaderGetTypMod(header));
	const int count = type->natts;
	if (count > most)
		elog(ERROR, "row has too many fields");
	heap_deform_tuple(&tuple, type, values, nulls);
	for (int i = 0; i < count; ++i) {
		if (nulls[i])
			continue;
		const Oid field = TupleDescAttr(type, i)->atttypid;
		if (field == TEXTOID)
			values[i] = PointerGetDatum(DatumGetTextPP(values[i]));
		else if (field == NUMERICOID)
			values[i] = hundredths(values[i]);
	}
	ReleaseTupleDesc(type);
	return count;
}

} // namespace

RowReader::RowReader(Datum row)
	: count_(call([&]() noexcept { return deform(row, values_, nulls_, most_fields); })) {}

bool RowReader::is_null() const {
	if (next_ >= count_)
		throw std::logic_error("row has too few fields");
	return nulls_[next_];
}

Datum RowReader::take() {
	if (is_null())
		throw std::logic_error("a field of a row is null");
	return values_[next_++];
}

std::optional<int> RowReader::int4() {
	if (is_null())
		return skip(), std::nullopt;
	return DatumGetInt32(take());
}

std::string RowReader::text() {
	if (is_null())
		return skip(), std::string{};
	return text_of(take());
}

std::optional<bureau::Date> RowReader::date() {
	if (is_null())
		return skip(), std::nullopt;
	int year;
	int month;
	int day;
	j2date(DatumGetDateADT(take()) + POSTGRES_EPOCH_JDATE, &year, &month, &day);
	return bureau::Date{static_cast<std::int16_t>(year), static_cast<std::int8_t>(month), static_cast<std::int8_t>(day)};
}

std::optional<bureau::Paise> RowReader::amount() {
	if (is_null())
		return skip(), std::nullopt;
	return DatumGetInt64(take());
}

std::optional<std::int64_t> RowReader::unix_ms() {
	if (is_null())
		return skip(), std::nullopt;
	return bt::unix_ms(DatumGetTimestampTz(take()));
}

std::vector<Datum> RowReader::elements() {
	if (is_null())
		return skip(), std::vector<Datum>{};
	return array_elements(take());
}

std::vector<Datum> array_elements(Datum array, std::vector<bool> *is_null) {
	struct Elements {
		Datum *values;
		bool *nulls;
		int count;
	};
	const Elements found = call([&]() noexcept {
		ArrayType *const type = DatumGetArrayTypeP(array);
		int16 length;
		bool by_value;
		char align;
		get_typlenbyvalalign(ARR_ELEMTYPE(type), &length, &by_value, &align);
		Elements elements{};
		deconstruct_array(type, ARR_ELEMTYPE(type), length, by_value, align, &elements.values, &elements.nulls, &elements.count);
		return elements;
	});
	std::vector<Datum> values;
	values.reserve(static_cast<std::size_t>(found.count));
	for (int i = 0; i < found.count; ++i) {
		if (is_null != nullptr)
			is_null->push_back(found.nulls[i]);
		else if (found.nulls[i])
			continue;
		values.push_back(found.values[i]);
	}
	return values;
}

std::vector<int> int4_elements(Datum array) {
	std::vector<int> values;
	for (const Datum element : array_elements(array))
		values.push_back(DatumGetInt32(element));
	return values;
}

std::string text_of(Datum value) {
	const text *const packed = call([&]() noexcept { return DatumGetTextPP(value); });
	return {VARDATA_ANY(packed), VARSIZE_ANY_EXHDR(packed)};
}

} // namespace bt
