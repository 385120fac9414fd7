// Which differences between two makings of one output count, and which are numbers and times that a table gives by itself.
#include "core/output_difference.hpp"
#include "tap.hpp"

using namespace backfill::core;
using tap::check_equal;

namespace {

using Rows = std::vector<std::vector<std::string>>;

// A table with an identity column, a key and two more columns.
Tables table(const Rows &rows, const std::string &name = "shop.invoice") {
	return {{name, {{"id", "sale", "total", "copies"}, {true, false, false, false}, rows}}};
}

std::string found(const Tables &one, const Tables &two, const std::set<ColumnName> &known = {}) {
	std::string text;
	for (const Difference &difference : differences(one, two, one, two, known))
		text += difference.table + "." + difference.column + " " + std::to_string(difference.one) + "/" + std::to_string(difference.two) + ";";
	return text;
}

} // namespace

TEST("the same rows in another order are the same") {
	check_equal(found(table({{"1", "a", "10", "x"}, {"2", "b", "20", "y"}}), table({{"1", "b", "20", "y"}, {"2", "a", "10", "x"}})), "", "rows");
	check_equal(found({}, {}), "", "nothing");
}

TEST("a value that is another names its column") {
	check_equal(found(table({{"1", "a", "10", "x"}}), table({{"1", "a", "11", "x"}})), "shop.invoice.total 1/1;", "column");
	check_equal(found(table({{"1", "a", "10", "x"}}), table({{"1", "a", std::string(null_text), "x"}})), "shop.invoice.total 1/1;", "null");
}

TEST("rows that are more or fewer are counted, also those of a table that only one making wrote") {
	check_equal(found(table({{"1", "a", "10", "x"}}), table({{"1", "a", "10", "x"}, {"2", "a", "10", "x"}})), "shop.invoice. 1/2;", "more");
	check_equal(found(table({{"1", "a", "10", "x"}}), {}), "shop.invoice. 1/0;", "gone");
}

TEST("the same values put together otherwise are other rows") {
	check_equal(found(table({{"1", "a", "10", "x"}, {"2", "b", "20", "x"}}), table({{"1", "a", "20", "x"}, {"2", "b", "10", "x"}})),
	            "shop.invoice. 2/2;", "dealt out");
}

TEST("numbers that the table gave, and copies of them, are not the output") {
	check_equal(found(table({{"1", "a", "10", "{1}"}, {"2", "b", "20", "{1,2}"}}), table({{"8", "a", "10", "{8}"}, {"9", "b", "20", "{8,9}"}})), "",
	            "copies in an array");
	check_equal(found(table({{"9", "a", "10", "{9}"}, {"10", "b", "20", "{10}"}}), table({{"11", "a", "10", "{11}"}, {"12", "b", "20", "{12}"}})), "",
	            "by size, not by spelling");
	check_equal(found(table({{"1", "a", "10", "{1}"}, {"2", "b", "20", "{2}"}}), table({{"8", "a", "10", "{7}"}, {"9", "b", "20", "{9}"}})),
	            "shop.invoice.copies 2/2;", "a copy of nothing");
	check_equal(found(table({{"c0-ff", "a", "10", "see c0-ff"}}), table({{"d1-ee", "a", "10", "see d1-ee"}})), "", "a uuid in a text");
}

TEST("numbers of another table explain too") {
	Tables one = table({{"1", "a", "10", "x"}});
	Tables two = table({{"2", "a", "10", "x"}});
	const TableRows child_one{{"invoice"}, {false}, {{"1"}}};
	const TableRows child_two{{"invoice"}, {false}, {{"2"}}};
	check_equal(differences({{"child", child_one}}, {{"child", child_two}}, one, two).size(), 0u, "with them");
	check_equal(differences({{"child", child_one}}, {{"child", child_two}}, {}, {}).size(), 1u, "without");
}

TEST("what is known to differ is left out") {
	check_equal(found(table({{"1", "a", "10", "x"}}), table({{"1", "a", "11", "x"}}), {{"shop.invoice", "total"}}), "", "column");
	check_equal(found(table({{"1", "a", "10", "x"}}), table({}), {{"shop.invoice", ""}}), "", "rows");
}

int main() {
	return tap::run();
}

TEST("numbers of other tables, of any making, are struck out of copies") {
	const Tables numbers = table({{"7", "a", "10", "x"}}, "shop.part");
	const Tables others = table({{"9", "a", "10", "x"}}, "shop.part");
	const auto struck = [&](const std::string &copies) { return without_numbers(table({{"1", "a", "10", copies}}), {numbers, others}); };
	check_equal(found(struck("{7,8}"), struck("{9,8}")), "", "copies");
	check_equal(found(struck("{7}"), struck("{8}")), "shop.invoice.copies 1/1;", "another value");
}
