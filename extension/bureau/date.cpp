#include "bureau/date.hpp"

namespace bureau {

namespace {

bool is_leap_year(int year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

int days_in_month(int year, int month) {
	constexpr int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	return month == 2 && is_leap_year(year) ? 29 : days[month - 1];
}

} // namespace

bool Date::valid() const noexcept {
	return year >= 1900 && year <= 2199 && month >= 1 && month <= 12 && day >= 1 && day <= days_in_month(year, month);
}

// Counts in years that begin in March, so that the leap day comes last, and in eras of 400 years.
std::int32_t day_number(Date d) noexcept {
	constexpr std::int32_t days_per_era = 146097;
	constexpr std::int32_t days_before_1970 = 719468;
	const std::int32_t year = d.year - (d.month <= 2);
	const std::int32_t era = (year >= 0 ? year : year - 399) / 400;
	const std::int32_t year_of_era = year - era * 400;
	const std::int32_t month = (d.month + 9) % 12;
	const std::int32_t day_of_year = (153 * month + 2) / 5 + d.day - 1;
	const std::int32_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
	return era * days_per_era + day_of_era - days_before_1970;
}

int months_between(Date a, Date b) noexcept {
	const int months = (b.year - a.year) * 12 + (b.month - a.month);
	if (months > 0 && b.day < a.day)
		return months - 1;
	if (months < 0 && b.day > a.day)
		return months + 1;
	return months;
}

} // namespace bureau
