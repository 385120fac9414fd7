#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "bureau/reading.hpp"

namespace bureau::forms {

// A value as read from a field's trimmed text. Absent and unreadable are two things: only the second is worth a warning.
template <class T>
struct Parsed {
	std::optional<T> value;
	bool unreadable = false;
};

// Rupees with Indian or western commas, blanks, a currency mark, a sign, paise and a small exponent; rounded to whole paise, half away
// from zero. Exactly -1 means not available. Unreadable: anything else, and what is larger than 10^15 rupees.
Parsed<Paise> parse_amount(std::string_view text) noexcept;

// A count of days, months or points, zero-padded or with an empty fraction; -1 and words mean not available.
// Unreadable: more than largest, or digits mixed with anything else.
Parsed<int> parse_count(std::string_view text, int largest) noexcept;

// Percent p.a., with or without the sign; 0 means unknown. Unreadable above 100.
Parsed<int> parse_rate(std::string_view text) noexcept;

// How a date of eight digits is meant. With separators, the place of the year tells.
enum class DateOrder : std::uint8_t { year_first, day_first };

// A day, with or without a time behind it. Zeros, the year 1, 1900-01-01, and 9999-12-31 mean that there is none.
Parsed<Date> parse_date(std::string_view text, DateOrder order) noexcept;

// Seconds since midnight from HHMMSS, HH:MM:SS or a time without leading zeros; none if it is no time of day.
std::optional<int> parse_time(std::string_view text) noexcept;

} // namespace bureau::forms
