#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include "worker/channel/message.hpp"

namespace backfill::worker::rule {

// A template cannot be used for anything: the configuration is wrong.
class TemplateInvalid final : public std::runtime_error {
	using std::runtime_error::runtime_error;
};

// A template cannot be used for this message. The text names the field and none of its content; reason() is for
// mark_failed.
class TemplateFailed final : public std::runtime_error {
public:
	TemplateFailed(const std::string &text, std::string reason) : std::runtime_error(text), reason_(std::move(reason)) {}
	const std::string &reason() const noexcept { return reason_; }

private:
	std::string reason_;
};

// What a field's text goes through for its target. {{{field}}} is the text as it is, except in a header.
enum class Escape { plain, html, slack, header };

std::string html_escaped(std::string_view text);
// One line: control characters become spaces.
std::string header_escaped(std::string_view text);

// Mustache (mustache(5)), but that a field that is named and not there, or is null, an object or an array, is an error:
// nobody is to be told "Dear ,". A section of such a field is left out as usual. Fields are the payload's, numbers as
// they are written there, and of any object `entries`, an array of {name, value} of what is a text, number or boolean in
// it; and `message.`: id, type, title (the type in words), pipeline, recipient, key, window_from, window_to, generation,
// payload (as JSON) and fields (its entries). Partials and other delimiters are refused.
class Template {
public:
	explicit Template(std::string_view text);
	std::string render(const Message &message, Escape escape) const;

private:
	std::string text_;
};

// The templates of a channel: by part (text, html, subject ...) of a message type. A name stands for the types that
// begin with it and an underscore too: run_summary for run_summary_2. The longest wins, `default` is for all.
class Templates {
public:
	using Parts = std::map<std::string, Template>;

	void add(const std::string &type, const std::string &part, std::string_view text);
	// What is said of a type is replaced as a whole.
	void forget(const std::string &type) { parts_.erase(type); }
	const Parts *find(std::string_view type) const;
	// Render a part; nothing if the type's templates do not have it.
	bool render(std::string &into, const Message &message, const std::string &part, Escape escape) const;

private:
	std::map<std::string, Parts, std::less<>> parts_;
};

} // namespace backfill::worker::rule
