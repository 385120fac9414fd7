#pragma once

#include "bureau/reading.hpp"

namespace bureau {

// A total order on everything a tradeline says; its position in the report says nothing.
bool content_less(const Tradeline &a, const Tradeline &b);

// Paid back, settled or sold: nobody owes this lender any more.
bool has_ended(StatusClass status) noexcept;

} // namespace bureau
