#pragma once

#include <string_view>

#include "bureau/reading.hpp"

namespace bureau {

// Reads one report body as received: any wrapper, JSON or XML, any of the four bureaus. Never throws on bad input: that is
// Outcome::failed with a reason. Time and memory are bounded by a multiple of the body's size. The working memory, one set a thread, is
// kept for the next body.
Reading read_report(std::string_view body);

// Changes whenever the same body could be read differently. Part of a normalized report's identity.
inline constexpr int reader_version = 1;

} // namespace bureau
