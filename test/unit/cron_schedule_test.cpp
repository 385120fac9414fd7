// When a schedule ticks next; the expected times are what pg_cron 1.4 and Vixie cron do.
#include "core/cron_schedule.hpp"

#include <chrono>

#include "tap.hpp"

using backfill::core::CronSchedule;
using tap::check;
using tap::check_equal;

namespace {

std::int64_t at(int year, unsigned month, unsigned day, int hour, int minute) {
	const std::chrono::sys_days date{std::chrono::year{year} / static_cast<int>(month) / static_cast<int>(day)};
	return date.time_since_epoch().count() * 1440 + hour * 60 + minute;
}

constexpr std::int64_t never = INT64_MAX, no_schedule = INT64_MIN;

std::int64_t next(std::string_view schedule, std::int64_t after) {
	const auto read = CronSchedule::read(schedule);
	return read ? read->next_after(after).value_or(never) : no_schedule;
}

} // namespace

TEST("the next tick") {
	const std::int64_t now = at(2026, 10, 14, 6, 0); // a Wednesday
	check_equal(next("0 6 * * *", now), at(2026, 10, 15, 6, 0), "not the present minute");
	check_equal(next("0 6 * * *", now - 1), now, "the next minute");
	check_equal(next("*/15 * * * *", now), now + 15, "steps");
	check_equal(next("5-59/20 * * * *", now), now + 5, "steps of a range");
	check_equal(next("0,30 9-17 * * mon-fri", now), at(2026, 10, 14, 9, 0), "lists, ranges and names");
	check_equal(next("0 6 * * Sat", now), at(2026, 10, 17, 6, 0), "a day of the week");
	check_equal(next("0 6 * * 7", now), at(2026, 10, 18, 6, 0), "seven is Sunday");
	check_equal(next("0 6 * * 5-7", at(2026, 10, 17, 6, 0)), at(2026, 10, 18, 6, 0), "in a range too");
	check_equal(next("0 0 1 jan *", now), at(2027, 1, 1, 0, 0), "a month by its name");
	check_equal(next("0 0 31 * *", at(2026, 10, 31, 0, 0)), at(2026, 12, 31, 0, 0), "not in November");
	check_equal(next("0 0 29 2 *", now), at(2028, 2, 29, 0, 0), "a leap year");
	check_equal(next("0 0 29 2 *", at(2096, 3, 1, 0, 0)), at(2104, 2, 29, 0, 0), "over 2100");
	check_equal(next("0 0 13 * fri", now), at(2026, 10, 16, 0, 0), "either kind of day");
	check_equal(next("0 0 */2 * fri", now), at(2026, 10, 23, 0, 0), "a field that begins with a star restricts nothing by itself");
	check_equal(next("@daily", now), at(2026, 10, 15, 0, 0), "@daily");
	check_equal(next("@weekly", now), at(2026, 10, 18, 0, 0), "@weekly");
	check_equal(next("  0\t6  * * * ", now), at(2026, 10, 15, 6, 0), "white space");
	check_equal(next("59 23 31 12 *", at(1969, 12, 31, 23, 58)), at(1969, 12, 31, 23, 59), "before 1970");
	check_equal(next("0 0 30 2 *", now), never, "never");
}

TEST("what is no schedule") {
	for (const char *bad : {"", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *", "* * * 13 *", "* * * * 8",
	                        "*/0 * * * *", "5/10 * * * *", "5-1 * * * *", "1,,2 * * * *", ",1 * * * *", "1- * * * *", "a * * * *",
	                        "* * * foo *", "* * * anf *", "-1 * * * *", "@reboot", "@sometimes", "30 seconds", "1 * * * mon-", "99999999999 * * * *"})
		check_equal(next(bad, 0), no_schedule, bad);
}

int main() { return tap::run(); }
