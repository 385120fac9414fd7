#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "bureau/best_report.hpp"
#include "bureau/reading.hpp"

namespace bt {

inline constexpr std::size_t bureau_count = 4;
inline constexpr std::size_t hash_bytes = 32;

// A usable reading, as far as choosing among readings needs it.
struct Source {
	bureau::ReportRank rank;
	std::int64_t normalized_report_id = 0;
	std::array<char, hash_bytes> semantic{};
};

// A bureau's digit and its reading's semantic hash, for each bureau that has one.
using Fingerprint = std::array<char, bureau_count *(1 + hash_bytes)>;

// The best reading of each bureau.
struct Sources {
	std::array<std::optional<Source>, bureau_count> best;

	void add(bureau::Bureau bureau, const Source &source) noexcept;

	// The identity of what the chosen readings say, not of the readings: a re-pull with the same loans has the same one.
	// Returns its length; 0 if there is no reading.
	std::size_t fingerprint(Fingerprint &result) const noexcept;
};

} // namespace bt
