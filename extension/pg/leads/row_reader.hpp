#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bureau/reading.hpp"
#include "pg/guard.hpp"

namespace bt {

// A row of a composite type, field by field in the order of its declaration: what RowWriter wrote. Values are taken out
// of PostgreSQL's hands when it is made; the getters are plain C++.
class RowReader {
public:
	explicit RowReader(Datum row);

	void skip(int fields = 1) noexcept { next_ += fields; }
	bool boolean() { return !is_null() && DatumGetBool(take()); }
	std::optional<int> int4();
	std::string text(); // empty for null
	std::optional<bureau::Date> date();
	std::optional<bureau::Paise> amount();
	std::optional<std::int64_t> unix_ms(); // of a timestamptz
	std::vector<Datum> elements();         // of an array without nulls; none for null
	Datum datum() { return take(); }       // not null

	bool is_null() const;

private:
	static constexpr int most_fields = 48;

	Datum take();

	int count_ = 0;
	int next_ = 0;
	Datum values_[most_fields]; // text detoasted, numeric turned into hundredths
	bool nulls_[most_fields];
};

// Elements of an array. Nulls are left out, or kept and marked where is_null is given.
std::vector<Datum> array_elements(Datum array, std::vector<bool> *is_null = nullptr);
std::vector<int> int4_elements(Datum array);
std::string text_of(Datum text);

} // namespace bt
