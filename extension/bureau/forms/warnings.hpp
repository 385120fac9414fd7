#pragma once

#include <bitset>
#include <vector>

#include "bureau/reading.hpp"
#include "bureau/syntax/field.hpp"
#include "bureau/warning.hpp"

namespace bureau::forms {

// Collects each warning once, in order of first appearance.
class Warnings {
public:
	void add(WarningCode code, syntax::Field field) {
		const std::size_t at = static_cast<std::size_t>(code) * syntax::field_count + static_cast<std::size_t>(field);
		if (seen_[at])
			return;
		seen_[at] = true;
		list_.push_back({std::string(to_text(code)), std::string(syntax::field_name(field))});
	}

	std::vector<Warning> take() { return std::move(list_); }

private:
	std::bitset<static_cast<std::size_t>(warning_count) * syntax::field_count> seen_;
	std::vector<Warning> list_;
};

} // namespace bureau::forms
