#include "core/cron_schedule.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <string>
#include <vector>

namespace backfill::core {

namespace {

struct Field {
	int least, most;
	std::string_view names; // of three letters each, in order from `least`
};
constexpr Field minutes{0, 59, ""}, hours{0, 23, ""}, days{1, 31, ""},
	months{1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"}, weekdays{0, 7, "sunmontuewedthufrisat"};

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
	std::vector<std::string_view> parts;
	for (;;) {
		const std::size_t begin = separators == "," ? 0 : text.find_first_not_of(separators);
		if (begin == std::string_view::npos)
			return parts;
		const std::size_t end = text.find_first_of(separators, begin);
		parts.push_back(text.substr(begin, end == std::string_view::npos ? end : end - begin));
		if (end == std::string_view::npos)
			return parts;
		text.remove_prefix(end + 1);
	}
}

std::optional<int> number(std::string_view text, const Field &field) {
	if (text.size() == 3 && !field.names.empty()) {
		std::string lower(text);
		std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
		const std::size_t at = field.names.find(lower);
		if (at != std::string_view::npos && at % 3 == 0)
			return field.least + static_cast<int>(at / 3);
	}
	int value = 0;
	const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
	if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < field.least || value > field.most)
		return std::nullopt;
	return value;
}

// "*/15", "1-5", "mon,wed", "10-50/20"
template <std::size_t size>
bool read_field(std::string_view text, const Field &field, std::bitset<size> &values) {
	for (std::string_view part : split(text, ",")) {
		int step = 1;
		const std::size_t slash = part.find('/');
		if (slash != std::string_view::npos) {
			const auto given = number(part.substr(slash + 1), {1, field.most, ""});
			if (!given)
				return false;
			step = *given;
			part = part.substr(0, slash);
		}
		const std::size_t dash = part.find('-');
		std::optional<int> from, to;
		if (part == "*") {
			from = field.least;
			to = field.most;
		} else if (dash != std::string_view::npos) {
			from = number(part.substr(0, dash), field);
			to = number(part.substr(dash + 1), field);
		} else if (slash == std::string_view::npos) {
			from = to = number(part, field);
		}
		if (!from || !to || *from > *to)
			return false;
		for (int value = *from; value <= *to; value += step)
			values.set(static_cast<std::size_t>(value));
	}
	return values.any();
}

std::string_view spelled_out(std::string_view text) {
	constexpr std::array<std::pair<std::string_view, std::string_view>, 7> names{{{"@yearly", "0 0 1 1 *"},
	                                                                              {"@annually", "0 0 1 1 *"},
	                                                                              {"@monthly", "0 0 1 * *"},
	                                                                              {"@weekly", "0 0 * * 0"},
	                                                                              {"@daily", "0 0 * * *"},
	                                                                              {"@midnight", "0 0 * * *"},
	                                                                              {"@hourly", "0 * * * *"}}};
	for (const auto &[name, fields] : names)
		if (text == name)
			return fields;
	return text;
}

} // namespace

std::optional<CronSchedule> CronSchedule::read(std::string_view text) {
	const std::vector<std::string_view> fields = split(spelled_out(text), " \t");
	CronSchedule schedule;
	if (fields.size() != 5 || !read_field(fields[0], minutes, schedule.minutes_) || !read_field(fields[1], hours, schedule.hours_) ||
	    !read_field(fields[2], days, schedule.days_) || !read_field(fields[3], months, schedule.months_) ||
	    !read_field(fields[4], weekdays, schedule.weekdays_))
		return std::nullopt;
	if (schedule.weekdays_[7])
		schedule.weekdays_.set(0);
	schedule.any_day_ = fields[2].front() == '*';
	schedule.any_weekday_ = fields[4].front() == '*';
	return schedule;
}

bool CronSchedule::has_day(std::int64_t day) const {
	const std::chrono::sys_days date{std::chrono::days{day}};
	const std::chrono::year_month_day parts{date};
	if (!months_[static_cast<unsigned>(parts.month())])
		return false;
	const bool by_date = days_[static_cast<unsigned>(parts.day())];
	const bool by_weekday = weekdays_[std::chrono::weekday{date}.c_encoding()];
	return any_day_ || any_weekday_ ? by_date && by_weekday : by_date || by_weekday;
}

std::optional<std::int64_t> CronSchedule::next_after(std::int64_t minute) const {
	constexpr std::int64_t day_minutes = 24 * 60;
	constexpr int longest_wait = 8 * 366 + 1; // 29 February, over a year that is a century
	const std::int64_t from = minute + 1;
	std::int64_t day = from / day_minutes - (from % day_minutes < 0 ? 1 : 0);
	std::int64_t at = from - day * day_minutes;
	for (int tried = 0; tried < longest_wait; ++tried, ++day, at = 0) {
		if (!has_day(day))
			continue;
		for (; at < day_minutes; ++at)
			if (hours_[static_cast<std::size_t>(at / 60)] && minutes_[static_cast<std::size_t>(at % 60)])
				return day * day_minutes + at;
	}
	return std::nullopt;
}

} // namespace backfill::core
