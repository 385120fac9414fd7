// Which tradelines of one report are one loan.

#include <algorithm>
#include <random>

#include "bureau/duplicates.hpp"
#include "loan.hpp"
#include "tap.hpp"

using namespace bureau;
using loan::day;
using loan::home;
using loan::rupees;
using tap::check;
using tap::check_equal;

namespace {

std::size_t loans(const std::vector<Tradeline> &tradelines) { return distinct_loans(tradelines).size(); }

std::vector<Tradeline> transferred() {
	std::vector<Tradeline> t{home("Kalpit Capital Services Pvt Ltd", "AC2019000028001", 1'264'560 * rupees),
		home("Kalpit Finance India Unlimited", "AC2019000028001", 1'466'050 * rupees), home("Kalpit Housing Finance", "AC2019000028001", 1'785'680 * rupees)};
	t[1].reported = day(2025, 12, 31);
	t[2].reported = day(2024, 7, 31);
	return t;
}

} // namespace

TEST("a loan that went through three legal entities is one, as reported last") {
	std::vector<Tradeline> t = transferred();
	for (int turn = 0; turn < 3; ++turn) {
		const auto distinct = distinct_loans(t);
		check_equal(distinct.size(), 1u, "loans");
		check_equal(distinct[0]->lender, "KALPIT CAPITAL SERVICES", "survivor");
		std::rotate(t.begin(), t.begin() + 1, t.end());
	}
}

TEST("three entities that report an unmasked number for the same day are still one loan") {
	std::vector<Tradeline> t = transferred();
	t[1].reported = t[2].reported = t[0].reported;
	check_equal(loans(t), 1u, "loans");
	t[0].account_number = "000" + t[0].account_number;
	check_equal(loans(t), 1u, "zero-padded");
}

TEST("a masked tail is no key") {
	std::vector<Tradeline> t{home("SBI", "XXXXXX1234"), home("SBI", "XXXXXX1234")};
	t[1].opened = day(2021, 9, 30);
	t[1].sanctioned = 500'000 * rupees;
	check_equal(loans(t), 2u, "another day and amount");
	t[1].opened = t[0].opened;
	check_equal(loans(t), 2u, "another amount");
	t[1].sanctioned = t[0].sanctioned;
	check_equal(loans(t), 1u, "all equal");
	t[1].account_type = 3;
	check_equal(loans(t), 2u, "another class of loan");
	t[1].account_type = 44;
	check_equal(loans(t), 1u, "another housing type");
	t[1].opened.reset();
	check_equal(loans(t), 2u, "no day");
}

TEST("two lenders with one masked tail are two loans, unless one report follows the other") {
	std::vector<Tradeline> t{home("SBI", "XXXXXX1234"), home("HDFC Bank", "XXXXXX1234")};
	check_equal(loans(t), 2u, "same month");
	t[1].reported = day(2025, 10, 31);
	check_equal(loans(t), 1u, "older month");
	t[1].reported.reset();
	check_equal(loans(t), 2u, "no month");
}

TEST("loans of one lender and day with other amounts or numbers are other loans") {
	std::vector<Tradeline> t{home("SBI", "XXXX1001"), home("SBI", "XXXX1002")};
	check_equal(loans(t), 2u, "other numbers");
	loan::set_number(t[0], "XXXXXXXXXX");
	loan::set_number(t[1], "XXXXXXXXXX");
	t[1].balance = 1;
	check_equal(loans(t), 2u, "no numbers, another balance");
	t[1].balance = t[0].balance;
	t[1].position = 2;
	check_equal(loans(t), 1u, "equal in everything");
	t[1].history = {{2026, 10, 0}};
	check_equal(loans(t), 2u, "another history");
}

TEST("of two that are reported for one day, the one that goes on survives") {
	std::vector<Tradeline> t{home("Axis Bank", "AB1001"), home("SBI", "AB1001")};
	t[0].status = StatusClass::closed;
	check(distinct_loans(t)[0] == &t[1], "the active one");
	t[0].reported = day(2026, 11, 30);
	check(distinct_loans(t)[0] == &t[0], "unless the end was reported later");
}

TEST("masking every lender never makes loans fewer") {
	std::mt19937 random(20261129);
	const char *lenders[] = {"SBI", "HDFC Bank", "Axis Bank", "XXXXXXXX"};
	for (int round = 0; round < 2000; ++round) {
		std::vector<Tradeline> t;
		for (int i = 0; i < 6; ++i) {
			t.push_back(home(lenders[random() % 4], random() % 2 ? "XXXX1001" : random() % 2 ? "1001" : "XXXXXXXX"));
			t.back().reported = random() % 2 ? day(2026, 10, 31) : day(2026, 9, 30);
			if (random() % 3 == 0)
				t.back().balance = 1;
		}
		const std::size_t named = loans(t);
		for (Tradeline &one : t)
			loan::set_lender(one, "XXXXXXXXXX");
		check(loans(t) >= named, "round " + std::to_string(round));
	}
}

TEST("the order of accounts does not matter") {
	std::mt19937 random(7);
	std::vector<Tradeline> t = transferred();
	for (const char *number : {"XXXX1234", "XXXX1234", "XXXX5678", "1234"})
		t.push_back(home("SBI", number));
	t[4].balance = 5;
	t[6].reported = day(2026, 9, 30);
	const auto contents = [](std::vector<const Tradeline *> distinct) {
		std::vector<std::pair<std::string, Paise>> sorted;
		for (const Tradeline *one : distinct)
			sorted.emplace_back(one->lender + one->account_number, one->balance.value_or(0));
		std::ranges::sort(sorted);
		return sorted;
	};
	const auto expected = contents(distinct_loans(t));
	for (int round = 0; round < 200; ++round) {
		std::ranges::shuffle(t, random);
		check(contents(distinct_loans(t)) == expected, "round " + std::to_string(round));
	}
}

TEST("many equal tradelines take no quadratic time") {
	std::vector<Tradeline> t(100'000, home());
	check_equal(loans(t), 1u, "loans");
	for (std::size_t i = 0; i < t.size(); ++i)
		loan::set_lender(t[i], "Namuna " + std::to_string(i));
	check_equal(loans(t), t.size(), "lenders");
}

int main() { return tap::run(); }
