#pragma once

#include <optional>
#include <string>
#include <vector>

namespace backfill::worker {

// Ranges (after, upto] of keys whose items lacked nothing, and are not counted in the database yet: a pass over items
// that are done writes next to nothing.
class DoneRanges {
public:
	void add(const std::optional<std::string> &after, const std::string &upto, long long items);
	bool empty() const noexcept { return ranges_.empty(); }
	// [[after, upto, items], ...]
	std::string json() const;

private:
	struct Range {
		std::optional<std::string> after;
		std::string upto;
		long long items;
	};
	std::vector<Range> ranges_;
};

} // namespace backfill::worker
