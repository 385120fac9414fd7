#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pg/engine/command.hpp"
#include "pg/engine/keys.hpp"

namespace backfill::pg {

// A step's commands, ready to run.
struct Step {
	std::string name;
	bool batch; // $1 is an array of keys; otherwise one key
	Command check;
	Command work;
	std::optional<Command> clear;
};

// A definition as one run uses it: read once, so that changes take effect in the next run.
struct Pipeline {
	std::int32_t id;
	std::string name;
	Oid owner;
	std::string search_path;
	std::string timezone;
	std::string candidates;
	KeyType keys;
	std::vector<Step> steps;

	// Gives the kept plans back.
	void release();
};

// What is rolled back again may be done with a pipeline that is disabled: that is when somebody looks what it would do.
enum class Purpose { run, look };

// Reads the definition, as the engine. What it looks up lives in `context`. Errors: no such pipeline, disabled, without
// steps, or its owner is gone.
Pipeline load_pipeline(Oid engine_owner, const std::string &name, MemoryContext context, Purpose purpose = Purpose::run);

// Temporary tables of the caller's session come last, or they would stand in for the owner's tables and their triggers
// would run with the owner's rights.
inline std::string temporary_last(const std::string &search_path) {
	return search_path.empty() ? "pg_temp" : search_path + ", pg_temp";
}

// Runs fn with the owner's rights in a security-restricted context, and with settings that do not depend on who calls.
template <class Fn>
auto as_owner(const Pipeline &pipeline, Fn fn);

// The owner of the pipeline whose commands run at this moment; InvalidOid if none do. What they ask of the engine is asked
// by their owner, whoever called the run.
class ActingOwner {
public:
	explicit ActingOwner(Oid owner) noexcept : outer_(current_) { current_ = owner; }
	~ActingOwner() { current_ = outer_; }
	ActingOwner(const ActingOwner &) = delete;
	ActingOwner &operator=(const ActingOwner &) = delete;

	static Oid current() noexcept { return current_; }

private:
	static inline Oid current_ = InvalidOid;
	Oid outer_;
};

} // namespace backfill::pg

#include "pg/identity.hpp"

template <class Fn>
auto backfill::pg::as_owner(const Pipeline &pipeline, Fn fn) {
	const ActingOwner acting(pipeline.owner);
	return with_identity(pipeline.owner, SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION,
	                     {{"search_path", temporary_last(pipeline.search_path)},
	                      {"TimeZone", pipeline.timezone},
	                      {"DateStyle", "ISO, MDY"},
	                      {"IntervalStyle", "postgres"},
	                      {"bytea_output", "hex"},
	                      {"plan_cache_mode", "auto"}, // force_custom_plan would pass by the kept plans
	                      {"extra_float_digits", "1"}},
	                     std::move(fn));
}
