// pg_cron's schedules for SQL.
#include "core/cron_schedule.hpp"
#include "pg/args.hpp"

namespace backfill::pg {

// (schedule, after)
BACKFILL_FUNCTION(pg_backfill__next_tick) {
	constexpr std::int64_t shift = std::int64_t{POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE} * MINS_PER_HOUR * HOURS_PER_DAY;
	const Args args(fcinfo);
	const Timestamp after = DatumGetTimestamp(args.datum(1));
	const auto schedule = core::CronSchedule::read(args.text(0, "schedule"));
	std::optional<std::int64_t> minute;
	if (schedule && !TIMESTAMP_NOT_FINITE(after)) {
		const std::int64_t floor = after >= 0 ? after / USECS_PER_MINUTE : -((-after + USECS_PER_MINUTE - 1) / USECS_PER_MINUTE);
		minute = schedule->next_after(floor + shift);
	}
	if (!minute) {
		fcinfo->isnull = true;
		return 0;
	}
	return TimestampGetDatum((*minute - shift) * USECS_PER_MINUTE);
}

} // namespace backfill::pg
