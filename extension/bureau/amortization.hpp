#pragma once

#include <optional>

#include "bureau/reading.hpp"

namespace bureau {

// Annuity loans in integers: amounts in paise, rates in basis points a year, twelve payments a year. The same on every machine.
// None for input outside these bounds: principal up to 10^15 paise, rate 1 to 10000, 1 to 1200 months.

// What is paid a month.
std::optional<Paise> monthly_payment(Paise principal, int rate_basis_points, int months) noexcept;

// What is owed after `paid` payments, 0 to `months`.
std::optional<Paise> balance_after(Paise principal, int rate_basis_points, int months, int paid) noexcept;

// The rate at which `balance` is owed after `paid` payments. None outside 5 to 18 % a year: then the loan was prepaid, drawn in
// parts or had a moratorium, and the formula does not hold.
std::optional<int> infer_rate(Paise principal, Paise balance, int months, int paid) noexcept;

} // namespace bureau
