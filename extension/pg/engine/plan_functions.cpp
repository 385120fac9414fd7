// How the server would run a pipeline's commands, without running them.
#include "pg/args.hpp"
#include "pg/engine/pipeline.hpp"
#include "pg/subtransaction.hpp"

extern "C" {
#include "commands/explain.h"
#include "funcapi.h"
#include "nodes/params.h"
#include "parser/parse_node.h"
#include "utils/acl.h"
#include "utils/plancache.h"
#include "utils/resowner.h"
}

namespace backfill::pg {

namespace {

struct Planned {
	std::string step; // empty: the candidate query
	std::string command;
	std::optional<SqlError> error;
	std::string lacking; // JSON
	std::string plan;    // JSON
};

// The same plan for all parameters, in which what no index serves shows.
CachedPlan *generic_plan(const char *sql, int count, Oid *types) noexcept {
	SPIPlanPtr const plan = SPI_prepare_cursor(sql, count, types, CURSOR_OPT_GENERIC_PLAN);
	if (plan == nullptr)
		elog(ERROR, "could not prepare a command: %s", SPI_result_code_string(SPI_result));
	CachedPlan *const cached = SPI_plan_get_cached_plan(plan);
	if (cached == nullptr)
		elog(ERROR, "could not plan a command");
	return cached;
}

// Whose privileges on which relation a command needs and has not got; the server's message has neither schema nor role.
char *lacking_privileges(const CachedPlan *cached) noexcept {
	constexpr std::pair<AclMode, const char *> named[] = {
		{ACL_SELECT, "SELECT"}, {ACL_INSERT, "INSERT"}, {ACL_UPDATE, "UPDATE"}, {ACL_DELETE, "DELETE"}};
	StringInfoData json;
	initStringInfo(&json);
	ListCell *cell;
	foreach (cell, cached->stmt_list) {
		ListCell *entry;
		foreach (entry, lfirst_node(PlannedStmt, cell)->rtable) {
			const RangeTblEntry *const rte = lfirst_node(RangeTblEntry, entry);
			if (rte->rtekind != RTE_RELATION || rte->requiredPerms == 0)
				continue;
			const Oid role = OidIsValid(rte->checkAsUser) ? rte->checkAsUser : GetUserId();
			const AclMode held = pg_class_aclmask(rte->relid, role, rte->requiredPerms, ACLMASK_ALL);
			for (const auto &[privilege, name] : named)
				if ((rte->requiredPerms & ~held & privilege) != 0)
					appendStringInfo(&json, R"(%s{"relation": %u, "role": %u, "privilege": "%s"})", json.len > 0 ? ", " : "[", rte->relid, role, name);
		}
	}
	appendStringInfoString(&json, json.len > 0 ? "]" : "");
	return json.data;
}

// Starting the plan, as EXPLAIN does, checks the privileges.
char *explained(CachedPlan *cached, const char *sql, int count, const Oid *types) noexcept {
	ParamListInfo const params = makeParamList(count);
	for (int i = 0; i < count; ++i)
		params->params[i] = {0, true, 0, types[i]};
	ExplainState *const state = NewExplainState();
	state->format = EXPLAIN_FORMAT_JSON;
	state->verbose = true;
	state->costs = false;
	ExplainBeginOutput(state);
	ListCell *cell;
	foreach (cell, cached->stmt_list) {
		PlannedStmt *const statement = lfirst_node(PlannedStmt, cell);
		if (statement->commandType != CMD_UTILITY)
			ExplainOnePlan(statement, nullptr, state, sql, params, nullptr, nullptr, nullptr);
	}
	ExplainEndOutput(state);
	ReleaseCachedPlan(cached, nullptr); // nobody owns a reference to a plan that is not kept
	return state->str->data;
}

// By index wherever there is one.
void explain(const std::string &sql, std::vector<Oid> types, Planned &planned) {
	Oid user;
	int security;
	GetUserIdAndSecContext(&user, &security);
	with_identity(user, 0,
	              {{"enable_seqscan", "off"},
	               {"enable_hashjoin", "off"},
	               {"enable_mergejoin", "off"},
	               {"enable_nestloop", "on"},
	               {"enable_indexscan", "on"},
	               {"jit", "off"}},
	              [&] {
		              with_spi([&] {
			              Oid *const given = types.data();
			              const int count = static_cast<int>(types.size());
			              CachedPlan *const cached = call([&]() noexcept { return generic_plan(sql.c_str(), count, given); });
			              planned.lacking = call([&]() noexcept { return lacking_privileges(cached); });
			              planned.plan = call([&]() noexcept { return explained(cached, sql.c_str(), count, given); });
		              });
	              });
}

Planned plan(const Pipeline &pipeline, const std::string &step, const std::string &command, const std::string &sql, const std::vector<Oid> &types) {
	Planned planned{step, command, std::nullopt, {}, {}};
	// To plan is to evaluate what is declared immutable, and some of that writes.
	planned.error = subtransaction([&] { rolled_back([&] { as_owner(pipeline, [&] { explain(sql, types, planned); }); }); });
	if (planned.error && planned.error->is_operator_intervention())
		planned.error->rethrow();
	return planned;
}

std::vector<Planned> plans_of(const Pipeline &pipeline) {
	std::vector<Planned> plans{plan(pipeline, "", "candidates", pipeline.candidates, {TIMESTAMPTZOID, TIMESTAMPTZOID})};
	for (const Step &step : pipeline.steps) {
		const std::vector<Oid> types{step.batch ? pipeline.keys.array_oid() : pipeline.keys.oid()};
		plans.push_back(plan(pipeline, step.name, "check", step.check.sql(), types));
		plans.push_back(plan(pipeline, step.name, "work", step.work.sql(), types));
		if (step.clear)
			plans.push_back(plan(pipeline, step.name, "clear", step.clear->sql(), types));
	}
	return plans;
}

Datum text_or_null(const std::string &value, bool *null) {
	*null = value.empty();
	return value.empty() ? 0 : Param::of(value).value;
}

} // namespace

// (pipeline) -> rows of (step, command, sqlstate, message, lacking, plan)
BACKFILL_FUNCTION(pg_backfill__command_plans) {
	const std::string name = Args(fcinfo).text(0, "pipeline");
	call([&]() noexcept { InitMaterializedSRF(fcinfo, 0); });
	ReturnSetInfo *const rows = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
	MemoryContext const context = CurrentMemoryContext;
	const Pipeline pipeline = load_pipeline(owner_of_function(fcinfo), name, context);
	for (const Planned &planned : plans_of(pipeline)) {
		Datum values[6];
		bool nulls[6] = {};
		values[0] = text_or_null(planned.step, &nulls[0]);
		values[1] = Param::of(planned.command).value;
		values[2] = text_or_null(planned.error ? planned.error->sqlstate : "", &nulls[2]);
		values[3] = text_or_null(planned.error ? planned.error->message : "", &nulls[3]);
		values[4] = text_or_null(planned.lacking, &nulls[4]);
		values[5] = text_or_null(planned.plan, &nulls[5]);
		call([&]() noexcept { tuplestore_putvalues(rows->setResult, rows->setDesc, values, nulls); });
	}
	return 0;
}

// The release that the library in memory is of.
BACKFILL_FUNCTION(pg_backfill__library_version) {
	return Param::of(PG_BACKFILL_VERSION).value;
}

} // namespace backfill::pg
