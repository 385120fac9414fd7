#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bureau::syntax {

inline constexpr std::size_t bad_escape = static_cast<std::size_t>(-1);

// Resolves the escapes of a JSON string in place and gives the new length, which is not greater; bad_escape if one does not exist.
// What stands for no character (a lone surrogate) and NUL become U+FFFD; replaced is then set.
std::size_t unescape_json(char *text, std::size_t length, bool &replaced);

// The same for the string of a script, where any character may stand behind a backslash, and \xNN exists.
std::string unescape_script(std::string_view text, bool &replaced);

// Resolves character references (&lt; &gt; &amp; &quot; &apos; &nbsp; &#8377; &#x20B9;) once; what is none stays as it is.
std::string unescape_entities(std::string_view text, bool &replaced);

// Blanks between are allowed; none if anything else stands there.
std::optional<std::string> decode_base64(std::string_view text);

} // namespace bureau::syntax
