// Lenders' names as bureaus write them.

#include "bureau/fold.hpp"
#include "bureau/lender.hpp"
#include "tap.hpp"

using namespace bureau;
using tap::check;
using tap::check_equal;

TEST("a lender's name does not depend on how it is written") {
	const std::pair<const char *, const char *> names[] = {
		{"HDFC Bank Ltd", "HDFC BANK"}, {"HDFC BANK LTD.", "HDFC BANK"}, {"H.D.F.C. Bank Limited", "HDFC BANK"}, {"HDFC  Bank,  Pvt. Ltd.", "HDFC BANK"},
		{"HDFC\xC2\xA0""Bank", "HDFC BANK"}, {"\xE2\x80\x83hdfc bank\xC2\xA0", "HDFC BANK"}, {" icicibank", "ICICI BANK"}, {"ICICI Bank Limited", "ICICI BANK"},
		{"State Bank of India", "STATE BANK OF INDIA"}, {"SBI", "STATE BANK OF INDIA"}, {"S.B.I.", "STATE BANK OF INDIA"},
		{"LIC Housing Finance Limited", "LIC HOUSING FINANCE"}, {"The Federal Bank Ltd", "FEDERAL BANK"},
		{"Kalpit Capital Services Pvt Ltd", "KALPIT CAPITAL SERVICES"}, {"Namuna (P) Ltd", "NAMUNA"}, {"N\xC3\xA4muna Bank", "N\xC3\x84MUNA BANK"},
		{"L&T Finance", "L&T FINANCE"}, {"L & T Finance Ltd", "L&T FINANCE"}, {"L and T Finance", "L&T FINANCE"}, {"Jammu and Kashmir Bank", "JAMMU & KASHMIR BANK"},
		{"A & Sons", "A & SONS"}, {"Limited", "LIMITED"}, {"Bank", "BANK"},
	};
	for (const auto &[reported, name] : names) {
		const Lender lender = read_lender(reported);
		check_equal(lender.name, name, reported);
		check(!lender.masked, std::string(reported) + " is not masked");
		check_equal(read_lender(lender.name).name, name, std::string("again: ") + reported);
	}
}

TEST("a withheld name is masked and is no name") {
	for (const char *reported : {"XXXXXXXXXX", "xxxx", "XXX XXX", "NOT DISCLOSED", "Not  Disclosed", "NOT\xC2\xA0""DISCLOSED", "****", "X", "XXXXXX BANK", "N/A"}) {
		const Lender lender = read_lender(reported);
		check(lender.masked && lender.name.empty() && lender.family.empty(), reported);
	}
	for (const char *reported : {"", " ", "\xC2\xA0", "..."}) {
		const Lender lender = read_lender(reported);
		check(!lender.masked && lender.name.empty() && lender.family.empty(), "absent, not masked");
	}
	check(!read_lender("XX Namuna").masked, "two letters are a name");
}

TEST("mergers and renames lead to one family") {
	const std::pair<const char *, const char *> families[] = {
		{"HDFC Ltd", "HDFC BANK"}, {"HDFC Bank Ltd", "HDFC BANK"}, {"Syndicate Bank", "CANARA BANK"}, {"Andhra Bank", "UNION BANK OF INDIA"},
		{"Dewan Housing Finance Corporation Ltd", "PIRAMAL FINANCE"}, {"Piramal Capital and Housing Finance Limited", "PIRAMAL FINANCE"},
		{"State Bank of Bikaner and Jaipur", "STATE BANK OF INDIA"}, {"Indiabulls Housing Finance Ltd", "SAMMAAN CAPITAL"}, {"Citibank", "AXIS BANK"},
	};
	for (const auto &[reported, family] : families)
		check_equal(read_lender(reported).family, family, reported);
	check_equal(read_lender("HDFC Ltd").name, "HDFC", "a merged lender keeps its name");
	check_equal(read_lender("PNB Housing Finance Ltd").family, "PNB HOUSING FINANCE", "a name that only begins alike is another lender");
	for (const LenderAlias &alias : lender_aliases()) {
		check_equal(read_lender(alias.name).family, alias.family, std::string(alias.name));
		check_equal(read_lender(alias.family).family, alias.family, "a family is its own family");
	}
}

TEST("folding leaves broken text alone") {
	check_equal(fold("\xC3"), "\xC3", "half a letter");
	check_equal(fold("\xE2\x80"), "\xE2\x80", "two thirds of a blank");
	check_equal(fold("a\xC2"), "A\xC2", "half a blank");
	check_equal(fold(" \t a \r\n b "), "A B", "blanks");
	check_equal(letters_and_digits("Two-wheeler (2) \xC3\xA4"), "TWOWHEELER2", "key");
}

int main() { return tap::run(); }
