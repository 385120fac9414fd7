#pragma once

#include <string>

#include "core/outcome.hpp"

namespace backfill::core {

// One decision of a run. `item` is the key as text.
struct Decision {
	std::string item;
	std::string step;
	Status status = Status::ok;
	std::string reason;
	bool changed = false;
};

enum class Narrate { all, changes, none };

// Whether a decision is told: failures always are, unless nothing is.
bool is_told(Narrate narrate, const Decision &decision) noexcept;

// "bt_leads run=7 item=42 step=normalize_report status=failed reason=invalid_json"
std::string line_of(const std::string &pipeline, long long run_id, const Decision &decision);

} // namespace backfill::core
