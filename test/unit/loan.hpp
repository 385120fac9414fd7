#pragma once

#include <string>

#include "bureau/lender.hpp"
#include "bureau/reading.hpp"

// Tradelines for tests: an active home loan, to be changed where a test says so.
namespace loan {

inline constexpr bureau::Paise rupees = 100;

inline bureau::Date day(int year, int month, int day_of_month) {
	return {static_cast<std::int16_t>(year), static_cast<std::int8_t>(month), static_cast<std::int8_t>(day_of_month)};
}

inline void set_lender(bureau::Tradeline &t, const std::string &reported) {
	bureau::Lender lender = bureau::read_lender(reported);
	t.lender = lender.name;
	t.lender_family = lender.family;
	t.lender_masked = lender.masked;
}

inline void set_number(bureau::Tradeline &t, const std::string &number) {
	t.account_number = number;
	const std::size_t masked = number.find_last_not_of("0123456789");
	t.number_tail = masked == std::string::npos ? number : number.substr(masked + 1);
	if (t.number_tail.size() > 12)
		t.number_tail.erase(0, t.number_tail.size() - 12);
	t.number_tail.erase(0, t.number_tail.find_first_not_of('0'));
	if (t.number_tail.size() < 4)
		t.number_tail.clear();
}

inline bureau::Tradeline home(const std::string &lender = "State Bank of India", const std::string &number = "XXXX1001",
	bureau::Paise balance = 1'000'000 * rupees) {
	bureau::Tradeline t;
	t.position = 1;
	set_lender(t, lender);
	set_number(t, number);
	t.account_type = 2;
	t.status_code = "11";
	t.status = bureau::StatusClass::active;
	t.holder = bureau::Holder::individual;
	t.opened = day(2019, 6, 15);
	t.reported = day(2026, 10, 31);
	t.sanctioned = 3'500'000 * rupees;
	t.balance = balance;
	return t;
}

} // namespace loan
