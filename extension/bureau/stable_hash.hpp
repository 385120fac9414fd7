#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bureau {

// FNV-1a with 128 bits: an identity that is the same on every machine and in every release. Not for secrets and not against
// forgery: ids only have to differ within one borrower's loans.
class StableHash {
public:
	void add(std::string_view text) noexcept {
		for (const char c : text)
			add_byte(static_cast<unsigned char>(c));
		add_byte(0); // the end, so that "ab", "c" and "a", "bc" differ
	}

	// 32 hexadecimal digits.
	std::string hex() const {
		constexpr std::string_view digits = "0123456789abcdef";
		std::string text(32, '0');
		Wide rest = state_;
		for (auto digit = text.rbegin(); digit != text.rend(); ++digit, rest >>= 4)
			*digit = digits[static_cast<std::size_t>(rest & 15)];
		return text;
	}

private:
	using Wide = unsigned __int128;
	static constexpr Wide wide(std::uint64_t high, std::uint64_t low) noexcept { return Wide{high} << 64 | low; }

	void add_byte(unsigned char byte) noexcept {
		state_ ^= byte;
		state_ *= wide(0x0000000001000000, 0x000000000000013B);
	}

	Wide state_ = wide(0x6C62272E07BB0142, 0x62B821756295C58D);
};

} // namespace bureau
