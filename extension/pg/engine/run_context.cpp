#include "pg/engine/run_context.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace backfill::pg {

namespace {
const RunContext *current_context = nullptr;
} // namespace

RunContext::RunContext(const Pipeline &pipeline, const RunFrame &frame) noexcept
	: pipeline_(pipeline), frame_(frame), outer_(current_context) {
	current_context = this;
}

RunContext::~RunContext() {
	current_context = outer_;
}

const RunContext *RunContext::current() noexcept {
	return current_context;
}

void RunContext::enter(const std::vector<Item> &items, const std::vector<int> &members, bool batch) noexcept {
	items_ = &items;
	members_ = &members;
	batch_ = batch;
	by_text_.clear();
}

const Item *RunContext::item(const std::optional<std::string> &key) const {
	if (items_ == nullptr)
		return nullptr;
	if (!key) {
		if (batch_)
			throw core::Error(core::ErrorCode::invalid_argument, "a batch step must name the item",
			                  "Give the item's key as text: key => ....");
		return &(*items_)[members_->front()];
	}
	if (by_text_.empty()) {
		for (const int member : *members_)
			by_text_.emplace_back(pipeline_.keys.text_of((*items_)[member].key), member);
		std::sort(by_text_.begin(), by_text_.end());
	}
	const auto found = std::lower_bound(by_text_.begin(), by_text_.end(), std::make_pair(*key, 0));
	if (found == by_text_.end() || found->first != *key)
		throw core::Error(core::ErrorCode::invalid_argument, "the key given is not an item of this step",
		                  "Give the key of an item in $1, as text.");
	return &(*items_)[found->second];
}

} // namespace backfill::pg
