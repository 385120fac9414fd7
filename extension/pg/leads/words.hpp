#pragma once

#include <optional>
#include <string_view>

#include "bureau/reading.hpp"

namespace bt {

// Back from the words that bureau::to_text() gives. What is none of them is the most cautious value.
std::optional<bureau::Bureau> bureau_of(std::string_view word) noexcept;
bureau::Outcome outcome_of(std::string_view word) noexcept;         // failed
bureau::StatusClass status_class_of(std::string_view word) noexcept; // unknown
bureau::Holder holder_of(std::string_view word) noexcept;           // unknown

} // namespace bt
