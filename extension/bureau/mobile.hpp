#pragma once

#include <string>
#include <string_view>

namespace bureau {

// The ten digits of an Indian mobile number, however it is written (prefix +91, 91, 0091 or 0; blanks, dashes, parentheses).
// Empty for anything else: masked, landline, foreign, two numbers in one field.
std::string mobile_number(std::string_view text);

} // namespace bureau
