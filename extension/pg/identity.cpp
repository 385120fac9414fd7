#include "pg/identity.hpp"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_proc.h"
#include "utils/acl.h"
#include "utils/syscache.h"
}

namespace backfill::pg {

detail::Scope detail::enter(Oid user, int security, std::initializer_list<Setting> settings) {
	Scope scope{};
	GetUserIdAndSecContext(&scope.user, &scope.security);
	scope.guc_level = call([&]() noexcept { return NewGUCNestLevel(); });
	for (const Setting &setting : settings)
		call([&]() noexcept {
			set_config_option(setting.first, setting.second.c_str(), PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true,
			                  0, false);
		});
	SetUserIdAndSecContext(user, scope.security | security);
	return scope;
}

void detail::leave(const Scope &scope) {
	SetUserIdAndSecContext(scope.user, scope.security);
	// Not as at a commit: what the block itself has SET must not meet the caller's next statement.
	call([&]() noexcept { AtEOXact_GUC(false, scope.guc_level); });
}

Oid owner_of_function(FunctionCallInfo fcinfo) {
	return call([&]() noexcept {
		HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(fcinfo->flinfo->fn_oid));
		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "cache lookup failed for function %u", fcinfo->flinfo->fn_oid);
		const Oid owner = reinterpret_cast<Form_pg_proc>(GETSTRUCT(tuple))->proowner;
		ReleaseSysCache(tuple);
		return owner;
	});
}

bool has_rights_of(Oid member, Oid role) {
	return call([&]() noexcept { return has_privs_of_role(member, role); });
}

Oid find_role(const std::string &name) {
	return call([&]() noexcept { return get_role_oid(name.c_str(), true); });
}

std::string name_of_role(Oid role) {
	const char *const name = call([&]() noexcept { return GetUserNameFromId(role, true); });
	return name == nullptr ? "" : name;
}

} // namespace backfill::pg
