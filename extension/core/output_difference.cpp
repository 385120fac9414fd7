#include "core/output_difference.hpp"

#include <algorithm>

namespace backfill::core {

namespace {

using Places = std::map<std::string, std::size_t>; // of the values of one column

bool is_number(const std::string &value) {
	return !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
}

bool is_word_part(char c) {
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
}

std::vector<std::string> column_of(const TableRows &table, std::size_t column) {
	std::vector<std::string> values;
	values.reserve(table.rows.size());
	for (const auto &row : table.rows)
		values.push_back(row[column]);
	return values;
}

// Numbers by size, for rows may be found in any order; anything else in the order it is found.
Places places_of(const TableRows &table, std::size_t column) {
	std::vector<std::string> values = column_of(table, column);
	if (std::all_of(values.begin(), values.end(), is_number))
		std::sort(values.begin(), values.end(), [](const std::string &a, const std::string &b) {
			return a.size() != b.size() ? a.size() < b.size() : a < b;
		});
	Places places;
	for (std::size_t i = 0; i < values.size(); ++i)
		places.emplace(values[i], i);
	return places;
}

// The value with each word put otherwise.
template <class Fn>
std::string reworded(const std::string &value, Fn other) {
	std::string text;
	std::size_t at = 0;
	while (at < value.size()) {
		std::size_t end = at;
		while (end < value.size() && is_word_part(value[end]))
			++end;
		if (end == at) {
			text += value[at++];
			continue;
		}
		text += other(value.substr(at, end - at));
		at = end;
	}
	return text;
}

// The value with each word that is a number of the making put as its place.
std::string placed(const std::string &value, const Places &places) {
	return reworded(value, [&](const std::string &word) {
		const auto place = places.find(word);
		return place == places.end() ? word : "#" + std::to_string(place->second);
	});
}

bool same_values(std::vector<std::string> one, std::vector<std::string> two) {
	std::sort(one.begin(), one.end());
	std::sort(two.begin(), two.end());
	return one == two;
}

class Numbering {
public:
	Numbering(const Tables &one, const Tables &two) {
		for (const auto &[name, table] : one) {
			const auto other = two.find(name);
			if (other == two.end() || other->second.rows.size() != table.rows.size())
				continue;
			for (std::size_t column = 0; column < table.columns.size(); ++column)
				if (table.by_default[column])
					pairs_.emplace_back(places_of(table, column), places_of(other->second, column));
		}
	}

	// Whether the values are the same but for numbers of one of these columns.
	bool explains(const std::vector<std::string> &one, const std::vector<std::string> &two) const {
		return std::any_of(pairs_.begin(), pairs_.end(), [&](const auto &pair) {
			const auto put = [](std::vector<std::string> values, const Places &places) {
				for (std::string &value : values)
					value = placed(value, places);
				return values;
			};
			return same_values(put(one, pair.first), put(two, pair.second));
		});
	}

private:
	std::vector<std::pair<Places, Places>> pairs_;
};

// Rows by what identifies them: the columns that do not differ.
std::vector<std::string> rows_by(const TableRows &table, const std::vector<std::size_t> &columns) {
	std::vector<std::string> rows;
	for (const auto &row : table.rows) {
		std::string text;
		for (const std::size_t column : columns)
			text += std::to_string(row[column].size()) + ":" + row[column];
		rows.push_back(std::move(text));
	}
	return rows;
}

void compare(const std::string &name, const TableRows &one, const TableRows &two, const Numbering &numbering,
             const std::set<ColumnName> &known, std::vector<Difference> &found) {
	const auto note = [&](const std::string &column) {
		found.push_back({name, column, one.rows.size(), two.rows.size()});
	};
	if (one.rows.size() != two.rows.size() || one.columns != two.columns) {
		if (known.count({name, ""}) == 0)
			note("");
		return;
	}
	std::vector<std::size_t> same;
	bool differs = false;
	for (std::size_t column = 0; column < one.columns.size(); ++column) {
		if (one.by_default[column] || known.count({name, one.columns[column]}) > 0)
			continue;
		const auto first = column_of(one, column);
		const auto second = column_of(two, column);
		if (same_values(first, second)) {
			same.push_back(column);
		} else if (!numbering.explains(first, second)) {
			differs = true;
			note(one.columns[column]);
		}
	}
	if (!differs && known.count({name, ""}) == 0 && !same_values(rows_by(one, same), rows_by(two, same)))
		note("");
}

} // namespace

std::vector<Difference> differences(const Tables &one, const Tables &two, const Tables &numbers_one, const Tables &numbers_two,
                                    const std::set<ColumnName> &known) {
	static const TableRows nothing;
	const Numbering numbering(numbers_one, numbers_two);
	std::vector<Difference> found;
	std::set<std::string> names;
	for (const auto &table : one)
		names.insert(table.first);
	for (const auto &table : two)
		names.insert(table.first);
	for (const std::string &name : names) {
		const auto first = one.find(name);
		const auto second = two.find(name);
		const TableRows &rows_one = first == one.end() ? nothing : first->second;
		const TableRows &rows_two = second == two.end() ? nothing : second->second;
		if (!rows_one.rows.empty() || !rows_two.rows.empty())
			compare(name, rows_one, rows_two, numbering, known, found);
	}
	return found;
}

Tables without_numbers(const Tables &tables, const std::vector<Tables> &numbers) {
	std::set<std::string> given;
	for (const Tables &making : numbers)
		for (const auto &[name, table] : making)
			for (std::size_t column = 0; column < table.columns.size(); ++column)
				if (table.by_default[column] && tables.count(name) == 0)
					for (const auto &row : table.rows)
						given.insert(row[column]);
	Tables without = tables;
	for (auto &[name, table] : without)
		for (auto &row : table.rows)
			for (std::string &value : row)
				value = reworded(value, [&](const std::string &word) { return given.count(word) > 0 ? std::string("#") : word; });
	return without;
}

} // namespace backfill::core
