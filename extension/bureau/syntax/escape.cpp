#include "bureau/syntax/escape.hpp"

#include <array>

#include "bureau/syntax/utf8.hpp"

namespace bureau::syntax {

namespace {

constexpr std::uint32_t replacement = 0xFFFD;

bool is_surrogate(std::uint32_t c) { return c >= 0xD800 && c <= 0xDFFF; }

std::uint32_t readable(std::uint32_t c, bool &replaced) {
	if (c != 0 && !is_surrogate(c) && c <= 0x10FFFF)
		return c;
	replaced = true;
	return replacement;
}

int hex_digit(char c) {
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

// Moves from behind count hexadecimal digits; false if they are not there.
bool read_hex(const char *&from, const char *end, int count, std::uint32_t &value) {
	if (end - from < count)
		return false;
	value = 0;
	for (int at = 0; at < count; ++at) {
		const int digit = hex_digit(from[at]);
		if (digit < 0)
			return false;
		value = value * 16 + static_cast<std::uint32_t>(digit);
	}
	from += count;
	return true;
}

// Behind \u; takes in the second half of a pair.
bool read_unicode_escape(const char *&from, const char *end, std::uint32_t &c) {
	if (!read_hex(from, end, 4, c))
		return false;
	if (c < 0xD800 || c > 0xDBFF || end - from < 6 || from[0] != '\\' || from[1] != 'u')
		return true;
	const char *second = from + 2;
	std::uint32_t low = 0;
	if (!read_hex(second, end, 4, low))
		return false;
	if (low >= 0xDC00 && low <= 0xDFFF) {
		c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
		from = second;
	}
	return true;
}

// NUL if this letter behind a backslash is no short escape.
char short_escape(char letter) {
	switch (letter) {
	case '"': case '\\': case '/': return letter;
	case 'b': return '\b';
	case 'f': return '\f';
	case 'n': return '\n';
	case 'r': return '\r';
	case 't': return '\t';
	default: return '\0';
	}
}

struct Entity {
	std::string_view name;
	std::uint32_t character;
};

constexpr auto entities = std::to_array<Entity>({{"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}, {"nbsp", 0xA0}});

// The character of a reference without & and ; or none.
std::optional<std::uint32_t> entity_character(std::string_view name) {
	for (const Entity &entity : entities)
		if (entity.name == name)
			return entity.character;
	if (name.size() < 2 || name[0] != '#')
		return std::nullopt;
	const bool hexadecimal = name[1] == 'x' || name[1] == 'X';
	name.remove_prefix(hexadecimal ? 2 : 1);
	std::uint32_t c = 0;
	if (name.empty())
		return std::nullopt;
	for (const char digit : name) {
		const int value = hex_digit(digit);
		if (value < 0 || (!hexadecimal && value > 9))
			return std::nullopt;
		c = c * (hexadecimal ? 16 : 10) + static_cast<std::uint32_t>(value);
		if (c > 0x10FFFF)
			return 0; // no character
	}
	return c;
}

constexpr std::size_t longest_entity = 12;

} // namespace

std::size_t unescape_json(char *text, std::size_t length, bool &replaced) {
	const char *from = text;
	const char *end = text + length;
	char *to = text;
	while (from != end) {
		if (*from != '\\') {
			*to++ = *from++;
			continue;
		}
		if (++from == end)
			return bad_escape;
		const char letter = *from++;
		if (letter == 'u') {
			std::uint32_t c = 0;
			if (!read_unicode_escape(from, end, c))
				return bad_escape;
			to = encode_utf8(readable(c, replaced), to);
		} else if (const char c = short_escape(letter)) {
			*to++ = c;
		} else {
			return bad_escape;
		}
	}
	return static_cast<std::size_t>(to - text);
}

std::string unescape_script(std::string_view text, bool &replaced) {
	std::string plain;
	plain.reserve(text.size());
	char bytes[4];
	const char *end = text.data() + text.size();
	for (const char *from = text.data(); from != end;) {
		if (*from != '\\' || from + 1 == end) {
			plain += *from++;
			continue;
		}
		const char letter = from[1];
		from += 2;
		std::uint32_t c = 0;
		const char *behind = from;
		if ((letter == 'u' && read_unicode_escape(behind, end, c)) || (letter == 'x' && read_hex(behind, end, 2, c))) {
			from = behind;
			plain.append(bytes, encode_utf8(readable(c, replaced), bytes));
		} else {
			const char simple = short_escape(letter);
			plain += simple ? simple : letter;
		}
	}
	return plain;
}

std::string unescape_entities(std::string_view text, bool &replaced) {
	std::string plain;
	plain.reserve(text.size());
	char bytes[4];
	while (!text.empty()) {
		const std::size_t start = text.find('&');
		plain.append(text.substr(0, start));
		if (start == std::string_view::npos)
			break;
		text.remove_prefix(start);
		const std::size_t end = text.substr(0, longest_entity).find(';');
		const auto c = end == std::string_view::npos ? std::nullopt : entity_character(text.substr(1, end - 1));
		if (c)
			plain.append(bytes, encode_utf8(readable(*c, replaced), bytes));
		else
			plain += '&';
		text.remove_prefix(c ? end + 1 : 1);
	}
	return plain;
}

std::optional<std::string> decode_base64(std::string_view text) {
	std::string bytes;
	bytes.reserve(text.size() / 4 * 3 + 3);
	std::uint32_t bits = 0;
	int count = 0;
	std::size_t padding = 0;
	for (const char c : text) {
		int digit = -1;
		if (c >= 'A' && c <= 'Z')
			digit = c - 'A';
		else if (c >= 'a' && c <= 'z')
			digit = c - 'a' + 26;
		else if (c >= '0' && c <= '9')
			digit = c - '0' + 52;
		else if (c == '+' || c == '-')
			digit = 62;
		else if (c == '/' || c == '_')
			digit = 63;
		else if (c == '=' && ++padding <= 2)
			continue;
		else if (static_cast<unsigned char>(c) <= ' ')
			continue;
		if (digit < 0 || padding > 0)
			return std::nullopt;
		bits = (bits << 6) | static_cast<std::uint32_t>(digit);
		count += 6;
		if (count >= 8) {
			count -= 8;
			bytes += static_cast<char>((bits >> count) & 0xFF);
		}
	}
	return bytes;
}

} // namespace bureau::syntax
