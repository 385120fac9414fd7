#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pg/spi.hpp"

namespace backfill::pg {

// A thing a pipeline processes: its key and when the data that made it a candidate arrived.
struct Item {
	Datum key;
	TimestampTz time = 0;
	bool has_time = false;
};

// Refuses a type that cannot be sorted or made an array of.
void check_key_type(Oid type);
// Whether a value of type `actual` can be read as a key without a conversion.
bool is_read_as(Oid actual, Oid key_type);

// What the engine must know of the type of a pipeline's keys. Made once per run; order is the type's default btree.
class KeyType {
public:
	// What is looked up lives in `context`.
	KeyType(Oid type, MemoryContext context);

	Oid oid() const noexcept { return type_; }
	Oid array_oid() const noexcept { return array_; }
	Oid collation() const noexcept { return collation_; } // that keys are compared under; InvalidOid: none

	// An array of the keys at `members`, as the parameter of a batch command.
	Param array_of(const std::vector<Item> &items, const std::vector<int> &members) const;
	Param one(const Item &item) const { return {type_, item.key}; }
	std::string text_of(Datum key) const; // by the type's output function
	Datum copy(Datum key) const;          // into the current memory context
	int compare(Datum one, Datum two) const; // below, at or above zero
	Datum read(const std::string &text) const; // by the type's input function

	// Positions in `items` (sorted by key) of the keys in the first column of a result. Null and unknown keys: error.
	std::vector<int> positions(const std::vector<Item> &items, const Result &result) const;

private:
	Oid type_;
	Oid array_;
	Oid collation_;
	int16 length_;
	bool by_value_;
	char align_;
	mutable FmgrInfo compare_;
	mutable FmgrInfo output_;
	mutable FmgrInfo input_;
	Oid input_parameter_;
};

} // namespace backfill::pg
