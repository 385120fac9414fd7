#include "bureau/forms/value.hpp"

#include <algorithm>

namespace bureau::forms {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return static_cast<unsigned char>(c) <= ' '; }
bool has_digit(std::string_view text) { return std::ranges::any_of(text, is_digit); }

bool take(std::string_view &text, std::string_view prefix) {
	if (!text.starts_with(prefix))
		return false;
	text.remove_prefix(prefix.size());
	return true;
}

void skip_blanks(std::string_view &text) {
	while (!text.empty()) {
		if (is_blank(text.front()))
			text.remove_prefix(1);
		else if (!take(text, "\xC2\xA0")) // no-break space
			return;
	}
}

void skip_currency(std::string_view &text) {
	constexpr std::string_view rupee_sign = "\xE2\x82\xB9";
	skip_blanks(text);
	for (const std::string_view mark : {rupee_sign, std::string_view("Rs."), std::string_view("Rs"), std::string_view("RS."), std::string_view("RS"),
			 std::string_view("rs."), std::string_view("INR")})
		if (take(text, mark))
			break;
	skip_blanks(text);
}

constexpr int most_digits = 17; // 10^15 rupees in paise

// A decimal number as digits and the power of ten of the last one.
struct Decimal {
	std::int64_t digits = 0;
	int exponent = 0;
	bool negative = false;
	bool round_up = false; // the first digit that was left out is 5 or more
};

// Digits with groups of two or three behind commas, the last of three, and blanks anywhere between.
bool read_whole(std::string_view &text, Decimal &number) {
	int group = 0;
	int count = 0;
	bool grouped = false;
	for (; !text.empty(); text.remove_prefix(1)) {
		const char c = text.front();
		if (is_digit(c)) {
			number.digits = number.digits * 10 + (c - '0');
			++group;
			count += number.digits != 0;
			if (count > most_digits)
				return false;
		} else if (c == ',') {
			if (group == 0 || (grouped && group != 2 && group != 3))
				return false;
			grouped = true;
			group = 0;
		} else if (!is_blank(c)) {
			break;
		}
	}
	return group > 0 && (!grouped || group == 3);
}

// Keeps what fits; a digit beyond cannot matter but for rounding.
bool read_fraction(std::string_view &text, Decimal &number) {
	if (!take(text, "."))
		return true;
	bool any = false;
	bool full = false;
	for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1)) {
		any = true;
		if (!full && number.digits < 1'000'000'000'000'000) {
			number.digits = number.digits * 10 + (text.front() - '0');
			--number.exponent;
		} else if (!full) {
			full = true;
			number.round_up = text.front() >= '5';
		}
	}
	return any || text.empty();
}

bool read_exponent(std::string_view &text, Decimal &number) {
	if (!take(text, "e") && !take(text, "E"))
		return true;
	const bool negative = take(text, "-");
	if (!negative)
		take(text, "+");
	if (text.empty() || text.size() > 2 || !std::ranges::all_of(text, is_digit))
		return false;
	int exponent = 0;
	for (; !text.empty(); text.remove_prefix(1))
		exponent = exponent * 10 + (text.front() - '0');
	number.exponent += negative ? -exponent : exponent;
	return true;
}

bool read_decimal(std::string_view &text, Decimal &number) {
	if (!read_whole(text, number) || !read_fraction(text, number))
		return false;
	if (!read_exponent(text, number))
		return false;
	skip_blanks(text);
	return true;
}

constexpr std::int64_t largest_scaled = 100'000'000'000'000'000; // 10^17

// The number times 10^places, rounded; none if it is too large.
std::optional<std::int64_t> scaled(const Decimal &number, int places) {
	std::int64_t value = number.digits;
	int exponent = number.exponent + places;
	bool round_up = number.round_up;
	for (; exponent > 0 && value != 0; --exponent) {
		if (value > largest_scaled / 10)
			return std::nullopt;
		value *= 10;
		round_up = false;
	}
	for (; exponent < 0 && value != 0; ++exponent) {
		round_up = value % 10 >= 5;
		value /= 10;
	}
	if (exponent != 0)
		round_up = false;
	value += round_up;
	if (value > largest_scaled)
		return std::nullopt;
	return number.negative ? -value : value;
}

} // namespace

Parsed<Paise> parse_amount(std::string_view text) noexcept {
	if (text.empty())
		return {};
	Decimal number;
	number.negative = take(text, "-");
	skip_currency(text);
	if (!number.negative) {
		number.negative = take(text, "-");
		if (!number.negative)
			take(text, "+");
	}
	skip_blanks(text);
	if (!read_decimal(text, number))
		return {.value = {}, .unreadable = true};
	take(text, "/-"); // "500/-" is five hundred flat
	const auto paise = scaled(number, 2);
	if (!text.empty() || !paise)
		return {.value = {}, .unreadable = true};
	if (*paise == -100)
		return {};
	return {.value = *paise};
}

