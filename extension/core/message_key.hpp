#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace backfill::core {

// What makes a message the same message. Times are microseconds since the Unix epoch, so that no time zone or date
// style has a part in it.
struct MessageKey {
	std::string_view pipeline;
	std::string_view recipient;
	std::string_view message_type;
	std::int64_t window_from = 0;
	std::int64_t window_to = 0;
	std::int32_t generation = 0; // 0 is the message itself, more is one resent on purpose
};

// One text per key and one key per text: each field is preceded by its length.
std::string key_text(const MessageKey &key);

// The key the receiver sees on every attempt: the first half of SHA-256(key_text), in the form of a UUID of version 8
// (RFC 9562, section 5.8). It tells nothing about the recipient.
using Uuid = std::array<std::uint8_t, 16>;
Uuid receiver_key(const std::array<std::uint8_t, 32> &digest) noexcept;

} // namespace backfill::core
