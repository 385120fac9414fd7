#include "worker/command/output.hpp"

#include <algorithm>
#include <cstdio>

#include <nlohmann/json.hpp>

namespace backfill::worker {

namespace {

// Type OIDs of pg_type.dat; they never change.
constexpr unsigned bool_type = 16, json_type = 114, jsonb_type = 3802;
constexpr unsigned number_types[] = {20, 21, 23, 26, 700, 701, 1700};

bool is_number(unsigned type) {
	return std::ranges::find(number_types, type) != std::end(number_types);
}

using Json = nlohmann::ordered_json;

std::string json_of(const Value &value, unsigned type) {
	if (!value)
		return "null";
	if (type == bool_type)
		return *value == "t" ? "true" : "false";
	if (type == jsonb_type || type == json_type)
		return *value;
	// A number keeps its digits; NaN and Infinity are no JSON.
	if (is_number(type) && value->find_first_of("NI") == std::string::npos)
		return *value;
	return Json(*value).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string as_json(const Table &table) {
	std::string text = "[";
	for (const Row &row : table.rows) {
		text += text.size() == 1 ? "\n{" : ",\n{";
		for (std::size_t i = 0; i < row.size(); ++i)
			text.append(i == 0 ? "" : ",").append(Json(table.columns[i]).dump()).append(":").append(json_of(row[i], table.types[i]));
		text += "}";
	}
	return text + (table.rows.empty() ? "]\n" : "\n]\n");
}

std::string csv_field(const std::string &text) {
	if (!text.empty() && text.find_first_of("\",\r\n") == std::string::npos)
		return text;
	std::string quoted = "\"";
	for (const char c : text)
		quoted.append(c == '"' ? 2 : 1, c);
	return quoted + "\"";
}

std::string as_csv(const Table &table) {
	std::string text;
	for (std::size_t i = 0; i < table.columns.size(); ++i)
		text.append(i == 0 ? "" : ",").append(csv_field(table.columns[i]));
	text += "\r\n";
	for (const Row &row : table.rows) {
		for (std::size_t i = 0; i < row.size(); ++i)
			text.append(i == 0 ? "" : ",").append(row[i] ? csv_field(*row[i]) : "");
		text += "\r\n";
	}
	return text;
}

// In a table a value is one line, and what a terminal would act upon is shown and not done.
std::string shown(const Value &value) {
	std::string text;
	for (const char c : value.value_or(""))
		if (static_cast<unsigned char>(c) < ' ' || c == 0x7f)
			text += c == '\n' ? "\\n" : c == '\t' ? "\\t" : "?";
		else
			text += c;
	return text;
}

// Characters, not bytes.
std::size_t width_of(const std::string &text) {
	return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string padded(const std::string &text, std::size_t width, bool right) {
	const std::string space(width - std::min(width, width_of(text)), ' ');
	return right ? space + text : text + space;
}

std::string row_count(std::size_t rows) {
	return "(" + std::to_string(rows) + (rows == 1 ? " row)\n" : " rows)\n");
}

std::string line_of(const Table &table, const std::vector<std::string> &fields, const std::vector<std::size_t> &widths) {
	std::string line;
	for (std::size_t i = 0; i < fields.size(); ++i)
		line.append(i == 0 ? " " : " | ").append(padded(fields[i], widths[i], is_number(table.types[i])));
	return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

std::string as_table(const Table &table) {
	std::vector<std::vector<std::string>> rows;
	std::vector<std::size_t> widths;
	for (const std::string &column : table.columns)
		widths.push_back(width_of(column));
	for (const Row &row : table.rows) {
		std::vector<std::string> &fields = rows.emplace_back();
		for (std::size_t i = 0; i < row.size(); ++i)
			widths[i] = std::max(widths[i], width_of(fields.emplace_back(shown(row[i]))));
	}
	std::string text = line_of(table, table.columns, widths);
	for (std::size_t i = 0; i < widths.size(); ++i)
		text.append(i == 0 ? "" : "+").append(widths[i] + 2, '-');
	text += "\n";
	for (const auto &fields : rows)
		text += line_of(table, fields, widths);
	return text + row_count(rows.size());
}

} // namespace

std::string formatted(const std::string &format, const Table &table) {
	return format == "json" ? as_json(table) : format == "csv" ? as_csv(table) : as_table(table);
}

std::string expanded(const Table &table) {
	std::size_t width = 0;
	for (const std::string &column : table.columns)
		width = std::max(width, width_of(column));
	std::string text;
	for (const Row &row : table.rows) {
		for (std::size_t i = 0; i < row.size(); ++i)
			if (row[i])
				text.append(padded(table.columns[i], width, false)).append("  ").append(shown(row[i])).append("\n");
		text += "\n";
	}
	return text + row_count(table.rows.size());
}

void print_table(const Invocation &invocation, const Table &table) {
	std::fputs(formatted(invocation.output, table).c_str(), stdout);
}

void print_expanded(const Invocation &invocation, const Table &table) {
	std::fputs((invocation.output == "table" ? expanded(table) : formatted(invocation.output, table)).c_str(), stdout);
}

} // namespace backfill::worker
