#include "bureau/amortization.hpp"

namespace bureau {

namespace {

// Fixed-point fractions of one: 62 bits, so that a product fits into 128.
using Wide = unsigned __int128;
using Fraction = std::uint64_t;
constexpr int fraction_bits = 62;
constexpr Fraction one = Fraction{1} << fraction_bits;

constexpr Paise largest_principal = 1'000'000'000'000'000;
constexpr int largest_rate = 10'000;
constexpr int longest_tenure = 1'200;
constexpr int basis_points_a_month = 120'000; // a whole, in basis points a year, spread over twelve months
constexpr int lowest_rate = 500, highest_rate = 1'800; // of a plausible inferred rate

Fraction multiply(Fraction a, Fraction b) noexcept { return static_cast<Fraction>((Wide{a} * b + (one >> 1)) >> fraction_bits); }

Wide divide_rounding(Wide dividend, Wide divisor) noexcept { return (dividend + divisor / 2) / divisor; }

// 1 / (1 + r) to the power of `months`: what one rupee is worth that is paid so much later.
Fraction discount(int rate_basis_points, int months) noexcept {
	Fraction power = one;
	Fraction factor = static_cast<Fraction>(divide_rounding(Wide{one} * basis_points_a_month, static_cast<Wide>(basis_points_a_month + rate_basis_points)));
	for (auto rest = static_cast<unsigned>(months); rest > 0; rest >>= 1) {
		if (rest & 1)
			power = multiply(power, factor);
		factor = multiply(factor, factor);
	}
	return power;
}

bool in_bounds(Paise principal, int rate_basis_points, int months) noexcept {
	return principal > 0 && principal <= largest_principal && rate_basis_points > 0 && rate_basis_points <= largest_rate && months > 0 && months <= longest_tenure;
}

} // namespace

std::optional<Paise> monthly_payment(Paise principal, int rate_basis_points, int months) noexcept {
	if (!in_bounds(principal, rate_basis_points, months))
		return std::nullopt;
	const Wide dividend = static_cast<Wide>(principal) * static_cast<Wide>(rate_basis_points) * one;
	const Wide divisor = Wide{basis_points_a_month} * (one - discount(rate_basis_points, months));
	return static_cast<Paise>(divide_rounding(dividend, divisor));
}

std::optional<Paise> balance_after(Paise principal, int rate_basis_points, int months, int paid) noexcept {
	if (!in_bounds(principal, rate_basis_points, months) || paid < 0 || paid > months)
		return std::nullopt;
	const Wide dividend = static_cast<Wide>(principal) * (one - discount(rate_basis_points, months - paid));
	return static_cast<Paise>(divide_rounding(dividend, one - discount(rate_basis_points, months)));
}

std::optional<int> infer_rate(Paise principal, Paise balance, int months, int paid) noexcept {
	if (paid <= 0 || paid >= months || balance <= 0 || balance >= principal)
		return std::nullopt;
	// One step beyond each end, so that a rate that only rounds to the end is still inside. The balance grows with the rate.
	int low = lowest_rate - 1, high = highest_rate + 1;
	const std::optional<Paise> least = balance_after(principal, low, months, paid), most = balance_after(principal, high, months, paid);
	if (!least || !most || balance <= *least || balance >= *most)
		return std::nullopt;
	while (high - low > 1) {
		const int middle = low + (high - low) / 2;
		(balance_after(principal, middle, months, paid).value() < balance ? low : high) = middle;
	}
	const Paise below = balance - balance_after(principal, low, months, paid).value();
	const Paise above = balance_after(principal, high, months, paid).value() - balance;
	const int nearest = below < above ? low : high;
	return nearest >= lowest_rate && nearest <= highest_rate ? std::optional(nearest) : std::nullopt;
}

} // namespace bureau
