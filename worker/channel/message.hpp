#pragma once

#include <string>
#include <string_view>

namespace backfill::worker {

// A claimed message, as claim_deliveries answers it. Texts are UTF-8, times ISO 8601 in UTC.
struct Message {
	long long id = 0;
	long long token = 0;
	int attempt = 0;
	int generation = 0;
	std::string key; // receiver_key: the same on every attempt
	std::string recipient;
	std::string type;
	std::string pipeline;
	std::string window_from;
	std::string window_to;
	std::string payload; // the bytes of payload::text

	// The recipient without its kind: user@domain, #channel, a path.
	std::string_view address() const noexcept {
		const std::string_view whole = recipient;
		return whole.substr(whole.find(':') + 1);
	}
};

} // namespace backfill::worker
