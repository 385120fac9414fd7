#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "pg/guard.hpp"

namespace backfill::pg {

// A configuration parameter and its value while a block runs.
using Setting = std::pair<const char *, std::string>;

namespace detail {
struct Scope {
	Oid user;
	int security;
	int guc_level;
};
Scope enter(Oid user, int security, std::initializer_list<Setting> settings);
void leave(const Scope &scope);
} // namespace detail

// Runs fn as another role with other settings. After an error both are put back by the subtransaction or transaction
// that is rolled back.
template <class Fn>
auto with_identity(Oid user, int security, std::initializer_list<Setting> settings, Fn fn) {
	const detail::Scope scope = detail::enter(user, security, settings);
	if constexpr (std::is_void_v<decltype(fn())>) {
		fn();
		detail::leave(scope);
	} else {
		auto result = fn();
		detail::leave(scope);
		return result;
	}
}

// The engine's own statements: as the role that owns the extension, names resolved in pg_catalog only.
template <class Fn>
auto as_engine(Oid engine_owner, Fn fn) {
	return with_identity(engine_owner, SECURITY_LOCAL_USERID_CHANGE, {{"search_path", "pg_catalog, pg_temp"}},
	                     std::move(fn));
}

// The role that owns the SQL function being called; every function of the extension has the same one.
Oid owner_of_function(FunctionCallInfo fcinfo);

// True if `member` has the rights of `role` (superusers have everybody's).
bool has_rights_of(Oid member, Oid role);
// The role's oid, or InvalidOid if there is none of that name.
Oid find_role(const std::string &name);
std::string name_of_role(Oid role);

} // namespace backfill::pg
