#include "pg/engine/settings.hpp"

#include "pg/guard.hpp"

namespace {

using backfill::core::Narrate;

int narrate_value = static_cast<int>(Narrate::changes);
int keep_events_value = 0;

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
}
}

namespace backfill::pg::settings {

core::Narrate narrate() noexcept {
	return static_cast<core::Narrate>(narrate_value);
}

bool keep_all_events() noexcept {
	return keep_events_value == 1;
}

} // namespace backfill::pg::settings
