#pragma once

#include <array>
#include <bitset>
#include <optional>
#include <string_view>

#include "bureau/syntax/document.hpp"
#include "bureau/syntax/json.hpp"
#include "bureau/syntax/recognise.hpp"
#include "bureau/syntax/xml.hpp"

namespace bureau::syntax {

// Finds the report in a body, through envelopes, texts inside texts, base64, character references and pages.
class Unwrapper {
public:
	// None: verdict() or failure() says why. The root stays valid until the next call, as long as the body does.
	std::optional<Root> find(std::string_view body);

	Verdict verdict() const noexcept { return verdict_; }
	// For a root without accounts: what the envelopes and the report itself say instead.
	Verdict verdict_around_root() const;
	Failure failure() const noexcept { return failure_; }
	// Fields of all texts opened in which something was no text in any encoding.
	const std::bitset<field_count> &bad_unicode() const noexcept { return bad_unicode_; }

	// Gives back the memory that an exceptionally large body took.
	void release();

private:
	std::optional<Root> look_into(std::string_view text, int wraps, bool checked);
	std::optional<Root> look_into_copy(std::string text, int wraps);
	std::optional<Root> look_into_bytes(std::string bytes, int wraps);
	std::optional<Root> look_into_document(Document &document, Failure parsed, int wraps);
	void note(Failure failure) noexcept;

	// One for each text inside a text; a text beside another reuses its place.
	struct Level {
		Document document;
		std::string text;
		std::string converted;
	};
	std::array<Level, most_wraps + 1> levels_;
	JsonParser json_;
	XmlParser xml_;
	const Document *found_in_ = nullptr;
	Verdict verdict_ = Verdict::none;
	Failure failure_ = Failure::none;
	std::bitset<field_count> bad_unicode_;
};

} // namespace bureau::syntax
