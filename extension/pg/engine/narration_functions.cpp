// The tally of a run that is in the books, in the words it had at its end.
#include "core/tally.hpp"
#include "pg/args.hpp"

namespace backfill::pg {

namespace {

core::Status status_of(const std::string &name) noexcept {
	return name == "ok" ? core::Status::ok : name == "skipped" ? core::Status::skipped : core::Status::failed;
}

std::string tally_line(std::int64_t run_id) {
	core::Tally tally;
	static constinit Statement counts("SELECT changed, unchanged, skipped, failed, newly_failed FROM backfill.run WHERE run_id = $1");
	const Result run = counts.run({Param::of(run_id)});
	if (run.rows() == 0)
		return {};
	tally.count_result(core::ItemResult::changed, run.int8(0, 1));
	tally.count_result(core::ItemResult::unchanged, run.int8(0, 2));
	tally.count_result(core::ItemResult::skipped, run.int8(0, 3));
	tally.count_result(core::ItemResult::failed, run.int8(0, 4));
	tally.count_new_failures(run.int8(0, 5));
	static constinit Statement steps("SELECT step, status, reason, items FROM backfill.run_step_count WHERE run_id = $1");
	const Result rows = steps.run({Param::of(run_id)});
	for (std::uint64_t i = 0; i < rows.rows(); ++i)
		tally.count_step(rows.text(i, 1), status_of(rows.text(i, 2)), rows.text(i, 3), rows.int8(i, 4));
	return tally.line();
}

} // namespace

// (run_id)
BACKFILL_FUNCTION(pg_backfill__tally_line) {
	const std::int64_t run_id = Args(fcinfo).int8(0, "run_id");
	const std::string line = with_spi([&] { return tally_line(run_id); });
	return Param::of(line).value;
}

} // namespace backfill::pg
