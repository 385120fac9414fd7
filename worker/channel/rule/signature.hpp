#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace backfill::worker::rule {

std::string base64(std::string_view bytes);

// The key of a Standard Webhooks secret: `whsec_` (or nothing) and base64 of 24 to 64 bytes. Empty: it is none.
std::optional<std::string> webhook_key(std::string_view secret);

// The webhook-signature header of Standard Webhooks 1.0 (github.com/standard-webhooks/standard-webhooks, spec):
// `v1,` and base64 of HMAC-SHA-256 over `id.timestamp.payload`, one for each key, so that a receiver that knows the old
// or the new one accepts it.
std::string webhook_signature(const std::vector<std::string> &keys, std::string_view id, std::string_view timestamp,
                              std::string_view payload);

// The value of a CloudEvents attribute in an HTTP header: printable ASCII but space, " and %; the rest percent-encoded
// (CloudEvents 1.0, HTTP binding, 3.1.3.2). With `also`, more characters are encoded: "/?#" for a part of a path.
std::string percent_encoded(std::string_view text, std::string_view also = {});

} // namespace backfill::worker::rule
