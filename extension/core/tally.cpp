#include "core/tally.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace backfill::core {

ItemResult result_of(const ItemTrace &trace) noexcept {
	if (trace.failed)
		return ItemResult::failed;
	if (trace.changed)
		return ItemResult::changed;
	return trace.cut_short ? ItemResult::skipped : ItemResult::unchanged;
}

void Tally::count_item(const ItemTrace &trace, std::int64_t items) {
	count_result(result_of(trace), items);
}

void Tally::count_result(ItemResult result, std::int64_t items) {
	items_[static_cast<int>(result)] += items;
}

void Tally::count_step(const std::string &step, Status status, const std::string &reason, std::int64_t items) {
	steps_[{step, status, reason}] += items;
}

void Tally::add(const Tally &other) {
	for (int i = 0; i < 4; ++i)
		items_[i] += other.items_[i];
	newly_failed_ += other.newly_failed_;
	for (const auto &[key, items] : other.steps_)
		steps_[key] += items;
}

std::int64_t Tally::candidates() const noexcept {
	return std::accumulate(std::begin(items_), std::end(items_), std::int64_t{0});
}

// The most frequent first; equal counts by name, so that the line is the same for the same run.
std::string Tally::reasons(Status status) const {
	std::map<std::string, std::int64_t> by_reason;
	for (const auto &[key, items] : steps_)
		if (std::get<1>(key) == status && !std::get<2>(key).empty() && std::get<2>(key) != reason::done)
			by_reason[std::get<2>(key)] += items;
	std::vector<std::pair<std::string, std::int64_t>> sorted(by_reason.begin(), by_reason.end());
	std::stable_sort(sorted.begin(), sorted.end(), [](auto &a, auto &b) { return a.second > b.second; });
	std::string text;
	for (const auto &[why, items] : sorted)
		text += (text.empty() ? " (" : ", ") + why + ' ' + std::to_string(items);
	return text.empty() ? text : text + ')';
}

std::string Tally::line() const {
	const auto number = [this](ItemResult result) { return std::to_string(items(result)); };
	std::string text = std::to_string(candidates()) + (candidates() == 1 ? " candidate: " : " candidates: ") + number(ItemResult::changed) + " changed, " +
	                   number(ItemResult::unchanged) + " unchanged, " + number(ItemResult::skipped) + " skipped" +
	                   reasons(Status::skipped) + ", " + number(ItemResult::failed) + " failed" +
	                   reasons(Status::failed);
	if (newly_failed_ > 0)
		text += ", " + std::to_string(newly_failed_) + " of them for the first time";
	return text;
}

// Steps and reasons are plain names, so nothing needs escaping.
std::string Tally::steps_as_json() const {
	std::string json;
	for (const auto &[key, items] : steps_) {
		const auto &[step, status, why] = key;
		json += (json.empty() ? "{\"step\":\"" : ",{\"step\":\"") + step + "\",\"status\":\"" + name_of(status) +
		        "\",\"reason\":\"" + why + "\",\"items\":" + std::to_string(items) + "}";
	}
	return "[" + json + "]";
}

} // namespace backfill::core
