#include <optional>
#include <string>

#include "bureau/forms/account.hpp"
#include "bureau/forms/value.hpp"
#include "tap.hpp"

using namespace bureau::forms;
using tap::check_equal;

namespace {

template <class T>
std::string shown(const Parsed<T> &parsed) {
	if (parsed.unreadable)
		return "unreadable";
	return parsed.value ? std::to_string(*parsed.value) : "absent";
}

std::string shown(const Parsed<bureau::Date> &parsed) {
	if (parsed.unreadable)
		return "unreadable";
	if (!parsed.value)
		return "absent";
	return std::to_string(parsed.value->year) + "-" + std::to_string(parsed.value->month) + "-" + std::to_string(parsed.value->day);
}

void amount(std::string_view text, std::string_view expected) { check_equal(shown(parse_amount(text)), expected, "amount " + std::string(text)); }

void count(std::string_view text, std::string_view expected) { check_equal(shown(parse_count(text, 5000)), expected, "count " + std::string(text)); }

void rate(std::string_view text, std::string_view expected) { check_equal(shown(parse_rate(text)), expected, "rate " + std::string(text)); }

void date(std::string_view text, DateOrder order, std::string_view expected) {
	check_equal(shown(parse_date(text, order)), expected, "date " + std::string(text));
}

} // namespace

TEST("amounts become paise, in whatever form they come") {
	amount("", "absent");
	amount("0", "0");
	amount("2780000", "278000000");
	amount("25,00,000", "250000000");
	amount("2,500,000", "250000000");
	amount("1842350.75", "184235075");
	amount("1,842,350.755", "184235076");
	amount("18 42 350", "184235000");
	amount("\u20B9 20,00,000", "200000000");
	amount("\u20B9\u00A020", "2000");
	amount("Rs. 500", "50000");
	amount("Rs500/-", "50000");
	amount("INR 500.", "50000");
	amount("-187", "-18700");
	amount("-\u20B9187", "-18700");
	amount("\u20B9-187.50", "-18750");
	amount("+7", "700");
	amount("-0", "0");
	amount("000123", "12300");
	amount("2.5E7", "2500000000");
	amount("1e3", "100000");
	amount("12345E-2", "12345");
	amount("0.004", "0");
	amount("0.005", "1");
	amount("-0.005", "-1");
	amount("1000000000000000", "100000000000000000");
}

TEST("an amount of exactly -1 means not available") {
	amount("-1", "absent");
	amount("-1.00", "absent");
	amount("-1.01", "-101");
}

TEST("what is no amount is unreadable") {
	for (const char *text : {"NA", "1e400", "0x10", "NaN", "Infinity", "1000000000000001", "12a", "1,2", "1234,50", "1,00", ",100", "1,,000", "--1",
			 "-", ".", "1.2.3", "1e", "1e+", "5 Lakh", "10-", "(187)", "1;2", "9e18", "Rs."})
		amount(text, "unreadable");
	amount(std::string(400, '9'), "unreadable");
	amount("0." + std::string(400, '3'), "33");
	amount(std::string(400, '0') + "7", "700");
}

TEST("counts are whole numbers, words and -1 mean not available") {
	count("", "absent");
	count("0", "0");
	count("000", "0");
	count("012", "12");
	count("00774", "774");
	count("240.0", "240");
	count("XXX", "absent");
	count("?", "absent");
	count("STD", "absent");
	count("-1", "absent");
	count("-1.0", "absent");
	for (const char *text : {"5001", "99999", "99999999999999999999", "1.5", "12x", "-2"})
		count(text, "unreadable");
}

TEST("rates are percent in basis points") {
	rate("9.150", "915");
	rate("8.65", "865");
	rate("8.6 %", "860");
	rate("12", "1200");
	rate("100", "10000");
	rate("0", "absent");
	rate("0.00", "absent");
	rate("", "absent");
	rate("NA", "absent");
	rate("-1", "absent");
	rate("100.01", "unreadable");
	rate("8.6 p.a.", "unreadable");
}

