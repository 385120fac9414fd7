#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "bureau/reading.hpp"

namespace bt {

inline constexpr std::size_t bureau_count = 4;

// A usable reading, as far as choosing among readings needs it.
struct Source {
	bool present = false;
	bool complete = false;
	std::int64_t report_at = 0; // earliest possible if the report does not say
	std::int64_t received_at = 0;
	std::int64_t credit_report_id = 0;
	std::int64_t normalized_report_id = 0;
	std::array<char, 32> semantic{};
};

using Fingerprint = std::array<char, bureau_count * 33>;

// The best reading of each bureau: complete before degraded, then the report's own time, its arrival, its id.
struct Sources {
	std::array<Source, bureau_count> best;

	void add(bureau::Bureau bureau, const Source &source) noexcept;

	// The identity of what the chosen readings say, not of the readings: a re-pull with the same loans has the same one.
	// Returns its length; 0 if there is no reading.
	std::size_t fingerprint(Fingerprint &result) const noexcept;
};

std::optional<bureau::Bureau> bureau_of(std::string_view name) noexcept;

} // namespace bt
