#include "worker/driver/settings.hpp"

namespace backfill::worker {

DriverSettings read_driver_settings(Configuration &configuration) {
	DriverSettings settings;
	Section section = configuration.section("worker");
	settings.connections = static_cast<int>(section.integer("connections", 1, 64).value_or(settings.connections));
	settings.pipelines = section.texts("pipelines");
	settings.listen = section.boolean("listen").value_or(settings.listen);
	settings.poll_seconds = section.number("poll_seconds", 0.1, 3600).value_or(settings.poll_seconds);
	settings.lease_seconds = static_cast<int>(section.integer("lease_seconds", 5, 3600).value_or(settings.lease_seconds));
	settings.shutdown_seconds = section.number("shutdown_seconds", 0, 3600).value_or(settings.shutdown_seconds);
	settings.narrate = section.text("narrate").value_or(settings.narrate);
	if (settings.narrate != "all" && settings.narrate != "changes" && settings.narrate != "none")
		section.refuse("narrate", "has to be \"all\", \"changes\" or \"none\"");
	settings.progress_seconds = section.number("progress_seconds", 0.1, 3600).value_or(settings.progress_seconds);
	settings.max_replica_lag_seconds = section.number("max_replica_lag_seconds", 0, 86400);
	settings.max_lock_wait_seconds = section.number("max_lock_wait_seconds", 0, 86400);
	section.finish();
	return settings;
}

} // namespace backfill::worker
