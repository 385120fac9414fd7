// Defining pipelines and steps. C++ knows who calls and under which search path, and checks the commands; the rows are
// written by private SQL functions, as the extension's owner.
#include "pg/args.hpp"
#include "pg/engine/command_check.hpp"
#include "pg/engine/keys.hpp"
#include "pg/identity.hpp"

namespace backfill::pg {
using core::Error;
using core::ErrorCode;

namespace {

struct Definition {
	std::int32_t pipeline_id;
	Oid key_type;
	std::string search_path;
};

std::string current_search_path() {
	return call([]() noexcept { return GetConfigOption("search_path", false, false); });
}

// The pipeline, if the caller may change it.
Definition owned_pipeline(FunctionCallInfo fcinfo, const std::string &name) {
	struct Row {
		Definition definition;
		std::string owner;
	};
	const Row row = as_engine(owner_of_function(fcinfo), [&] {
		return with_spi([&] {
			static constinit Statement statement(
				"SELECT pipeline_id, key_type::regtype::oid::bigint, search_path, owner::text FROM backfill._pipeline($1)");
			const Result result = statement.run({Param::of(name)});
			return Row{{result.int4(0, 1), static_cast<Oid>(result.int8(0, 2)), result.text(0, 3)}, result.text(0, 4)};
		});
	});
	const Oid owner = find_role(row.owner);
	const bool allowed = OidIsValid(owner) ? has_rights_of(GetUserId(), owner) : call([]() noexcept { return superuser(); });
	if (!allowed)
		throw Error(ErrorCode::not_allowed, "must be owner of pipeline \"" + name + "\"",
		            "Its owner is " + row.owner + ".");
	return row.definition;
}

// Checks a command the way it will be looked up when it runs.
void check_for(const Definition &definition, CommandKind kind, const std::string &sql) {
	with_identity(GetUserId(), 0, {{"search_path", definition.search_path}},
	              [&] { check_command(kind, sql, definition.key_type); });
}

void write_definition(FunctionCallInfo fcinfo, Statement &statement, std::initializer_list<Param> params) {
	as_engine(owner_of_function(fcinfo), [&] { with_spi([&] { statement.run(params); }); });
}

Datum nothing() {
	return static_cast<Datum>(0);
}

void add_step(FunctionCallInfo fcinfo, bool batch) {
	const Args args(fcinfo);
	const std::string pipeline = args.text(0, "pipeline");
	const std::string step = args.text(1, "step");
	const std::string check = args.text(2, batch ? "lacking" : "done");
	const std::string work = args.text(3, "work");
	const Definition definition = owned_pipeline(fcinfo, pipeline);
	check_for(definition, batch ? CommandKind::lacking : CommandKind::done, check);
	check_for(definition, batch ? CommandKind::batch_work : CommandKind::work, work);
	if (!args.is_null(4))
		check_for(definition, batch ? CommandKind::batch_clear : CommandKind::clear, to_text(args.datum(4)));
	static constinit Statement statement("SELECT backfill._add_step($1, $2, $3, $4, $5, $6)");
	write_definition(fcinfo, statement,
	                 {Param::of(definition.pipeline_id), Param::of(step), Param::of(batch), Param::of(check),
	                  Param::of(work), args.pass(4, TEXTOID)});
}

void set_enabled(FunctionCallInfo fcinfo, bool enabled) {
	const Definition definition = owned_pipeline(fcinfo, Args(fcinfo).text(0, "name"));
	static constinit Statement statement("UPDATE backfill.pipeline SET enabled = $2 WHERE pipeline_id = $1");
	write_definition(fcinfo, statement, {Param::of(definition.pipeline_id), Param::of(enabled)});
}

} // namespace

// (name, candidates, key_type, lookback, slot, timezone, delivery_max_age, max_catchup, after, summary_to, catch_up,
// clock_skew, rate)
BACKFILL_FUNCTION(pg_backfill_create_pipeline) {
	const Args args(fcinfo);
	const std::string name = args.text(0, "name");
	const std::string candidates = args.text(1, "candidates");
	const Oid key_type = args.oid(2, "key_type");
	check_key_type(key_type);
	check_command(CommandKind::candidates, candidates, key_type);
	// Qualified unless it is PostgreSQL's own: a run looks it up under the engine's search path.
	const std::string key_type_name = as_engine(owner_of_function(fcinfo), [&] { return format_type(key_type); });
	static constinit Statement statement("SELECT backfill._create_pipeline($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)");
	write_definition(fcinfo, statement,
	                 {Param::of(name), Param::of(name_of_role(GetUserId())), Param::of(candidates),
	                  Param::of(key_type_name), Param::of(current_search_path()), args.pass(3, INTERVALOID),
	                  args.pass(4, TEXTOID), args.pass(5, TEXTOID), args.pass(6, INTERVALOID),
	                  args.pass(7, INTERVALOID), args.pass(8, TEXTOID), args.pass(9, TEXTOID),
	                  args.pass(10, TEXTOID), args.pass(11, INTERVALOID), args.pass(12, FLOAT8OID)});
	return nothing();
}

// (name, candidates, lookback, slot, timezone, delivery_max_age, max_catchup, after, owner, summary_to, catch_up,
// clock_skew, rate); null leaves a value as it is
BACKFILL_FUNCTION(pg_backfill_alter_pipeline) {
	const Args args(fcinfo);
	const std::string name = args.text(0, "name");
	const Definition definition = owned_pipeline(fcinfo, name);
	if (!args.is_null(1))
		check_for(definition, CommandKind::candidates, to_text(args.datum(1)));
	if (!args.is_null(8)) {
		const std::string owner = to_text(args.datum(8));
		const Oid role = find_role(owner);
		if (!OidIsValid(role))
			throw Error(ErrorCode::not_found, "role \"" + owner + "\" does not exist");
		if (!has_rights_of(GetUserId(), role))
			throw Error(ErrorCode::not_allowed, "must be a member of role \"" + owner + "\"");
	}
	static constinit Statement statement("SELECT backfill._alter_pipeline($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)");
	write_definition(fcinfo, statement,
	                 {Param::of(definition.pipeline_id), args.pass(1, TEXTOID), args.pass(2, INTERVALOID),
	                  args.pass(3, TEXTOID), args.pass(4, TEXTOID), args.pass(5, INTERVALOID),
	                  args.pass(6, INTERVALOID), args.pass(7, TEXTOID), args.pass(8, TEXTOID), args.pass(9, TEXTOID),
	                  args.pass(10, TEXTOID), args.pass(11, INTERVALOID), args.pass(12, FLOAT8OID)});
	return nothing();
}

// (name)
BACKFILL_FUNCTION(pg_backfill_drop_pipeline) {
	const Definition definition = owned_pipeline(fcinfo, Args(fcinfo).text(0, "name"));
	static constinit Statement statement("SELECT backfill._drop_pipeline($1)");
	write_definition(fcinfo, statement, {Param::of(definition.pipeline_id)});
	return nothing();
}

// (name)
BACKFILL_FUNCTION(pg_backfill_enable_pipeline) {
	set_enabled(fcinfo, true);
	return nothing();
}

// (name)
BACKFILL_FUNCTION(pg_backfill_disable_pipeline) {
	set_enabled(fcinfo, false);
	return nothing();
}

// (pipeline, step, done, work, clear)
BACKFILL_FUNCTION(pg_backfill_add_step) {
	add_step(fcinfo, false);
	return nothing();
}

// (pipeline, step, lacking, work, clear)
BACKFILL_FUNCTION(pg_backfill_add_batch_step) {
	add_step(fcinfo, true);
	return nothing();
}

// (pipeline, step, done, lacking, work, clear, "position", new_name); null leaves a value as it is
BACKFILL_FUNCTION(pg_backfill_alter_step) {
	const Args args(fcinfo);
	const std::string pipeline = args.text(0, "pipeline");
	const std::string step = args.text(1, "step");
	const Definition definition = owned_pipeline(fcinfo, pipeline);
	static constinit Statement find("SELECT batch FROM backfill._step($1, $2)");
	const bool batch = as_engine(owner_of_function(fcinfo), [&] {
		return with_spi(
			[&] { return find.run({Param::of(definition.pipeline_id), Param::of(step)}).boolean(0, 1); });
	});
	if (!args.is_null(batch ? 2 : 3))
		throw Error(ErrorCode::invalid_argument,
		            "step \"" + step + "\" of pipeline \"" + pipeline + "\" works on " + (batch ? "batches" : "one item"),
		            std::string("Give its check as ") + (batch ? "lacking" : "done") + ".");
	const int check = batch ? 3 : 2;
	if (!args.is_null(check))
		check_for(definition, batch ? CommandKind::lacking : CommandKind::done, to_text(args.datum(check)));
	if (!args.is_null(4))
		check_for(definition, batch ? CommandKind::batch_work : CommandKind::work, to_text(args.datum(4)));
	if (!args.is_null(5) && !to_text(args.datum(5)).empty())
		check_for(definition, batch ? CommandKind::batch_clear : CommandKind::clear, to_text(args.datum(5)));
	static constinit Statement statement("SELECT backfill._alter_step($1, $2, $3, $4, $5, $6, $7)");
	write_definition(fcinfo, statement,
	                 {Param::of(definition.pipeline_id), Param::of(step), args.pass(check, TEXTOID),
	                  args.pass(4, TEXTOID), args.pass(5, TEXTOID), args.pass(6, INT4OID), args.pass(7, TEXTOID)});
	return nothing();
}

// (pipeline, step)
BACKFILL_FUNCTION(pg_backfill_drop_step) {
	const Args args(fcinfo);
	const std::string step = args.text(1, "step");
	const Definition definition = owned_pipeline(fcinfo, args.text(0, "pipeline"));
	static constinit Statement statement("SELECT backfill._drop_step($1, $2)");
	write_definition(fcinfo, statement, {Param::of(definition.pipeline_id), Param::of(step)});
	return nothing();
}

} // namespace backfill::pg
