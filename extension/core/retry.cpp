#include "core/retry.hpp"

#include <algorithm>

namespace backfill::core {

Attempt judge_http_status(int status) noexcept {
	if (status >= 200 && status < 300)
		return Attempt::sent;
	if (status == 429)
		return Attempt::nothing_left;
	if (status == 408 || status == 425 || (status >= 500 && status < 600))
		return Attempt::retry;
	if (status >= 300 && status < 500)
		return Attempt::refused;
	return Attempt::unknown;
}

std::chrono::milliseconds retry_delay(const RetryPolicy &policy, int attempt, double jitter,
                                      std::optional<std::chrono::milliseconds> retry_after) noexcept {
	std::chrono::milliseconds whole = std::min(policy.base, policy.cap);
	for (int doubled = 1; doubled < attempt && whole < policy.cap; ++doubled)
		whole = whole > policy.cap / 2 ? policy.cap : whole * 2;
	auto const half = whole / 2;
	auto const spread = static_cast<double>((whole - half).count()) * std::clamp(jitter, 0.0, 1.0);
	auto const delay = half + std::chrono::milliseconds(static_cast<std::chrono::milliseconds::rep>(spread));
	return std::max(delay, retry_after.value_or(std::chrono::milliseconds::zero()));
}

} // namespace backfill::core