Parsed<int> parse_count(std::string_view text, int largest) noexcept {
	constexpr std::size_t plain = 4; // most are short and nothing but digits
	int small = 0;
	for (const char c : text.substr(0, plain))
		small = is_digit(c) && small >= 0 ? small * 10 + (c - '0') : -1;
	if (!text.empty() && text.size() <= plain && small >= 0 && small <= largest)
		return {.value = small};
	if (text.empty() || !has_digit(text))
		return {};
	Decimal number;
	number.negative = take(text, "-");
	if (!read_decimal(text, number) || !text.empty())
		return {.value = {}, .unreadable = true};
	const auto value = scaled(number, 2);
	if (value == -100)
		return {};
	if (!value || *value < 0 || *value % 100 != 0 || *value / 100 > largest)
		return {.value = {}, .unreadable = true};
	return {.value = static_cast<int>(*value / 100)};
}

Parsed<int> parse_rate(std::string_view text) noexcept {
	if (text.empty() || !has_digit(text) || text.starts_with("-1"))
		return {};
	Decimal number;
	if (!read_decimal(text, number))
		return {.value = {}, .unreadable = true};
	take(text, "%");
	const auto basis_points = scaled(number, 2);
	if (!text.empty() || !basis_points || *basis_points > 100 * 100)
		return {.value = {}, .unreadable = true};
	if (*basis_points == 0)
		return {};
	return {.value = static_cast<int>(*basis_points)};
}

namespace {

// Up to three numbers with one separator between them; false if there is anything else.
bool read_parts(std::string_view text, int (&parts)[3], std::size_t (&widths)[3]) {
	std::size_t part = 0;
	for (const char c : text) {
		if (is_digit(c)) {
			if (++widths[part] > 4)
				return false;
			parts[part] = parts[part] * 10 + (c - '0');
		} else if ((c == '-' || c == '/' || c == '.') && widths[part] > 0 && part < 2) {
			++part;
		} else {
			return false;
		}
	}
	return part == 2 && widths[2] > 0;
}

// The day without a time or a zone behind it.
std::string_view day_text(std::string_view text) {
	const std::size_t end = text.find_first_of(" T+Z");
	if (end != std::string_view::npos)
		return text.substr(0, end);
	return text.substr(0, text.ends_with(".0") && text.find('-') == std::string_view::npos ? text.size() - 2 : text.size());
}

struct YearMonthDay {
	int year = 0, month = 0, day = 0;
};

std::optional<YearMonthDay> split(std::string_view text, DateOrder order) {
	const auto number = [&](std::size_t at, std::size_t length) {
		int value = 0;
		for (const char c : text.substr(at, length))
			value = value * 10 + (c - '0');
		return value;
	};
	if (std::ranges::all_of(text, is_digit)) {
		if (text.size() != 8)
			return std::nullopt;
		if (order == DateOrder::year_first)
			return YearMonthDay{number(0, 4), number(4, 2), number(6, 2)};
		return YearMonthDay{number(4, 4), number(2, 2), number(0, 2)};
	}
	int parts[3] = {};
	std::size_t widths[3] = {};
	if (!read_parts(text, parts, widths))
		return std::nullopt;
	if (widths[0] == 4 && widths[1] <= 2 && widths[2] <= 2)
		return YearMonthDay{parts[0], parts[1], parts[2]};
	if (widths[2] == 4 && widths[0] <= 2 && widths[1] <= 2)
		return YearMonthDay{parts[2], parts[1], parts[0]};
	return std::nullopt;
}

// What systems write that have no null.
bool stands_for_none(YearMonthDay d) {
	return d.year <= 1 || (d.year == 1900 && d.month == 1 && d.day == 1) || (d.year == 9999 && d.month == 12 && d.day == 31);
}

} // namespace

Parsed<Date> parse_date(std::string_view text, DateOrder order) noexcept {
	if (text.empty() || text.find_first_not_of("0-/: .") == std::string_view::npos || text == "-1" || !has_digit(text))
		return {.value = {}, .unreadable = !text.empty() && !has_digit(text) && text.find_first_not_of("-/ .") != std::string_view::npos};
	const auto parts = split(day_text(text), order);
	if (!parts)
		return {.value = {}, .unreadable = true};
	if (stands_for_none(*parts))
		return {};
	const Date date{static_cast<std::int16_t>(parts->year), static_cast<std::int8_t>(parts->month), static_cast<std::int8_t>(parts->day)};
	if (!date.valid())
		return {.value = {}, .unreadable = true};
	return {.value = date};
}

std::optional<int> parse_time(std::string_view text) noexcept {
	text = text.substr(0, text.find('.'));
	int digits = 0;
	int value = 0;
	for (const char c : text) {
		if (c == ':')
			continue;
		if (!is_digit(c) || ++digits > 6)
			return std::nullopt;
		value = value * 10 + (c - '0');
	}
	if (digits == 4 && text.find(':') != std::string_view::npos)
		value *= 100; // HH:MM
	const int hours = value / 10000, minutes = value / 100 % 100, seconds = value % 100;
	if (digits == 0 || hours > 23 || minutes > 59 || seconds > 59)
		return std::nullopt;
	return hours * 3600 + minutes * 60 + seconds;
}

} // namespace bureau::forms
