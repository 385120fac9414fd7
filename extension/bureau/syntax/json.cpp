#include "bureau/syntax/json.hpp"

#include <cstring>
#include <new>

#include <simdjson.h>

#include "bureau/syntax/escape.hpp"

// simdjson finds where each value, key and punctuation mark begins, and checks the encoding; the walk over these places is ours, because
// simdjson's own parsers either refuse a whole report for one number or one lone surrogate, or do not look at what is skipped.

namespace bureau::syntax {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

const char *skip_digits(const char *at, const char *end) {
	while (at != end && is_digit(*at))
		++at;
	return at;
}

bool is_number(const char *at, const char *end) {
	if (at != end && *at == '-')
		++at;
	const char *digits = at;
	at = skip_digits(at, end);
	if (at == digits || (*digits == '0' && at - digits > 1))
		return false;
	if (at != end && *at == '.') {
		digits = ++at;
		at = skip_digits(at, end);
		if (at == digits)
			return false;
	}
	if (at != end && (*at == 'e' || *at == 'E')) {
		++at;
		if (at != end && (*at == '+' || *at == '-'))
			++at;
		digits = at;
		at = skip_digits(at, end);
		if (at == digits)
			return false;
	}
	return at == end;
}

class Walk {
public:
	// text is writable if it holds a backslash.
	Walk(std::string_view text, const std::uint32_t *place, std::size_t places, FieldCache &fields, Document &document)
		: text_(text.data()), end_of_text_(text.data() + text.size()), place_(place), end_(place + places), fields_(fields),
		  document_(document) {
		find_escape(text_);
	}

	Failure run() {
		Failure failure = value(Field::unknown);
		while (failure == Failure::none && document_.inside())
			failure = document_.in_array() ? after_element() : after_member();
		if (failure == Failure::none && place_ != end_)
			return Failure::invalid_json;
		return failure;
	}

private:
	char here() const { return place_ != end_ ? text_[*place_] : '\0'; }
	bool at(char c) const { return here() == c; }

	// A scalar, or the start of a container; an empty container is read whole.
	Failure value(Field field) {
		switch (here()) {
		case '{':
			return start(field, Kind::object, '}');
		case '[':
			return start(field, Kind::array, ']');
		case '"':
			return string(field);
		case '\0':
			return Failure::invalid_json;
		default:
			return scalar(field);
		}
	}

	Failure start(Field field, Kind kind, char closing) {
		if (!document_.open(field, kind))
			return Failure::too_deep;
		++place_;
		if (at(closing)) {
			finish();
			return Failure::none;
		}
		return kind == Kind::object ? member() : value(field);
	}

	void finish() {
		++place_;
		document_.close();
	}

	Failure after_member() {
		if (at('}')) {
			finish();
			return Failure::none;
		}
		if (!at(','))
			return Failure::invalid_json;
		++place_;
		return member();
	}

	Failure after_element() {
		if (at(']')) {
			finish();
			return Failure::none;
		}
		if (!at(','))
			return Failure::invalid_json;
		++place_;
		return value(document_.open_field());
	}

	Failure member() {
		std::string_view key;
		bool replaced = false;
		if (!at('"') || !quoted(key, replaced) || !at(':'))
			return Failure::invalid_json;
		if (replaced)
			document_.note_bad_unicode(Field::unknown);
		++place_;
		return value(fields_.find(key));
	}

	Failure string(Field field) {
		std::string_view text;
		bool replaced = false;
		if (!quoted(text, replaced))
			return Failure::invalid_json;
		if (replaced)
			document_.note_bad_unicode(field);
		document_.add(field, text);
		return Failure::none;
	}

	// The next place lies behind the closing quote, with nothing but blanks between.
	bool quoted(std::string_view &text, bool &replaced) {
		const char *first = text_ + *place_ + 1;
		const char *last = end_of_token() - 1;
		if (last < first || *last != '"')
			return false;
		++place_;
		text = {first, static_cast<std::size_t>(last - first)};
		return escape_ >= last || unescape(text, last, replaced);
	}

	bool unescape(std::string_view &text, const char *last, bool &replaced) {
		char *writable = const_cast<char *>(text.data()); // of the copy that parse() made
		const std::size_t length = unescape_json(writable, text.size(), replaced);
		text = {writable, length};
		find_escape(last);
		return length != bad_escape;
	}

	Failure scalar(Field field) {
		const char *first = text_ + *place_;
		const char *last = end_of_token();
		++place_;
		const std::string_view token(first, static_cast<std::size_t>(last - first));
		if (token == "null")
			document_.add(field, {});
		else if (token == "true" || token == "false" || is_number(first, last))
			document_.add(field, token);
		else
			return Failure::invalid_json;
		return Failure::none;
	}

	const char *end_of_token() const {
		const char *last = place_ + 1 != end_ ? text_ + place_[1] : end_of_text_;
		while (is_blank(last[-1]))
			--last;
		return last;
	}

	void find_escape(const char *from) {
		const void *found = std::memchr(from, '\\', static_cast<std::size_t>(end_of_text_ - from));
		escape_ = found ? static_cast<const char *>(found) : end_of_text_;
	}

	const char *text_;
	const char *end_of_text_;
	const char *escape_ = nullptr; // the next backslash
	const std::uint32_t *place_;
	const std::uint32_t *end_;
	FieldCache &fields_;
	Document &document_;
};

constexpr std::size_t smallest_index = 1 << 16;
constexpr std::size_t largest_kept_index = 1 << 23;

} // namespace

JsonParser::JsonParser() = default;
JsonParser::~JsonParser() = default;

Failure JsonParser::parse(std::string_view text, Document &document) {
	document.clear(false);
	if (text.find('\\') != std::string_view::npos) {
		const std::span<char> copy = document.copy(text);
		text = {copy.data(), copy.size()};
	}
	if (!indexer_ || indexer_->capacity() < text.size()) {
		std::size_t capacity = smallest_index;
		while (capacity < text.size())
			capacity *= 2;
		indexer_.reset();
		if (simdjson::get_active_implementation()->create_dom_parser_implementation(capacity, 1, indexer_) != simdjson::SUCCESS)
			throw std::bad_alloc();
	}
	const auto error = indexer_->stage1(reinterpret_cast<const std::uint8_t *>(text.data()), text.size(), simdjson::stage1_mode::regular);
	Failure failure = Failure::invalid_json;
	if (error == simdjson::UTF8_ERROR)
		failure = Failure::invalid_encoding;
	else if (error == simdjson::SUCCESS)
		failure = Walk(text, indexer_->structural_indexes.get(), indexer_->n_structural_indexes, fields_, document).run();
	if (indexer_->capacity() > largest_kept_index)
		indexer_.reset();
	return failure;
}

} // namespace bureau::syntax
