#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace backfill::worker {

// Ids count from 1. CLI11's own check of numbers prints the whole range of a double.
inline CLI::Validator is_id() {
	return CLI::Validator(
		[](std::string &text) {
			const bool digits = !text.empty() && text.size() < 19 && text.find_first_not_of("0123456789") == std::string::npos;
			return digits && text.find_first_not_of('0') != std::string::npos ? std::string() : text + " is not an id: a whole number from 1 on";
		},
		"ID");
}

} // namespace backfill::worker
