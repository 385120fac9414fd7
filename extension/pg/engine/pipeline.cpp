#include "pg/engine/pipeline.hpp"

#include "core/error.hpp"

namespace backfill::pg {

using core::Error;
using core::ErrorCode;

void Pipeline::release() {
	for (Step &step : steps) {
		step.check.release();
		step.work.release();
		if (step.clear)
			step.clear->release();
	}
}

static std::vector<Step> load_steps(std::int32_t pipeline_id, const KeyType &keys) {
	static constinit Statement statement(
		"SELECT name, batch, check_sql, work_sql, clear_sql FROM backfill.step WHERE pipeline_id = $1 ORDER BY position");
	const Result rows = statement.run({Param::of(pipeline_id)});
	std::vector<Step> steps;
	for (std::uint64_t i = 0; i < rows.rows(); ++i) {
		const bool batch = rows.boolean(i, 2);
		const std::vector<Oid> types{batch ? keys.array_oid() : keys.oid()};
		Step step{rows.text(i, 1), batch, Command(rows.text(i, 3), types), Command(rows.text(i, 4), types), std::nullopt};
		if (const auto clear = rows.text_or_null(i, 5))
			step.clear.emplace(*clear, types);
		steps.push_back(std::move(step));
	}
	return steps;
}

Pipeline load_pipeline(Oid engine_owner, const std::string &name, MemoryContext context, Purpose purpose) {
	return as_engine(engine_owner, [&] {
		return with_spi([&] {
			static constinit Statement statement(
				"SELECT pipeline_id, key_type::regtype::oid::bigint, owner::text, search_path, timezone, candidates, "
				"enabled FROM backfill._pipeline($1)");
			const Result row = statement.run({Param::of(name)});
			const std::string owner = row.text(0, 3);
			Pipeline pipeline{row.int4(0, 1), name,           find_role(owner),
			                  row.text(0, 4), row.text(0, 5), row.text(0, 6),
			                  KeyType(static_cast<Oid>(row.int8(0, 2)), context), {}};
			if (purpose == Purpose::run && !row.boolean(0, 7))
				throw Error(ErrorCode::wrong_state, "pipeline \"" + name + "\" is disabled",
				            "Enable it with SELECT backfill.enable_pipeline('" + name + "').");
			if (!OidIsValid(pipeline.owner))
				throw Error(ErrorCode::not_found, "owner \"" + owner + "\" of pipeline \"" + name + "\" does not exist",
				            "Give it one with SELECT backfill.alter_pipeline('" + name + "', owner => ...).");
			pipeline.steps = load_steps(pipeline.id, pipeline.keys);
			if (pipeline.steps.empty())
				throw Error(ErrorCode::wrong_state, "pipeline \"" + name + "\" has no steps",
				            "Add one with backfill.add_step or backfill.add_batch_step.");
			return pipeline;
		});
	});
}

} // namespace backfill::pg
