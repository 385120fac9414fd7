#include "bureau/mobile.hpp"

namespace bureau {

namespace {

constexpr std::size_t national_digits = 10;
constexpr std::size_t most_digits = 14; // 0091 and a national number

// Digits after the country or trunk prefix; empty if the prefix is neither.
std::string_view without_prefix(std::string_view digits, bool international) {
	const std::string_view prefix = digits.substr(0, digits.size() - national_digits);
	const bool known = international ? prefix == "91" : prefix.empty() || prefix == "0" || prefix == "91" || prefix == "0091";
	return known ? digits.substr(prefix.size()) : std::string_view{};
}

} // namespace

std::string mobile_number(std::string_view text) {
	char digits[most_digits];
	std::size_t count = 0;
	bool international = false;
	for (std::size_t at = 0; at < text.size(); ++at) {
		const char c = text[at];
		if (c >= '0' && c <= '9') {
			if (count == most_digits)
				return {};
			digits[count++] = c;
		} else if (c == '+') {
			if (international || count > 0)
				return {};
			international = true;
		} else if (c == '\xC2' && at + 1 < text.size() && text[at + 1] == '\xA0') {
			++at; // no-break space
		} else if (c != ' ' && c != '-' && c != '(' && c != ')' && !(c >= '\t' && c <= '\r')) {
			return {};
		}
	}
	if (count < national_digits)
		return {};
	const std::string_view national = without_prefix({digits, count}, international);
	if (national.empty() || national.front() < '6')
		return {};
	return std::string(national);
}

} // namespace bureau
