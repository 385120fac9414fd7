#include "bureau/syntax/unwrap.hpp"

#include <algorithm>

#include "bureau/syntax/encoding.hpp"
#include "bureau/syntax/escape.hpp"

namespace bureau::syntax {

namespace {

enum class TextKind { other, json, escaped_json, xml, page, character_references, base64 };

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; } // of JSON and of XML

std::string_view trimmed(std::string_view text) {
	while (!text.empty() && is_blank(text.front()))
		text.remove_prefix(1);
	while (!text.empty() && is_blank(text.back()))
		text.remove_suffix(1);
	return text;
}

bool starts_with_word(std::string_view text, std::string_view lower_case_word) {
	if (text.size() < lower_case_word.size())
		return false;
	return std::ranges::equal(text.substr(0, lower_case_word.size()), lower_case_word,
		[](char c, char word) { return (c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c) == word; });
}

// Whether a text's first bytes decode to the start of a report in JSON or XML.
bool starts_like_base64(std::string_view text) {
	constexpr std::size_t shortest = 40;
	if (text.size() < shortest)
		return false;
	const auto start = decode_base64(text.substr(0, 8));
	if (!start || start->empty())
		return false;
	const std::string_view bytes = trimmed(*start);
	return !bytes.empty() && std::string_view("<{[&\"\xEF\xFF\xFE").find(bytes.front()) != std::string_view::npos;
}

TextKind kind_of(std::string_view text) {
	switch (text.front()) {
	case '{':
	case '[':
		return text.size() > 1 && text[1] == '\\' ? TextKind::escaped_json : TextKind::json;
	case '"':
		return TextKind::json;
	case '<':
		return starts_with_word(text, "<!doctype html") || starts_with_word(text, "<html") ? TextKind::page : TextKind::xml;
	case '&':
		return TextKind::character_references;
	default:
		return starts_like_base64(text) ? TextKind::base64 : TextKind::other;
	}
}

constexpr std::string_view report_element = "INProfileResponse";

// The XML of a report that a page shows or keeps in a script's variable; empty if there is none.
std::string report_in_page(std::string_view page, bool &replaced) {
	const std::size_t name = page.find(report_element);
	if (name == std::string_view::npos)
		return {};
	const std::string_view before = page.substr(0, name);
	std::string report;
	if (before.ends_with("&lt;"))
		report = unescape_entities(page.substr(name - 4), replaced);
	else if (before.ends_with("\\u003c") || before.ends_with("\\u003C"))
		report = unescape_script(page.substr(name - 6), replaced);
	else if (before.ends_with("\\x3c") || before.ends_with("\\x3C"))
		report = unescape_script(page.substr(name - 4), replaced);
	else if (before.ends_with('<'))
		report = page.substr(name - 1);
	if (report.find("<\\/") != std::string::npos)
		report = unescape_script(report, replaced);
	const std::string end = "</" + std::string(report_element) + ">";
	const std::size_t at = report.find(end);
	report.resize(at == std::string::npos ? report.size() : at + end.size());
	return report;
}

} // namespace

std::optional<Root> Unwrapper::find(std::string_view body) {
	found_in_ = nullptr;
	verdict_ = Verdict::none;
	failure_ = Failure::none;
	bad_unicode_.reset();
	const Utf8 utf8 = to_utf8(body, levels_[0].converted);
	bad_unicode_.set(0, utf8.replaced);
	if (utf8.failure != Failure::none) {
		note(utf8.failure);
		return std::nullopt;
	}
	const std::string_view text = trimmed(utf8.text);
	if (text.empty()) {
		note(Failure::empty);
		return std::nullopt;
	}
	const auto root = look_into(text, 0, utf8.checked);
	if (!root)
		note(Failure::not_a_report);
	return root;
}

