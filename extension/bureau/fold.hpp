#pragma once

#include <string>
#include <string_view>

namespace bureau {

// Upper case (ASCII and Latin-1 letters), every run of blanks (no-break and other Unicode blanks too) one blank, none at the ends.
// Expects UTF-8; bytes that are not pass through unchanged.
std::string fold(std::string_view text);

// Only the ASCII letters (upper case) and digits of the text: "Two-wheeler Loan" and "TWO WHEELER LOAN" are the same key.
std::string letters_and_digits(std::string_view text);

} // namespace bureau
