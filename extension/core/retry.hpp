#pragma once

#include <chrono>
#include <optional>

namespace backfill::core {

// What an attempt to send came to, as far as it can be known.
enum class Attempt {
	sent,         // the receiver said yes
	nothing_left, // proved that nothing was sent: the attempt is given back
	retry,        // the receiver said not now
	refused,      // the receiver said no, and will again
	unknown,      // bytes left and no answer came
};

// RFC 9110: 2xx is yes; 429 is a refusal to look at the request; 408, 425 and 5xx may pass; a redirect is not
// followed and so is a refusal, as is any other 4xx. What is no HTTP status at all is unknown.
Attempt judge_http_status(int status) noexcept;

struct RetryPolicy {
	std::chrono::milliseconds base{std::chrono::seconds{5}};
	std::chrono::milliseconds cap{std::chrono::hours{1}};
};

// How long to wait after the given attempt (1 is the first): doubling from base to cap, the upper half of it left to
// `jitter` in [0, 1). The receiver's Retry-After is a floor and may pass the cap; a negative one is ignored.
std::chrono::milliseconds retry_delay(const RetryPolicy &policy, int attempt, double jitter,
                                      std::optional<std::chrono::milliseconds> retry_after = std::nullopt) noexcept;

} // namespace backfill::core
