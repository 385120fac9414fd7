#include "pg/subtransaction.hpp"

extern "C" {
#include "mb/pg_wchar.h"
#include "utils/resowner.h"
}

namespace backfill::pg::detail {

Saved begin_subtransaction() {
	const Saved saved{CurrentMemoryContext, CurrentResourceOwner};
	call([&]() noexcept {
		BeginInternalSubTransaction(nullptr);
		MemoryContextSwitchTo(saved.context);
	});
	return saved;
}

static void restore(const Saved &saved) noexcept {
	MemoryContextSwitchTo(saved.context);
	CurrentResourceOwner = saved.owner;
}

void release_subtransaction(const Saved &saved) {
	call([&]() noexcept { ReleaseCurrentSubTransaction(); });
	restore(saved);
}

void roll_back_subtransaction(const Saved &saved) {
	call([&]() noexcept { RollbackAndReleaseCurrentSubTransaction(); });
	restore(saved);
}

SqlError describe(const PgError &error) {
	constexpr int most = 500;
	SqlError described;
	described.data = error.data();
	described.sqlstate = call([&]() noexcept { return unpack_sql_state(error.data()->sqlerrcode); });
	described.message = error.what();
	if (described.message.size() > most)
		described.message.resize(pg_mbcliplen(described.message.data(), static_cast<int>(described.message.size()), most));
	return described;
}

} // namespace backfill::pg::detail
