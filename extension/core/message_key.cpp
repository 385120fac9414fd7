#include "core/message_key.hpp"

#include <algorithm>

namespace backfill::core {

std::string key_text(const MessageKey &key) {
	std::string text;
	auto const append = [&text](std::string_view field) {
		text += std::to_string(field.size());
		text += ':';
		text += field;
	};
	append(key.pipeline);
	append(key.recipient);
	append(key.message_type);
	append(std::to_string(key.window_from));
	append(std::to_string(key.window_to));
	append(std::to_string(key.generation));
	return text;
}

Uuid receiver_key(const std::array<std::uint8_t, 32> &digest) noexcept {
	Uuid uuid;
	std::copy_n(digest.begin(), uuid.size(), uuid.begin());
	uuid[6] = static_cast<std::uint8_t>((uuid[6] & 0x0F) | 0x80);
	uuid[8] = static_cast<std::uint8_t>((uuid[8] & 0x3F) | 0x80);
	return uuid;
}

} // namespace backfill::core
