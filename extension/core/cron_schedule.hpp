#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string_view>

namespace backfill::core {

// When a cron schedule ticks next, as pg_cron reads it: five fields (minute, hour, day of month, month, day of week), each
// `*`, numbers, ranges, lists and steps, months and days also by their English names; or @hourly, @daily and their like.
// As in Vixie cron, which pg_cron is made from: where both kinds of day are restricted, either is enough, and a field
// that begins with `*` restricts nothing.
class CronSchedule {
public:
	// Nothing: not understood, or it has no times of its own (@reboot, `30 seconds`).
	static std::optional<CronSchedule> read(std::string_view text);

	// Minutes since 1970-01-01 on the clock that the schedule is read by; nothing if it never ticks (30 February).
	std::optional<std::int64_t> next_after(std::int64_t minute) const;

private:
	bool has_day(std::int64_t day) const;

	std::bitset<60> minutes_;
	std::bitset<24> hours_;
	std::bitset<32> days_;
	std::bitset<13> months_;
	std::bitset<8> weekdays_; // 0: Sunday, and 7 as well
	bool any_day_ = false;
	bool any_weekday_ = false;
};

} // namespace backfill::core
