#pragma once

#include <string>
#include <string_view>

#include "bureau/syntax/failure.hpp"

namespace bureau::syntax {

struct Utf8 {
	Failure failure = Failure::none; // invalid_encoding if the bytes do not fit
	std::string_view text;           // without a byte order mark; refers to the bytes, or to storage
	bool checked = false;            // known to be valid
	bool replaced = false;           // lone surrogates became U+FFFD
};

// Goes by a byte order mark, by the zero bytes of UTF-16, or by the encoding that an XML declaration names. JSON in UTF-8 is left to
// its parser to check.
Utf8 to_utf8(std::string_view bytes, std::string &storage);

bool is_utf8(std::string_view text) noexcept;

} // namespace bureau::syntax
