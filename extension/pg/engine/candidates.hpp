#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pg/engine/run_context.hpp"

extern "C" {
#include "utils/tuplestore.h"
}

namespace backfill::pg {

// Items that failed earlier, which the candidate query answers when it is asked for this range.
struct EarlierFailures {
	TimestampTz ask_from;
	TimestampTz ask_to;
	std::vector<std::string> items; // keys as text
};

// Candidates found apart from the scan.
struct FoundItems {
	std::vector<std::string> keys; // as text
	std::vector<std::optional<TimestampTz>> times;
};

// The items of a run, asked for once and then handed out in key order. They spill to disk beyond work_mem, and outlive
// the transactions of the run. A key that came up more than once keeps its newest time.
class Candidates {
public:
	// Runs the candidate query as the pipeline's owner. What outlives the transaction is in `context`. also: further items;
	// most: of the first keys, if given.
	void scan(const Pipeline &pipeline, const RunFrame &frame, MemoryContext context, const FoundItems &also = {},
	          std::optional<int> most = std::nullopt);
	// Those of the items that the candidate query still answers.
	static FoundItems find(const Pipeline &pipeline, const RunFrame &frame, const std::vector<EarlierFailures> &failures);
	std::int64_t count() const noexcept { return count_; }
	std::int64_t also_count() const noexcept { return also_count_; } // of these, the further items that the range itself has not
	// The next items, at most `most`; empty at the end. Keys are copied into the current memory context.
	std::vector<Item> next(const Pipeline &pipeline, int most);
	bool null_key() const noexcept { return null_key_; } // has come up
	void release();

private:
	void count_also() noexcept;

	Tuplestorestate *store_ = nullptr;
	TupleTableSlot *slot_ = nullptr;
	std::int64_t count_ = 0;
	std::int64_t also_count_ = 0;
	bool null_key_ = false; // came up
};

} // namespace backfill::pg
