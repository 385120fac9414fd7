#include "bureau/best_report.hpp"

#include <algorithm>
#include <tuple>

namespace bureau {

bool is_hit(const Reading &reading) noexcept { return reading.reason != "no_hit" && reading.reason != "name_not_found"; }

bool is_better(const ReportRank &a, const ReportRank &b) noexcept {
	const auto rank = [](const ReportRank &r) { return std::tie(r.hit, r.complete, r.report_unix_ms, r.received, r.id); };
	return rank(a) > rank(b);
}

std::optional<std::size_t> best_report(std::span<const ReportRank> reports) noexcept {
	if (reports.empty())
		return std::nullopt;
	return static_cast<std::size_t>(std::ranges::min_element(reports, is_better) - reports.begin());
}

} // namespace bureau
