#pragma once

#include <cstdint>

namespace bureau::syntax {

// Writes one to four bytes and gives the end of them; c is a character.
inline char *encode_utf8(std::uint32_t c, char *to) noexcept {
	const auto tail = [&](int shift) { return static_cast<char>(0x80 | ((c >> shift) & 0x3F)); };
	if (c < 0x80) {
		*to++ = static_cast<char>(c);
	} else if (c < 0x800) {
		*to++ = static_cast<char>(0xC0 | (c >> 6));
		*to++ = tail(0);
	} else if (c < 0x10000) {
		*to++ = static_cast<char>(0xE0 | (c >> 12));
		*to++ = tail(6);
		*to++ = tail(0);
	} else {
		*to++ = static_cast<char>(0xF0 | (c >> 18));
		*to++ = tail(12);
		*to++ = tail(6);
		*to++ = tail(0);
	}
	return to;
}

} // namespace bureau::syntax
