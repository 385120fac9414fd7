#include "worker/driver/done_ranges.hpp"

#include <nlohmann/json.hpp>

namespace backfill::worker {

void DoneRanges::add(const std::optional<std::string> &after, const std::string &upto, long long items) {
	// What follows another range makes it longer; there are few, as many as there are connections.
	Range joined{after, upto, items};
	std::erase_if(ranges_, [&](const Range &other) {
		if (after && other.upto == *after)
			joined.after = other.after;
		else if (other.after && *other.after == upto)
			joined.upto = other.upto;
		else
			return false;
		joined.items += other.items;
		return true;
	});
	ranges_.push_back(std::move(joined));
}

std::string DoneRanges::json() const {
	nlohmann::json list = nlohmann::json::array();
	for (const Range &range : ranges_)
		list.push_back({range.after ? nlohmann::json(*range.after) : nlohmann::json(), range.upto, range.items});
	return list.dump();
}

} // namespace backfill::worker
