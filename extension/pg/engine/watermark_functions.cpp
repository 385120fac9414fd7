// Which transactions are still in progress, whatever the caller may see of other people's sessions.
#include "pg/args.hpp"

extern "C" {
#include "funcapi.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/backend_status.h"
}

namespace backfill::pg {

namespace {

struct Oldest {
	TimestampTz started = 0; // 0: none
	int pid = 0;
	int untimed_pid = 0; // of a transaction in progress whose start is not known; 0: none
};

// A backend without track_activities does not say when its transaction began, but that it is in one.
bool is_in_transaction(int pid) noexcept {
	const PGPROC *const proc = BackendPidGetProc(pid);
	return proc != nullptr && LocalTransactionIdIsValid(proc->lxid);
}

// Of the client sessions of this database, but for this one. A transaction that is about to start shows a moment later.
// Read from the server's own table, which hides nothing, and not from a view, which hides other people's sessions.
Oldest oldest_transaction() {
	return call([]() noexcept {
		Oldest oldest;
		pgstat_clear_backend_activity_snapshot();
		const int count = pgstat_fetch_stat_numbackends();
		for (int i = 1; i <= count; ++i) {
			const LocalPgBackendStatus *const local = pgstat_fetch_stat_local_beentry(i);
			const PgBackendStatus *const entry = local == nullptr ? nullptr : &local->backendStatus;
			if (entry == nullptr || entry->st_procpid == 0 || entry->st_procpid == MyProcPid ||
			    entry->st_databaseid != MyDatabaseId ||
			    (entry->st_backendType != B_BACKEND && entry->st_backendType != B_BG_WORKER))
				continue;
			if (entry->st_xact_start_timestamp == 0) {
				if (is_in_transaction(entry->st_procpid))
					oldest.untimed_pid = entry->st_procpid;
				continue;
			}
			if (oldest.started == 0 || entry->st_xact_start_timestamp < oldest.started)
				oldest = {entry->st_xact_start_timestamp, entry->st_procpid, oldest.untimed_pid};
		}
		pgstat_clear_backend_activity_snapshot();
		return oldest;
	});
}

} // namespace

BACKFILL_FUNCTION(pg_backfill__oldest_transaction) {
	const Oldest oldest = oldest_transaction();
	return call([&]() noexcept {
		TupleDesc columns = nullptr;
		get_call_result_type(fcinfo, nullptr, &columns);
		Datum values[] = {TimestampTzGetDatum(oldest.started), Int32GetDatum(oldest.pid),
		                  Int32GetDatum(oldest.untimed_pid)};
		bool nulls[] = {oldest.started == 0, oldest.started == 0, oldest.untimed_pid == 0};
		return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(columns), values, nulls));
	});
}

} // namespace backfill::pg
