#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "bureau/reading.hpp"

namespace bureau {

// Whether the bureau knows the borrower; of a reading that did not fail.
bool is_hit(const Reading &reading) noexcept;

// What decides which of several reports of one bureau and one mobile speaks for the borrower.
struct ReportRank {
	bool hit = true;                            // false: the bureau does not know the borrower
	bool complete = false;                      // false: degraded
	std::optional<std::int64_t> report_unix_ms; // when the bureau made it
	std::int64_t received = 0;                  // when it arrived, microseconds since any one moment
	std::int64_t id = 0;
};

// The only owner of this order: a hit before a no-hit, complete before degraded, then the newer report, the later arrival, the
// higher id. So a no-hit erases nothing, a degraded re-pull shadows nothing, and an old report that is delivered late replaces nothing.
bool is_better(const ReportRank &a, const ReportRank &b) noexcept;

// Index of the best; none if there are no reports.
std::optional<std::size_t> best_report(std::span<const ReportRank> reports) noexcept;

} // namespace bureau
