#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace backfill::core {

// Tells a database in trouble (disk full, a table dropped) from poisoned items: nearly all items fail at one step with
// one SQLSTATE. An item that failed in an earlier run says nothing about that: in a quiet night there may be few others.
class FailurePattern {
public:
	static constexpr std::int64_t enough_items = 20; // below that, a few bad items say nothing
	static constexpr double nearly_all = 0.9;

	// The items of the next ones that failed in an earlier run. Sorted.
	void ignore(std::vector<std::string> items) { ignored_ = std::move(items); }
	bool counts(const std::string &item) const { return !std::binary_search(ignored_.begin(), ignored_.end(), item); }

	void attempted(const std::string &step, std::int64_t items) { attempted_[step] += items; }
	void failed(const std::string &step, const std::string &sqlstate, std::int64_t items = 1) { failed_[{step, sqlstate}] += items; }

	// Items by step, and by step and SQLSTATE.
	const std::map<std::string, std::int64_t> &attempted() const noexcept { return attempted_; }
	const std::map<std::pair<std::string, std::string>, std::int64_t> &failed() const noexcept { return failed_; }

	// The step and SQLSTATE that nearly all items fail with, if there is one.
	const std::pair<std::string, std::string> *broken() const {
		for (const auto &[key, items] : failed_) {
			const auto tried = attempted_.find(key.first);
			if (tried != attempted_.end() && tried->second >= enough_items &&
			    static_cast<double>(items) >= nearly_all * static_cast<double>(tried->second))
				return &key;
		}
		return nullptr;
	}

	// What a run says that ends for it.
	static std::string describe(const std::pair<std::string, std::string> &broken) {
		return "nearly all items that step \"" + broken.first + "\" works on fail with SQLSTATE " + broken.second;
	}

private:
	std::vector<std::string> ignored_;
	std::map<std::string, std::int64_t> attempted_;
	std::map<std::pair<std::string, std::string>, std::int64_t> failed_;
};

} // namespace backfill::core
