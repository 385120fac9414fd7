#include "worker/channel/rule/template.hpp"

#include <cctype>

#include <kainjow/mustache.hpp>

#include "worker/channel/rule/slack_text.hpp"
#include "worker/channel/rule/template_data.hpp"

namespace backfill::worker::rule {

namespace mustache = kainjow::mustache;

namespace {

// The library does not say whether it looks a field up for its text or for a section, so names of fields that are to
// be printed are marked when the template is read.
constexpr char printed = '?';

// {{name}}, {{{name}}} and {{&name}}, but no other tag.
std::string marked(std::string_view text) {
	std::string result;
	for (std::size_t i = 0; i < text.size();) {
		if (text.substr(i, 2) != "{{") {
			result += text[i++];
			continue;
		}
		result += "{{";
		i += 2;
		if (i < text.size() && (text[i] == '{' || text[i] == '&'))
			result += text[i++];
		while (i < text.size() && text[i] == ' ')
			++i;
		if (i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) != 0 || text[i] == '_' || text[i] == '.'))
			result += printed;
	}
	return result;
}

class Strict final : public mustache::context<std::string> {
public:
	explicit Strict(const mustache::data *data) : context(data) {}

	const mustache::data *get(const std::string &name) const override {
		if (name.empty() || name.front() != printed)
			return context::get(name);
		const std::string field = name.substr(1);
		const mustache::data *const value = context::get(field);
		if (value == nullptr || value->is_empty_list())
			throw TemplateFailed("the payload has no field " + field, "template_field_missing");
		if (value->is_bool())
			return value->is_true() ? &yes_ : &no_;
		if (!value->is_string())
			throw TemplateFailed("field " + field + " of the payload is not a text", "template_field_not_text");
		return value;
	}

private:
	mustache::data yes_{"true"}, no_{"false"};
};

std::string escaped(const std::string &text, Escape escape) {
	switch (escape) {
	case Escape::html: return html_escaped(text);
	case Escape::slack: return slack_escaped(text);
	case Escape::header: return header_escaped(text);
	case Escape::plain: break;
	}
	return text;
}

} // namespace

std::string html_escaped(std::string_view text) {
	std::string result;
	for (const char c : text) {
		switch (c) {
		case '&': result += "&amp;"; break;
		case '<': result += "&lt;"; break;
		case '>': result += "&gt;"; break;
		case '"': result += "&quot;"; break;
		case '\'': result += "&#39;"; break;
		default: result += c;
		}
	}
	return result;
}

std::string header_escaped(std::string_view text) {
	std::string result;
	for (const char c : text)
		result += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
	return result;
}

Template::Template(std::string_view text) : text_(marked(text)) {
	if (text.find("{{>") != std::string_view::npos || text.find("{{=") != std::string_view::npos)
		throw TemplateInvalid("partials ({{>) and other delimiters ({{=) cannot be used");
	const mustache::mustache parsed(text_);
	if (!parsed.is_valid())
		throw TemplateInvalid(parsed.error_message());
}

std::string Template::render(const Message &message, Escape escape) const {
	mustache::mustache parsed(text_);
	parsed.set_custom_escape([escape](const std::string &text) { return escaped(text, escape); });
	const mustache::data fields = template_data(message);
	Strict context(&fields);
	std::string text = parsed.render(context);
	// {{{ }}} goes past the escape, and a header must not end before its line does.
	return escape == Escape::header ? header_escaped(text) : text;
}

void Templates::add(const std::string &type, const std::string &part, std::string_view text) {
	parts_[type].insert_or_assign(part, Template(text));
}

const Templates::Parts *Templates::find(std::string_view type) const {
	std::string_view name = type;
	for (;;) {
		if (const auto found = parts_.find(name); found != parts_.end())
			return &found->second;
		const std::size_t end = name.rfind('_');
		if (end == std::string_view::npos)
			break;
		name = name.substr(0, end);
	}
	const auto found = parts_.find("default");
	return found == parts_.end() ? nullptr : &found->second;
}

bool Templates::render(std::string &into, const Message &message, const std::string &part, Escape escape) const {
	const Parts *const parts = find(message.type);
	if (parts == nullptr)
		throw TemplateFailed("there is no template for " + message.type, "template_missing");
	const auto found = parts->find(part);
	if (found == parts->end())
		return false;
	into = found->second.render(message, escape);
	return true;
}

} // namespace backfill::worker::rule
