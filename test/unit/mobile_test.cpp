// Mobile numbers as bureaus and people write them.

#include "bureau/mobile.hpp"
#include "tap.hpp"

using tap::check_equal;

TEST("one number, many ways to write it") {
	for (const char *text : {"6000000035", "+91 60000-000 35", "06000000035", "916000000035", "+916000000035", "(+91) 60000 00035", "00916000000035", " 6000000035 ",
	                         "60000\xC2\xA0""00035", "91-6000000035", "\t6000000035\n"})
		check_equal(bureau::mobile_number(text), "6000000035", text);
	check_equal(bureau::mobile_number("9198765432"), "9198765432", "91 can begin the number itself");
	check_equal(bureau::mobile_number(std::string_view("60000000351", 10)), "6000000035", "ends where the view ends");
}

TEST("what is no mobile number") {
	for (const char *text : {"", " ", "+", "02200000000", "2200000000", "XXXXXX0035", "600000003", "60000000351", "600000003512345", "+6512345678", "+6000000035",
	                         "+1 650 253 0000", "++916000000035", "91+6000000035", "6000000035/6000000036", "6000000035 ext 1", "5000000035", "915000000035", "6000000035.0",
	                         "\xEF\xBC\x96""000000035", "\xC2", "00000000000000000000000000000000"})
		check_equal(bureau::mobile_number(text), "", text);
}

int main() { return tap::run(); }
