// The code tables: complete, looked up by number and by word, and equal to the classes decided for each status.

#include <set>

#include "bureau/codes.hpp"
#include "tap.hpp"

using namespace bureau;
using tap::check;
using tap::check_equal;

TEST("every status code has the class that was decided") {
	const auto expect = [](StatusClass status, std::initializer_list<int> codes) {
		for (const int code : codes) {
			const AccountStatus *row = find_account_status(code);
			check(row && row->status == status, "status " + std::to_string(code) + " is " + std::string(to_text(status)));
		}
		return codes.size();
	};
	const std::size_t all =
		expect(StatusClass::active, {0, 11, 21, 22, 23, 24, 25, 71, 78, 80, 82, 83, 84}) +
		expect(StatusClass::closed, {12, 13, 14, 15, 16, 17, 132, 133, 138}) +
		expect(StatusClass::over, {32, 33, 34, 35, 38, 44, 45, 46, 47, 50, 55, 56, 57, 58, 61, 66, 67, 68, 69, 73, 79, 81, 85, 86, 94, 134, 135}) +
		expect(StatusClass::open_adverse, {30, 31, 36, 37, 39, 40, 41, 42, 43, 48, 49, 51, 52, 53, 54, 59, 60, 62, 63, 64, 65, 70, 72, 74, 75, 76, 77,
		                                      87, 88, 89, 90, 91, 93, 97, 130, 131, 136, 137});
	check_equal(account_statuses().size(), all, "no status beside these");
	check(!find_account_status(92) && !find_account_status(-1) && !find_account_status(999), "unlisted codes are not found");
}

TEST("account types: by number, and the words of other bureaus lead to the same numbers") {
	check(loan_class(2) == LoanClass::housing && loan_class(42) == LoanClass::housing && loan_class(44) == LoanClass::housing, "home loans");
	check(loan_class(3) == LoanClass::property, "loan against property");
	check(loan_class(std::nullopt) == LoanClass::other && loan_class(168) == LoanClass::other, "no type, or one of the bulk set");
	check(account_type_of("Housing Loan") == 2 && account_type_of(" HOUSING  LOAN ") == 2, "housing, in any case and spacing");
	check(account_type_of("Property Loan") == 3, "property");
	check(account_type_of("Microfinance Housing Loan") == 42, "microfinance housing");
	check(account_type_of("Pradhan Mantri Awas Yojana - CLSS") == 44, "PMAY");
	check(account_type_of("Two-Wheeler Loan") == 13 && account_type_of("Consumer Loan") == 6 && account_type_of("Credit Card") == 10, "others");
	check(!account_type_of("") && !account_type_of("Loan of another kind"), "unknown words have no type");
	for (const AccountTypeText &row : account_type_texts())
		check(find_account_type(row.code) != nullptr, "type of " + std::string(row.text) + " is in the master");
}

TEST("holders: the same number means different things in different bureaus") {
	check(holder_of(Bureau::experian, "2") == Holder::joint && holder_of(Bureau::cibil, "2") == Holder::authorised_user, "2");
	check(holder_of(Bureau::experian, "3") == Holder::authorised_user && holder_of(Bureau::cibil, "3") == Holder::guarantor, "3");
	check(holder_of(Bureau::cibil, "4") == Holder::joint && holder_of(Bureau::experian, "4") == Holder::unknown, "4");
	check(holder_of(Bureau::experian, "07") == Holder::guarantor && holder_of(Bureau::experian, "z") == Holder::deceased, "zero-padded, small letter");
	check(holder_of(Bureau::equifax, "Joint Account") == Holder::joint && holder_of(Bureau::crif, "Guarantor") == Holder::guarantor, "words");
	check(holder_of(Bureau::equifax, "") == Holder::unknown && holder_of(Bureau::crif, "0") == Holder::unknown, "nothing");
}

TEST("flags beside the status") {
	check(!find_written_off_settled(0)->effect && !find_written_off_settled(99)->effect, "00 and 99 change nothing");
	check(find_written_off_settled(2)->effect == StatusClass::open_adverse && find_written_off_settled(3)->effect == StatusClass::over, "written off, settled");
	check(!find_suit_filed(0)->effect && find_suit_filed(1)->effect == StatusClass::open_adverse, "suit filed");
	check(!find_suit_filed(4) && !find_written_off_settled(18), "unlisted");
	check(status_of("Current Account") == StatusClass::active && status_of("Closed Account") == StatusClass::closed, "words");
	check(status_of("WRITTEN-OFF") == StatusClass::open_adverse && !status_of("something else"), "more words");
	check(status_number("11") == 11 && status_number("0") == 0 && !status_number("") && !status_number("Active") && !status_number("1A"), "numbers");
}

TEST("codes are unique within their list") {
	std::set<std::pair<std::string_view, std::string_view>> seen;
	for (const Code &row : other_codes())
		check(seen.emplace(row.list, row.code).second, std::string(row.list) + " " + std::string(row.code) + " appears once");
	std::set<std::string_view> lists;
	for (const Code &row : other_codes())
		lists.insert(row.list);
	check_equal(lists.size(), 14u, "lists");
	std::set<std::pair<Bureau, std::string_view>> holders;
	for (const HolderCode &row : holder_codes())
		check(holders.emplace(row.bureau, row.code).second, "holder code " + std::string(row.code) + " appears once a bureau");
}

int main() { return tap::run(); }