std::optional<Root> Unwrapper::look_into(std::string_view text, int wraps, bool checked) {
	text = trimmed(text);
	if (text.empty())
		return std::nullopt;
	const TextKind kind = kind_of(text);
	Level &level = levels_[static_cast<std::size_t>(wraps)];
	if (kind == TextKind::json)
		return look_into_document(level.document, json_.parse(text, level.document), wraps);
	if (!checked && !is_utf8(text)) {
		note(Failure::invalid_encoding);
		return std::nullopt;
	}
	bool replaced = false;
	std::optional<Root> root;
	switch (kind) {
	case TextKind::xml:
		return look_into_document(level.document, xml_.parse(text, level.document), wraps);
	case TextKind::page:
		root = look_into_copy(report_in_page(text, replaced), wraps + 1);
		break;
	case TextKind::escaped_json:
		root = look_into_copy(unescape_script(text, replaced), wraps + 1);
		break;
	case TextKind::character_references:
		root = look_into_copy(unescape_entities(text, replaced), wraps + 1);
		break;
	case TextKind::base64:
		if (auto bytes = decode_base64(text))
			return look_into_bytes(std::move(*bytes), wraps + 1);
		return std::nullopt;
	case TextKind::json:
	case TextKind::other:
		return std::nullopt;
	}
	if (replaced)
		bad_unicode_.set(0);
	return root;
}

std::optional<Root> Unwrapper::look_into_copy(std::string text, int wraps) {
	if (wraps > most_wraps) {
		note(Failure::too_deep);
		return std::nullopt;
	}
	std::string &kept = levels_[static_cast<std::size_t>(wraps)].text;
	kept = std::move(text);
	return look_into(kept, wraps, true);
}

std::optional<Root> Unwrapper::look_into_bytes(std::string bytes, int wraps) {
	if (wraps > most_wraps) {
		note(Failure::too_deep);
		return std::nullopt;
	}
	Level &level = levels_[static_cast<std::size_t>(wraps)];
	level.text = std::move(bytes);
	const Utf8 utf8 = to_utf8(level.text, level.converted);
	if (utf8.failure != Failure::none) {
		note(utf8.failure);
		return std::nullopt;
	}
	if (utf8.replaced)
		bad_unicode_.set(0);
	return look_into(utf8.text, wraps, utf8.checked);
}

std::optional<Root> Unwrapper::look_into_document(Document &document, Failure parsed, int wraps) {
	if (parsed != Failure::none) {
		note(parsed);
		return std::nullopt;
	}
	if (const auto root = find_root(document.root())) {
		found_in_ = &document;
		bad_unicode_ |= document.bad_unicode();
		return root;
	}
	const Verdict verdict = read_verdict(document.root());
	verdict_ = verdict_ == Verdict::none ? verdict : verdict_;
	// From the last to the first, since of equal names the last counts.
	for (std::size_t at = document.nodes().size(); at-- > 0;) {
		const Node &node = document.nodes()[at];
		if (node.kind != Kind::text)
			continue;
		const std::string_view text(node.text, node.length);
		if (kind_of(text) == TextKind::other)
			continue;
		if (wraps == most_wraps) {
			note(Failure::too_deep);
			break;
		}
		if (const auto root = look_into(text, wraps + 1, true)) {
			bad_unicode_ |= document.bad_unicode();
			return root;
		}
	}
	return std::nullopt;
}

Verdict Unwrapper::verdict_around_root() const {
	return verdict_ == Verdict::none && found_in_ ? read_verdict(found_in_->root()) : verdict_;
}

void Unwrapper::release() {
	constexpr std::size_t most_kept = 1 << 22;
	for (Level &level : levels_) {
		level.document.shrink();
		for (std::string *text : {&level.text, &level.converted})
			if (text->capacity() > most_kept)
				std::string().swap(*text);
	}
}

// The first failure counts: a body that does not parse is not looked into, and of texts inside it one is as good as another.
void Unwrapper::note(Failure failure) noexcept {
	if (failure_ == Failure::none)
		failure_ = failure;
}

} // namespace bureau::syntax
