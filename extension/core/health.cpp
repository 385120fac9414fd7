#include "core/health.hpp"

#include <algorithm>
#include <cmath>

namespace backfill::core {

namespace {

constexpr std::int64_t day_seconds = 86400;
constexpr double mad_to_sigma = 1.4826; // of a normal distribution
constexpr double many_spreads = 5;

std::int64_t day_of(std::int64_t at) noexcept {
	return at >= 0 ? at / day_seconds : -((-at + day_seconds - 1) / day_seconds);
}

double median(std::vector<double> values) {
	if (values.empty())
		return 0;
	const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
	std::nth_element(values.begin(), middle, values.end());
	if (values.size() % 2 == 1)
		return *middle;
	return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

struct Usual {
	double median = 0;
	double spread = 0;
	int samples = 0;
};

Usual usual_of(const std::vector<double> &values) {
	Usual usual{median(values), 0, static_cast<int>(values.size())};
	std::vector<double> deviations;
	for (double value : values)
		deviations.push_back(std::abs(value - usual.median));
	usual.spread = mad_to_sigma * median(std::move(deviations));
	return usual;
}

// Of the same kind, from so many days ago up to so many days ago.
std::vector<double> comparable(Slot slot, const std::vector<Sample> &history, std::int64_t at, int from_days, int to_days,
                               bool with_unusual) {
	std::vector<double> values;
	for (const Sample &sample : history) {
		const std::int64_t age = day_of(at) - day_of(sample.at);
		if (sample.at < at && age <= from_days && age >= to_days && kind_of(slot, sample.at) == kind_of(slot, at) &&
		    (with_unusual || !sample.unusual))
			values.push_back(sample.value);
	}
	return values;
}

// Numbers of arrivals grow and shrink by factors, so they are compared by their logarithms; and they are at least as
// uneven as chance makes them, which is the square root of their number.
Usual usual_count(const std::vector<double> &counts) {
	std::vector<double> logs;
	for (double count : counts)
		logs.push_back(std::log1p(count));
	Usual usual = usual_of(logs);
	const double typical = std::expm1(usual.median);
	usual.spread = std::max(usual.spread, typical > 0 ? 1 / std::sqrt(typical) : 1);
	return usual;
}

Judgement judge_silence(const Usual &usual, const Present &present) {
	Judgement verdict{.known = true, .usual = std::expm1(usual.median), .bound = 0, .samples = usual.samples};
	verdict.unusual = present.value <= 0 && usual.median > present.threshold * usual.spread;
	return verdict;
}

Judgement judge_few(Slot slot, const std::vector<Sample> &history, const Usual &usual, const Present &present) {
	const double slack = present.is_open ? 1.25 : 1;
	Judgement verdict{.known = true, .usual = std::expm1(usual.median), .samples = usual.samples};
	verdict.bound = verdict.usual * present.threshold * slack;
	verdict.unusual = present.value < verdict.bound && usual.median - std::log1p(present.value) > many_spreads * usual.spread;
	if (verdict.unusual)
		return verdict;
	// What goes slowly becomes usual as it goes: the last quarter of the span is held against the span before the last.
	const int span = span_days(slot);
	std::vector<double> recent = comparable(slot, history, present.at, span / 4, 0, true);
	recent.push_back(present.value);
	const std::vector<double> before = comparable(slot, history, present.at, 2 * span, span + 1, false);
	if (static_cast<int>(recent.size()) < enough_samples || static_cast<int>(before.size()) < enough_samples)
		return verdict;
	const double bound = median(before) * std::min(2.5 * present.threshold, 1.0) * slack;
	if (median(recent) < bound && median(before) >= enough_items) {
		verdict = {.known = true, .unusual = true, .slowly = true, .usual = median(before), .bound = bound,
		           .samples = static_cast<int>(before.size())};
	}
	return verdict;
}

Judgement judge_flood(const Usual &usual, const Present &present) {
	Judgement verdict{.known = present.candidates >= enough_items, .usual = usual.median, .samples = usual.samples};
	if (!verdict.known)
		return verdict;
	const double chance = std::sqrt(usual.median * (1 - usual.median) / present.candidates);
	const double spreads = present.threshold * std::max({usual.spread, chance, std::min(0.02, (1 - usual.median) / 10)});
	// Far above is more than many spreads: a fifth of all candidates, or half of those that are left.
	const double excess = std::max(spreads, std::min(0.2, (1 - usual.median) / 2));
	verdict.bound = usual.median + excess * (present.is_open ? 0.7 : 1);
	verdict.unusual = present.value > verdict.bound && present.value * present.candidates >= enough_items;
	return verdict;
}

double slot_seconds(Slot slot) noexcept {
	switch (slot) {
	case Slot::hour:
		return 3600;
	case Slot::day:
		return day_seconds;
	case Slot::week:
		return 7.0 * day_seconds;
	case Slot::month:
		break;
	}
	return 30.0 * day_seconds;
}

} // namespace

std::optional<Slot> read_slot(std::string_view name) noexcept {
	if (name == "hour")
		return Slot::hour;
	if (name == "day")
		return Slot::day;
	if (name == "week")
		return Slot::week;
	if (name == "month")
		return Slot::month;
	return std::nullopt;
}

std::optional<Measure> read_measure(std::string_view name) noexcept {
	if (name == "silence")
		return Measure::silence;
	if (name == "few_candidates")
		return Measure::few_candidates;
	if (name == "flood")
		return Measure::flood;
	return std::nullopt;
}

double default_threshold(Measure measure) noexcept {
	return measure == Measure::few_candidates ? 0.2 : many_spreads;
}

int kind_of(Slot slot, std::int64_t at) noexcept {
	if (slot == Slot::week || slot == Slot::month)
		return 0;
	const std::int64_t day = day_of(at);
	const std::int64_t weekday = ((day + 4) % 7 + 7) % 7; // 0: Sunday
	const int weekend = weekday == 0 || weekday == 6 ? 1 : 0;
	const int hour = slot == Slot::hour ? static_cast<int>((at - day * day_seconds) / 3600) : 0;
	return weekend * 24 + hour;
}

int span_days(Slot slot) noexcept {
	switch (slot) {
	case Slot::hour:
	case Slot::day:
		return 56;
	case Slot::week:
		return 182;
	case Slot::month:
		break;
	}
	return 730;
}

Judgement judge(Measure measure, Slot slot, const std::vector<Sample> &history, const Present &present) {
	const std::vector<double> values = comparable(slot, history, present.at, span_days(slot), 0, false);
	if (static_cast<int>(values.size()) < enough_samples)
		return {.samples = static_cast<int>(values.size())};
	switch (measure) {
	case Measure::silence:
		return judge_silence(usual_count(values), present);
	case Measure::few_candidates:
		return judge_few(slot, history, usual_count(values), present);
	case Measure::flood:
		break;
	}
	return judge_flood(usual_of(values), present);
}

std::optional<double> overdue_after(Slot slot, const std::vector<Start> &starts, std::int64_t at, double threshold) {
	constexpr double nearly_always = 0.75; // an outage of a week among eight does not end the expectation
	std::vector<double> offsets;
	int slots = 0;
	for (const Start &start : starts) {
		if (start.at >= at || kind_of(slot, start.at) != kind_of(slot, at))
			continue;
		++slots;
		if (start.after >= 0)
			offsets.push_back(start.after);
	}
	if (static_cast<int>(offsets.size()) < enough_samples || static_cast<double>(offsets.size()) < nearly_always * slots)
		return std::nullopt;
	const Usual usual = usual_of(offsets);
	return usual.median + threshold * std::max(usual.spread, slot_seconds(slot) / 100);
}

} // namespace backfill::core
