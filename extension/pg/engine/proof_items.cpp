// Which items a proof tries: real ones, the newest.
#include <algorithm>
#include <numeric>

#include "pg/engine/candidates.hpp"
#include "pg/engine/proof.hpp"

namespace backfill::pg {

namespace {

bool is_newer(const Item &one, const Item &two) {
	if (one.has_time != two.has_time)
		return one.has_time;
	return one.time > two.time;
}

void keep_newest(std::vector<Item> &items, std::size_t most) {
	if (items.size() <= most)
		return;
	std::stable_sort(items.begin(), items.end(), is_newer);
	items.resize(most);
}

} // namespace

// Adds candidates of such a run that are not among the items, until there are `most`.
void Proof::add_items(const RunFrame &frame, int most) {
	constexpr int page = 1024;
	const std::size_t room = static_cast<std::size_t>(most) - items_.size();
	const auto is_known = [&](const Item &item) {
		return std::any_of(items_.begin(), items_.end(),
		                   [&](const Item &known) { return pipeline_.keys.compare(known.key, item.key) == 0; });
	};
	std::vector<Item> found;
	Candidates candidates;
	candidates.scan(pipeline_, frame, CurrentMemoryContext);
	for (std::vector<Item> next = candidates.next(pipeline_, page); !next.empty(); next = candidates.next(pipeline_, page)) {
		std::copy_if(next.begin(), next.end(), std::back_inserter(found), [&](const Item &item) { return !is_known(item); });
		keep_newest(found, room);
	}
	candidates.release();
	items_.insert(items_.end(), found.begin(), found.end());
}

// What a live run would take; and if that is not enough, what a replay of the same time would, which also takes what is
// done. Where there is nothing at all, further back.
void Proof::pick(int most) {
	frame_ = record_.begin_rehearsal(std::nullopt, 0, false, false);
	add_items(frame_, most);
	RunFrame past = frame_;
	past.mode = "replay";
	const TimestampTz lookback = frame_.scan_to - frame_.scan_from;
	constexpr TimestampTz earliest = 400 * USECS_PER_DAY;
	for (const int times : {1, 10, 100}) {
		past.scan_from = frame_.scan_to - std::max(lookback, std::min(lookback * times, earliest));
		if (static_cast<int>(items_.size()) < most)
			add_items(past, most);
		if (!items_.empty())
			break;
	}
	std::sort(items_.begin(), items_.end(),
	          [&](const Item &one, const Item &two) { return pipeline_.keys.compare(one.key, two.key) < 0; });
	all_.resize(items_.size());
	std::iota(all_.begin(), all_.end(), 0);
}

} // namespace backfill::pg
