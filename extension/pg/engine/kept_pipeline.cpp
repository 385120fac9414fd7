#include "pg/engine/kept_pipeline.hpp"

namespace backfill::pg {

namespace {

struct Kept {
	Pipeline pipeline;
	std::int64_t stamp;
	MemoryContext context;
};
Kept *kept = nullptr;

void forget() {
	Kept *const old = kept;
	kept = nullptr;
	old->pipeline.release();
	MemoryContext const context = old->context;
	delete old;
	call([&]() noexcept { MemoryContextDelete(context); });
}

} // namespace

Pipeline &kept_pipeline(Oid engine_owner, const std::string &name, std::int64_t stamp) {
	if (kept != nullptr && (kept->stamp != stamp || kept->pipeline.name != name))
		forget();
	if (kept == nullptr) {
		MemoryContext const context = call(
			[]() noexcept { return AllocSetContextCreate(TopMemoryContext, "backfill pipeline", ALLOCSET_SMALL_SIZES); });
		try {
			kept = new Kept{load_pipeline(engine_owner, name, context), stamp, context};
		} catch (...) {
			call([&]() noexcept { MemoryContextDelete(context); });
			throw;
		}
	}
	return kept->pipeline;
}

} // namespace backfill::pg
