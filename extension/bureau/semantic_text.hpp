#pragma once

#include <string>

#include "bureau/reading.hpp"

namespace bureau {

// What a reading says about the borrower and the loans, the same for any order of the accounts: without the report's day, time and
// number, enquiries and contacts. Two reports with one text are the same data.
std::string semantic_text(const Reading &reading);

} // namespace bureau
