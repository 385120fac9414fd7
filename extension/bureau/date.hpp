#pragma once

#include <compare>
#include <cstdint>

namespace bureau {

// A calendar day, as bureaus write it: no time of day, no zone.
struct Date {
	std::int16_t year = 0;
	std::int8_t month = 0; // 1 to 12
	std::int8_t day = 0;   // 1 to 31

	auto operator<=>(const Date &) const = default;
	bool valid() const noexcept; // a day that exists, 1900 to 2199
};

// Days since 1970-01-01.
std::int32_t day_number(Date d) noexcept;
// Whole months from a to b, rounded towards zero; negative when b lies before a.
int months_between(Date a, Date b) noexcept;

} // namespace bureau
