#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pg/engine/run_context.hpp"

extern "C" {
#include "utils/tuplestore.h"
}

namespace backfill::pg {

// The items of a run, asked for once and then handed out in key order. They spill to disk beyond work_mem, and outlive
// the transactions of the run. A key that came up more than once keeps its newest time.
class Candidates {
public:
	// Runs the candidate query as the pipeline's owner. What outlives the transaction is in `context`. most: of the first
	// keys, if given.
	void scan(const Pipeline &pipeline, const RunFrame &frame, MemoryContext context, std::optional<int> most = std::nullopt);
	std::int64_t count() const noexcept { return count_; }
	// The next items, at most `most`; empty at the end. Keys are copied into the current memory context.
	std::vector<Item> next(const Pipeline &pipeline, int most);
	bool null_key() const noexcept { return null_key_; } // has come up
	void release();

private:
	Tuplestorestate *store_ = nullptr;
	TupleTableSlot *slot_ = nullptr;
	std::int64_t count_ = 0;
	bool null_key_ = false; // came up
};

} // namespace backfill::pg
