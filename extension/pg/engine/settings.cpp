#include "pg/engine/settings.hpp"

#include "pg/guard.hpp"

namespace {

using backfill::core::Narrate;

int narrate_value = static_cast<int>(Narrate::changes);
int keep_events_value = 0;
double test_clock_seconds_value = 0;

const config_enum_entry narrate_options[] = {{"all", static_cast<int>(Narrate::all), false},
                                             {"changes", static_cast<int>(Narrate::changes), false},
                                             {"none", static_cast<int>(Narrate::none), false},
                                             {nullptr, 0, false}};
const config_enum_entry keep_events_options[] = {{"changes", 0, false}, {"all", 1, false}, {nullptr, 0, false}};

} // namespace

extern "C" {
BACKFILL_EXPORT void _PG_init(void);

void _PG_init(void) {
	DefineCustomEnumVariable("backfill.narrate", "Which step lines a run raises as messages to its caller.",
	                         "Failures are warnings; with none, only the tally is raised.", &narrate_value,
	                         static_cast<int>(Narrate::changes), narrate_options, PGC_USERSET, 0, nullptr, nullptr, nullptr);
	DefineCustomEnumVariable("backfill.keep_events", "Which step events a run keeps for its narration.",
	                         "Counts per step, status and reason are always kept.", &keep_events_value, 0,
	                         keep_events_options, PGC_USERSET, 0, nullptr, nullptr, nullptr);
	DefineCustomRealVariable("backfill.test_clock_seconds", "Time that deliveries are judged by, in seconds since the Unix epoch; for tests.",
	                         "Zero is the server's clock.", &test_clock_seconds_value, 0, 0, 1e11, PGC_SUSET,
	                         GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE, nullptr, nullptr, nullptr);
}
}

namespace backfill::pg::settings {

core::Narrate narrate() noexcept {
	return static_cast<core::Narrate>(narrate_value);
}

bool keep_all_events() noexcept {
	return keep_events_value == 1;
}

std::optional<TimestampTz> test_clock() noexcept {
	if (test_clock_seconds_value == 0)
		return std::nullopt;
	constexpr double epoch = (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * double{SECS_PER_DAY};
	return static_cast<TimestampTz>((test_clock_seconds_value - epoch) * USECS_PER_SEC);
}

} // namespace backfill::pg::settings
