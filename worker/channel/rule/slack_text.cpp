#include "worker/channel/rule/slack_text.hpp"

namespace backfill::worker::rule {

namespace {

constexpr std::size_t longest_entity = 5; // &amp;

std::size_t units_of(unsigned char byte) noexcept {
	return (byte & 0xC0) == 0x80 ? 0 : byte >= 0xF0 ? 2 : 1;
}

} // namespace

std::size_t slack_length(std::string_view text) noexcept {
	std::size_t units = 0;
	for (const char c : text)
		units += units_of(static_cast<unsigned char>(c));
	return units;
}

std::string slack_escaped(std::string_view text) {
	std::string escaped;
	for (const char c : text) {
		switch (c) {
		case '&': escaped += "&amp;"; break;
		case '<': escaped += "&lt;"; break;
		case '>': escaped += "&gt;"; break;
		default: escaped += c;
		}
	}
	return escaped;
}

std::string_view slack_cut(std::string_view text, std::size_t characters) noexcept {
	std::size_t end = 0, units = 0;
	while (end < text.size()) {
		const std::size_t more = units_of(static_cast<unsigned char>(text[end]));
		if (units + more > characters)
			break;
		units += more;
		++end;
	}
	if (end == text.size())
		return text;
	const std::string_view fits = text.substr(0, end);
	const std::size_t line = fits.rfind('\n');
	if (line != std::string_view::npos && line > 0)
		return fits.substr(0, line + 1);
	const std::size_t space = fits.rfind(' ');
	if (space != std::string_view::npos && space > 0)
		return fits.substr(0, space + 1);
	const std::size_t entity = fits.rfind('&');
	if (entity != std::string_view::npos && entity > 0 && end - entity < longest_entity && fits.find(';', entity) == std::string_view::npos)
		return fits.substr(0, entity);
	return fits;
}

std::vector<std::string> slack_sections(std::string_view text, std::size_t most) {
	std::vector<std::string> sections;
	while (!text.empty()) {
		const std::string_view piece = slack_cut(text, slack_section_characters);
		if (sections.size() + 1 == most && piece.size() < text.size()) {
			sections.emplace_back("_The rest is too long for Slack and was left out._");
			break;
		}
		// A section of nothing but white space is refused.
		if (piece.find_first_not_of(" \t\r\n") != std::string_view::npos)
			sections.emplace_back(piece);
		text.remove_prefix(piece.size());
	}
	return sections;
}

} // namespace backfill::worker::rule
