#include "pg/spi.hpp"

#include "core/error.hpp"

extern "C" {
#include "utils/array.h"
}

namespace backfill::pg {

Param Param::of(std::string_view value) {
	return {TEXTOID, call([&]() noexcept {
		        return PointerGetDatum(cstring_to_text_with_len(value.data(), static_cast<int>(value.size())));
	        })};
}

Param Param::of(const std::vector<std::string> &values) {
	const int count = static_cast<int>(values.size());
	return {TEXTARRAYOID, call([&]() noexcept {
		        Datum *const elements = static_cast<Datum *>(palloc(sizeof(Datum) * (count + 1)));
		        for (int i = 0; i < count; ++i)
			        elements[i] = PointerGetDatum(
				        cstring_to_text_with_len(values[i].data(), static_cast<int>(values[i].size())));
		        return PointerGetDatum(construct_array(elements, count, TEXTOID, -1, false, TYPALIGN_INT));
	        })};
}

Param Param::of(const std::vector<std::int64_t> &values) {
	const int count = static_cast<int>(values.size());
	return {INT8ARRAYOID, call([&]() noexcept {
		        Datum *const elements = static_cast<Datum *>(palloc(sizeof(Datum) * (count + 1)));
		        for (int i = 0; i < count; ++i)
			        elements[i] = Int64GetDatum(values[i]);
		        return PointerGetDatum(
			        construct_array(elements, count, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
	        })};
}

Param Param::of(const std::vector<std::optional<TimestampTz>> &values) {
	int count = static_cast<int>(values.size());
	return {TIMESTAMPTZARRAYOID, call([&]() noexcept {
		        Datum *const elements = static_cast<Datum *>(palloc(sizeof(Datum) * (count + 1)));
		        bool *const nulls = static_cast<bool *>(palloc(count + 1));
		        for (int i = 0; i < count; ++i) {
			        nulls[i] = !values[i].has_value();
			        elements[i] = nulls[i] ? 0 : TimestampTzGetDatum(*values[i]);
		        }
		        int lower = 1;
		        return PointerGetDatum(construct_md_array(elements, nulls, 1, &count, &lower, TIMESTAMPTZOID,
		                                                  sizeof(TimestampTz), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
	        })};
}

Param Param::of(const std::vector<int> &values) {
	const int count = static_cast<int>(values.size());
	return {INT4ARRAYOID, call([&]() noexcept {
		        Datum *const elements = static_cast<Datum *>(palloc(sizeof(Datum) * (count + 1)));
		        for (int i = 0; i < count; ++i)
			        elements[i] = Int32GetDatum(values[i]);
		        return PointerGetDatum(construct_array(elements, count, INT4OID, sizeof(int32), true, TYPALIGN_INT));
	        })};
}

bool Result::is_null(std::uint64_t row, int column) const {
	bool null = true;
	call([&]() noexcept { SPI_getbinval(table_->vals[row], table_->tupdesc, column, &null); });
	return null;
}

Datum Result::datum(std::uint64_t row, int column) const {
	bool null = true;
	const Datum value =
		call([&]() noexcept { return SPI_getbinval(table_->vals[row], table_->tupdesc, column, &null); });
	if (null)
		throw std::logic_error("unexpected null in a result of the engine");
	return value;
}

std::optional<std::string> Result::text_or_null(std::uint64_t row, int column) const {
	const char *const value = call([&]() noexcept { return SPI_getvalue(table_->vals[row], table_->tupdesc, column); });
	return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::string Result::text(std::uint64_t row, int column) const {
	return text_or_null(row, column).value_or("");
}

Result Statement::run(std::initializer_list<Param> params) {
	constexpr int most = 32;
	Oid types[most];
	Datum values[most];
	char nulls[most];
	int count = 0;
	for (const Param &param : params) {
		if (count == most)
			throw std::logic_error("too many parameters");
		types[count] = param.type;
		values[count] = param.value;
		nulls[count++] = param.is_null ? 'n' : ' ';
	}
	const char *const sql = sql_;
	SPIPlanPtr plan = plan_;
	call([&]() noexcept {
		if (plan == nullptr) {
			plan = SPI_prepare(sql, count, types);
			if (plan == nullptr)
				elog(ERROR, "could not prepare a statement of the engine: %s", SPI_result_code_string(SPI_result));
			SPI_keepplan(plan);
		}
	});
	plan_ = plan;
	const int code = call([&]() noexcept { return SPI_execute_plan(plan, values, nulls, false, 0); });
	if (code < 0)
		throw std::logic_error("a statement of the engine failed");
	return {SPI_tuptable, SPI_processed};
}

std::string to_text(Datum value) {
	return call([&]() noexcept { return TextDatumGetCString(value); });
}

std::string format_type(Oid type) {
	return call([&]() noexcept { return format_type_extended(type, -1, FORMAT_TYPE_TYPEMOD_GIVEN); });
}

} // namespace backfill::pg
