#pragma once

#include "worker/driver/session.hpp"
#include "worker/driver/settings.hpp"
#include "worker/driver/shared_run.hpp"

namespace backfill::worker {

// What ends a run early, from an error of one of its statements.
void stop_for(SharedRun &shared, const QueryError &error);

// One of the sessions that work on a run: takes chunks and does them batch by batch, each of which is a transaction.
class Lane {
public:
	Lane(Session &session, SharedRun &shared, const DriverSettings &settings)
		: session_(session), shared_(shared), settings_(settings) {}

	// Until there are no more chunks or the run stops. Throws nothing: what went wrong stops the run.
	void work() noexcept;

private:
	void do_chunk(const Chunk &chunk);
	void do_items(const Chunk &chunk, const std::vector<int> &first);
	// The items `members` of the chunk, and those of (after, last member] that are done.
	BatchResult do_batch(const Chunk &chunk, const std::vector<int> &first, const std::vector<std::size_t> &members, const Value &after,
	                     long long done);
	void tell(const BatchResult &result) const;

	Session &session_;
	SharedRun &shared_;
	const DriverSettings &settings_;
};

} // namespace backfill::worker