TEST("dates are read by the place of the year, eight digits by the bureau's order") {
	date("20190615", DateOrder::year_first, "2019-6-15");
	date("15062019", DateOrder::day_first, "2019-6-15");
	date("2019-06-15", DateOrder::day_first, "2019-6-15");
	date("15-06-2019", DateOrder::year_first, "2019-6-15");
	date("15/06/2019", DateOrder::year_first, "2019-6-15");
	date("2019-06-15T00:00:00+05:30", DateOrder::year_first, "2019-6-15");
	date("2019-06-15+05:30", DateOrder::year_first, "2019-6-15");
	date("2022-11-28 00:00:00.0", DateOrder::day_first, "2022-11-28");
	date("20200115.0", DateOrder::year_first, "2020-1-15");
	date("29-02-2024", DateOrder::day_first, "2024-2-29");
}

TEST("zeros and limits stand for no date") {
	for (const char *text : {"", "0", "00000000", "0000-00-00", "00010101", "0001-01-01T00:00:00", "19000101", "99991231", "-1", "00/00/0000"})
		date(text, DateOrder::year_first, "absent");
	date("01011900", DateOrder::day_first, "absent");
}

TEST("what is no date is unreadable") {
	for (const char *text : {"NA", "20190631", "20190229", "2019-13-01", "18991231", "22000101", "2019", "201906", "2019061512", "15-Jun-2019", "06-2019",
			 "1-2-3", "2019-06-15-01", "99999999"})
		date(text, DateOrder::year_first, "unreadable");
}

TEST("times of day") {
	check_equal(parse_time("101530").value_or(-1), 36930, "HHMMSS");
	check_equal(parse_time("91530").value_or(-1), 33330, "without a leading zero");
	check_equal(parse_time("10:15:30").value_or(-1), 36930, "with colons");
	check_equal(parse_time("10:15").value_or(-1), 36900, "without seconds");
	check_equal(parse_time("000000").value_or(-1), 0, "midnight");
	for (const char *text : {"", "240000", "106000", "101560", "noon", "1015301"})
		check_equal(parse_time(text).value_or(-1), -1, std::string("time ") + text);
}

TEST("days and months are counted by the calendar") {
	using bureau::Date;
	check_equal(bureau::day_number({1970, 1, 1}), 0, "the first day");
	check_equal(bureau::day_number({2026, 11, 25}), 20782, "a day");
	check_equal(bureau::day_number({1969, 12, 31}), -1, "the day before");
	check_equal(bureau::day_number({2000, 3, 1}) - bureau::day_number({2000, 2, 28}), 2, "a leap year of a century");
	check_equal(bureau::months_between({2019, 6, 15}, {2026, 6, 14}), 83, "a day short of seven years");
	check_equal(bureau::months_between({2019, 6, 15}, {2026, 6, 15}), 84, "seven years");
	check_equal(bureau::months_between({2026, 6, 15}, {2019, 6, 16}), -83, "backwards");
	check_equal(bureau::months_between({2026, 6, 15}, {2026, 5, 31}), 0, "half a month back");
}

TEST("the tail of a number is what no mask covers") {
	check_equal(number_tail("XXXXXXXXXXX1234"), "1234", "masked");
	check_equal(number_tail("AC2019000028001"), "19000028001", "letters before");
	check_equal(number_tail("000600000004001"), "600000004001", "zero-padded");
	check_equal(number_tail("00000000000000000"), "", "zeros");
	check_equal(number_tail("XXXX123"), "", "too short");
	check_equal(number_tail("XXXX0123"), "", "too short without its zero");
	check_equal(number_tail("1234XXXX"), "", "masked at the end");
	check_equal(number_tail(""), "", "none");
}

int main() { return tap::run(); }
