#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace backfill::core {

// Rows of a table as text, in the order they were found.
struct TableRows {
	std::vector<std::string> columns;
	// Columns whose value the table gives by itself and never the same: identity, or a DEFAULT such as now() or nextval().
	// They say when and how a row was written, not what the output is.
	std::vector<bool> by_default;
	std::vector<std::vector<std::string>> rows; // null is null_text
};
inline constexpr std::string_view null_text{"\0null", 5};

using Tables = std::map<std::string, TableRows>; // by name
using ColumnName = std::pair<std::string, std::string>; // table and column; no column: its rows

// Where two makings of the same output differ.
struct Difference {
	std::string table;
	std::string column; // empty: rows are more, fewer, or put together otherwise
	std::size_t one;    // rows of the first making
	std::size_t two;
};

// Compares by content, whatever the order of the rows. Columns that the tables give by themselves are left out, and
// where one of them was copied into another column, a value stands for its place among those of its making, so that a
// row numbered 7 and then 9 is the same row. numbers: all that either making wrote, where such values come from.
// known: columns that are left out too.
std::vector<Difference> differences(const Tables &one, const Tables &two, const Tables &numbers_one, const Tables &numbers_two,
                                    const std::set<ColumnName> &known = {});

// The same with each word struck out that one of the other tables gave by itself, in any of these makings.
Tables without_numbers(const Tables &tables, const std::vector<Tables> &numbers);

} // namespace backfill::core
