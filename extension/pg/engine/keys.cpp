#include "pg/engine/keys.hpp"

#include "core/error.hpp"

extern "C" {
#include "parser/parse_coerce.h"
#include "utils/array.h"
#include "utils/datum.h"
#include "utils/typcache.h"
}

namespace backfill::pg {

void check_key_type(Oid type) {
	const bool sortable = call([&]() noexcept {
		return get_typtype(type) != TYPTYPE_PSEUDO && OidIsValid(get_array_type(type)) &&
		       OidIsValid(lookup_type_cache(type, TYPECACHE_CMP_PROC)->cmp_proc);
	});
	if (!sortable)
		throw core::Error(core::ErrorCode::wrong_type, "type " + format_type(type) + " cannot be a key",
		                  "A key type needs a default btree operator class and an array type, as bigint, text and uuid have.");
}

KeyType::KeyType(Oid type, MemoryContext context) : type_(type) {
	Oid compare_function = InvalidOid;
	call([&]() noexcept {
		TypeCacheEntry *const entry = lookup_type_cache(type, TYPECACHE_CMP_PROC);
		compare_function = entry->cmp_proc;
		array_ = get_array_type(type);
		collation_ = entry->typcollation;
		length_ = entry->typlen;
		by_value_ = entry->typbyval;
		align_ = entry->typalign;
	});
	call([&]() noexcept {
		Oid output = InvalidOid;
		bool varlena = false;
		fmgr_info_cxt(compare_function, &compare_, context);
		getTypeOutputInfo(type, &output, &varlena);
		fmgr_info_cxt(output, &output_, context);
		Oid input = InvalidOid;
		getTypeInputInfo(type, &input, &input_parameter_);
		fmgr_info_cxt(input, &input_, context);
	});
}

Param KeyType::array_of(const std::vector<Item> &items, const std::vector<int> &members) const {
	const int count = static_cast<int>(members.size());
	return {array_, call([&]() noexcept {
		        Datum *const keys = static_cast<Datum *>(palloc(sizeof(Datum) * (count + 1)));
		        for (int i = 0; i < count; ++i)
			        keys[i] = items[members[i]].key;
		        return PointerGetDatum(construct_array(keys, count, type_, length_, by_value_, align_));
	        })};
}

std::string KeyType::text_of(Datum key) const {
	return call([&]() noexcept { return OutputFunctionCall(&output_, key); });
}

Datum KeyType::copy(Datum key) const {
	return call([&]() noexcept { return datumCopy(key, by_value_, length_); });
}

int KeyType::compare(Datum one, Datum two) const {
	return call([&]() noexcept { return DatumGetInt32(FunctionCall2Coll(&compare_, collation_, one, two)); });
}

Datum KeyType::read(const std::string &text) const {
	return call([&]() noexcept { return InputFunctionCall(&input_, const_cast<char *>(text.c_str()), input_parameter_, -1); });
}

bool is_read_as(Oid actual, Oid key_type) {
	return actual == key_type ||
	       call([&]() noexcept { return IsBinaryCoercible(actual, getBaseType(key_type)); });
}

std::vector<int> KeyType::positions(const std::vector<Item> &items, const Result &result) const {
	const Oid actual = call([&]() noexcept { return SPI_gettypeid(result.table()->tupdesc, 1); });
	if (!is_read_as(actual, type_))
		throw core::Error(core::ErrorCode::wrong_type,
		                  "a command returned " + format_type(actual) + " as the key, not " + format_type(type_),
		                  "A table that it reads was changed: cast column 1.");
	std::vector<int> found(result.rows());
	const int count = static_cast<int>(items.size());
	SPITupleTable *const table = result.table();
	const bool all_known = call([&]() noexcept {
		for (std::uint64_t row = 0; row < found.size(); ++row) {
			bool null = true;
			const Datum key = SPI_getbinval(table->vals[row], table->tupdesc, 1, &null);
			int low = 0;
			int high = count;
			while (!null && low < high) {
				const int middle = low + (high - low) / 2;
				const bool less =
					type_ == INT8OID
						? DatumGetInt64(items[middle].key) < DatumGetInt64(key)
						: DatumGetInt32(FunctionCall2Coll(&compare_, collation_, items[middle].key, key)) < 0;
				if (less)
					low = middle + 1;
				else
					high = middle;
			}
			if (null || low == count ||
			    DatumGetInt32(FunctionCall2Coll(&compare_, collation_, items[low].key, key)) != 0)
				return false;
			found[row] = low;
		}
		return true;
	});
	if (!all_known)
		throw core::Error(core::ErrorCode::wrong_state, "a command returned a key that it was not given",
		                  "A batch command may only return keys of the array in $1.");
	return found;
}

} // namespace backfill::pg
