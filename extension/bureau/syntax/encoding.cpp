#include "bureau/syntax/encoding.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include <simdjson.h>

#include "bureau/syntax/utf8.hpp"

namespace bureau::syntax {

namespace {

// 0x80 to 0x9F of windows-1252; the five it leaves free are controls, as in ISO-8859-1.
constexpr std::array<std::uint16_t, 32> windows_1252 = {0x20AC, 0x81, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
	0x2039, 0x0152, 0x8D, 0x017D, 0x8F, 0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153,
	0x9D, 0x017E, 0x0178};

void append(std::string &text, std::uint32_t c) {
	char bytes[4];
	text.append(bytes, encode_utf8(c, bytes));
}

void from_single_bytes(std::string_view bytes, bool windows, std::string &text) {
	text.clear();
	text.reserve(bytes.size() + bytes.size() / 8);
	for (const char byte : bytes) {
		const auto c = static_cast<unsigned char>(byte);
		append(text, windows && c >= 0x80 && c < 0xA0 ? windows_1252[c - 0x80u] : c);
	}
}

// False if a byte is left over; a lone surrogate becomes U+FFFD.
bool from_utf16(std::string_view bytes, bool big_endian, std::string &text, bool &replaced) {
	if (bytes.size() % 2 != 0)
		return false;
	const auto unit = [&](std::size_t at) {
		const auto first = static_cast<unsigned char>(bytes[at]);
		const auto second = static_cast<unsigned char>(bytes[at + 1]);
		return static_cast<std::uint32_t>(big_endian ? first << 8 | second : second << 8 | first);
	};
	text.clear();
	text.reserve(bytes.size());
	for (std::size_t at = 0; at < bytes.size(); at += 2) {
		std::uint32_t c = unit(at);
		if (c >= 0xD800 && c <= 0xDFFF) {
			const std::uint32_t low = c < 0xDC00 && at + 2 < bytes.size() ? unit(at + 2) : 0;
			const bool pair = low >= 0xDC00 && low <= 0xDFFF;
			c = pair ? 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00) : 0xFFFD;
			at += pair ? 2 : 0;
			replaced = replaced || !pair;
		}
		append(text, c);
	}
	return true;
}

enum class Utf16 { no, little_endian, big_endian };

Utf16 utf16_of(std::string_view bytes) {
	if (bytes.size() < 2)
		return Utf16::no;
	if (bytes.starts_with("\xFF\xFE") || (bytes[1] == '\0' && bytes[0] != '\0'))
		return Utf16::little_endian;
	if (bytes.starts_with("\xFE\xFF") || (bytes[0] == '\0' && bytes[1] != '\0'))
		return Utf16::big_endian;
	return Utf16::no;
}

// In lower case; empty if there is no XML declaration, or it names none.
std::string declared_encoding(std::string_view text) {
	constexpr std::size_t longest_declaration = 256;
	if (!text.starts_with("<?xml"))
		return {};
	text = text.substr(0, std::min(text.find("?>"), longest_declaration));
	const std::size_t name = text.find("encoding");
	const std::size_t open = name == std::string_view::npos ? name : text.find_first_of("'\"", name);
	const std::size_t close = open == std::string_view::npos ? open : text.find(text[open], open + 1);
	if (close == std::string_view::npos)
		return {};
	std::string encoding(text.substr(open + 1, close - open - 1));
	for (char &c : encoding)
		c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
	return encoding;
}

bool is_one_of(std::string_view encoding, std::initializer_list<std::string_view> names) {
	return std::ranges::find(names, encoding) != names.end();
}

bool is_ascii(std::string_view text) {
	return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

} // namespace

bool is_utf8(std::string_view text) noexcept { return simdjson::validate_utf8(text.data(), text.size()); }

Utf8 to_utf8(std::string_view bytes, std::string &storage) {
	Utf8 result;
	constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
	if (const Utf16 order = utf16_of(bytes); order != Utf16::no) {
		if (!from_utf16(bytes, order == Utf16::big_endian, storage, result.replaced))
			result.failure = Failure::invalid_encoding;
		result.text = storage;
		result.checked = true;
	} else {
		result.text = bytes;
	}
	if (result.text.starts_with(byte_order_mark)) {
		result.text.remove_prefix(byte_order_mark.size());
		return result;
	}
	if (result.checked)
		return result;
	const std::string encoding = declared_encoding(result.text);
	const bool latin1 = is_one_of(encoding, {"iso-8859-1", "iso8859-1", "iso_8859-1", "latin1", "latin-1", "l1"});
	const bool windows = is_one_of(encoding, {"windows-1252", "cp1252", "cp-1252"});
	if (latin1 || windows) {
		from_single_bytes(bytes, windows, storage);
		result.text = storage;
		result.checked = true;
	} else if (!encoding.empty() && !is_one_of(encoding, {"utf-8", "utf8", "us-ascii", "ascii", "utf-16", "utf16"}) && !is_ascii(bytes)) {
		result.failure = Failure::invalid_encoding;
	}
	return result;
}

} // namespace bureau::syntax
