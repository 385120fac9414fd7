#pragma once

namespace backfill::worker {

// What a script that calls the program may rely on.
enum class ExitCode {
	done = 0,
	some_failed = 1,
	usage = 2,
	cannot_connect = 3,
	version_mismatch = 4,
	suppressed = 5, // nothing was sent because it was suppressed, where sending was asked for
};

} // namespace backfill::worker
