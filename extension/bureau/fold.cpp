#include "bureau/fold.hpp"

namespace bureau {

namespace {

bool starts_with_at(std::string_view text, std::size_t at, std::string_view what) {
	return text.compare(at, what.size(), what) == 0;
}

// Length in bytes of the blank at this place; 0 if there is none.
std::size_t blank_length(std::string_view text, std::size_t at) {
	const auto c = static_cast<unsigned char>(text[at]);
	if (c == ' ' || (c >= '\t' && c <= '\r'))
		return 1;
	if (c == 0xC2)
		return starts_with_at(text, at, "\xC2\xA0") ? 2 : 0; // U+00A0
	if (c == 0xE2 && at + 2 < text.size()) {
		const auto second = static_cast<unsigned char>(text[at + 1]);
		const auto third = static_cast<unsigned char>(text[at + 2]);
		const bool general = second == 0x80 && ((third >= 0x80 && third <= 0x8B) || third == 0xAF); // U+2000 to U+200B, U+202F
		const bool mathematical = second == 0x81 && third == 0x9F;                                  // U+205F
		return general || mathematical ? 3 : 0;
	}
	if (c == 0xE3)
		return starts_with_at(text, at, "\xE3\x80\x80") ? 3 : 0; // U+3000
	if (c == 0xEF)
		return starts_with_at(text, at, "\xEF\xBB\xBF") ? 3 : 0; // U+FEFF
	return 0;
}

// U+00E0 to U+00FE, without the division sign, are the small letters of U+00C0 to U+00DE.
bool is_small_latin1(std::string_view text, std::size_t at) {
	if (text[at] != '\xC3' || at + 1 >= text.size())
		return false;
	const auto second = static_cast<unsigned char>(text[at + 1]);
	return second >= 0xA0 && second <= 0xBE && second != 0xB7;
}

} // namespace

std::string fold(std::string_view text) {
	std::string folded;
	folded.reserve(text.size());
	bool gap = false;
	for (std::size_t at = 0; at < text.size();) {
		if (const std::size_t blank = blank_length(text, at)) {
			gap = true;
			at += blank;
			continue;
		}
		if (gap && !folded.empty())
			folded += ' ';
		gap = false;
		if (is_small_latin1(text, at)) {
			folded += text[at];
			folded += static_cast<char>(static_cast<unsigned char>(text[at + 1]) - 0x20);
			at += 2;
			continue;
		}
		const char c = text[at++];
		folded += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
	}
	return folded;
}

std::string letters_and_digits(std::string_view text) {
	std::string key;
	key.reserve(text.size());
	for (const char c : text) {
		if (c >= 'a' && c <= 'z')
			key += static_cast<char>(c - 'a' + 'A');
		else if ((c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
			key += c;
	}
	return key;
}

} // namespace bureau
