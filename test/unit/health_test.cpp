// What is unusual, on numbers chosen for it; and a year of made-up days through the same code, with what it found when.
#include "core/health.hpp"

#include <cmath>
#include <map>

#include "tap.hpp"

using namespace backfill::core;
using tap::check;
using tap::check_equal;

namespace {

constexpr std::int64_t day = 86400;
constexpr std::int64_t monday = 20605 * day; // 2026-06-01

// The same numbers whatever the machine and its library.
class Dice {
public:
	explicit Dice(std::uint64_t seed) noexcept : state_(seed * 2862933555777941757ULL + 3037000493ULL) {}
	double next() noexcept { // [0, 1)
		state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
		return static_cast<double>(state_ >> 11) / 9007199254740992.0;
	}
	double bell() noexcept { // mean 0, deviation 1, near enough
		double sum = -6;
		for (int i = 0; i < 12; ++i)
			sum += next();
		return sum;
	}

private:
	std::uint64_t state_;
};

bool is_weekend(std::int64_t at) {
	return kind_of(Slot::day, at) != kind_of(Slot::day, monday);
}

std::vector<Sample> workdays(int count, double value, double step = 0) {
	std::vector<Sample> history;
	for (std::int64_t at = monday - day; static_cast<int>(history.size()) < count; at -= day)
		if (!is_weekend(at))
			history.push_back({at, value + step * static_cast<double>(history.size() % 3), false});
	return history;
}

Present present(double value, double candidates, double threshold, bool is_open = false, std::int64_t at = monday) {
	return {at, value, candidates, threshold, is_open};
}

Judgement silence(const std::vector<Sample> &history, double value) {
	return judge(Measure::silence, Slot::day, history, present(value, value, 5));
}

} // namespace

TEST("kinds of slots, before 1970 too") {
	check(!is_weekend(monday) && !is_weekend(monday + 4 * day) && is_weekend(monday + 5 * day) && is_weekend(monday - 1), "days of a week");
	check(!is_weekend(-3 * day) && is_weekend(-4 * day) && is_weekend(-5 * day) && !is_weekend(-6 * day), "the first days of 1970 and before");
	check_equal(kind_of(Slot::hour, monday + 3599), kind_of(Slot::hour, monday + day), "the same hour");
	check(kind_of(Slot::hour, monday + 3600) != kind_of(Slot::hour, monday), "another hour");
	check_equal(kind_of(Slot::week, monday), kind_of(Slot::week, monday + 6 * day), "weeks are alike");
	check(read_slot("month") == Slot::month && !read_slot("year") && read_measure("flood") == Measure::flood && !read_measure(""), "names");
}

TEST("no candidates where there always were some") {
	check(silence(workdays(6, 10), 0).unusual, "ten a day are enough to miss them");
	check(!silence(workdays(6, 10), 1).unusual, "one is no silence");
	check(silence(workdays(6, 3), 0).known && !silence(workdays(6, 3), 0).unusual, "three a day may well be none once");
	check(!silence(workdays(6, 0), 0).unusual, "nothing where there is never anything");
	check(!silence(workdays(5, 1000), 0).known, "five days are no history");
	check(silence(workdays(6, 20, 90), 0).unusual, "however uneven, there always were some");
	std::vector<Sample> outage = workdays(20, 100);
	for (std::size_t i = 0; i < 5; ++i)
		outage[i].value = 0;
	check(silence(outage, 0).unusual, "a week of silence is not what is usual, even where nobody noticed it");
	for (Sample &sample : outage)
		sample.unusual = true;
	check(!silence(outage, 0).known, "what was unusual is no history");
	check(!judge(Measure::silence, Slot::day, workdays(30, 100), present(0, 0, 5, false, monday + 5 * day)).known, "a Saturday is not judged by working days");
	check(!judge(Measure::silence, Slot::day, workdays(30, 100), present(0, 0, 5, false, monday + 90 * day)).known, "nor a day by those of last season");
}

TEST("few candidates") {
	const auto few = [](double value, bool is_open = false) {
		return judge(Measure::few_candidates, Slot::day, workdays(20, 100), present(value, value, 0.2, is_open)).unusual;
	};
	check(few(19) && few(0) && !few(21) && !few(100000), "less than a fifth of the usual");
	check(few(24, true) && !few(26, true), "an open alarm closes well inside");
	check(!judge(Measure::few_candidates, Slot::day, workdays(20, 8), present(1, 1, 0.2)).unusual, "small numbers are uneven by nature");
}

TEST("a flood of one reason") {
	const auto flood = [](double usual, double share, double candidates, bool is_open = false) {
		return judge(Measure::flood, Slot::day, workdays(20, usual), present(share, candidates, 5, is_open));
	};
	check(flood(0.05, 0.95, 1000).unusual, "from one in twenty to nearly all");
	check(!flood(0.05, 0.2, 1000).unusual && flood(0.05, 0.26, 1000).unusual, "a fifth more is far");
	check(flood(0.05, 0.2, 1000, true).unusual && !flood(0.05, 0.18, 1000, true).unusual, "an open alarm closes well inside");
	check(flood(0, 0.9, 1000).unusual, "a reason that never was before");
	check(!flood(0.05, 1, 9).known && !flood(0, 0.5, 18).unusual, "few items say nothing");
	check(!flood(0.9, 0.94, 1000).unusual && flood(0.9, 0.99, 1000).unusual, "where it is usual there is less room above");
	check(!flood(1, 1, 1000).unusual, "no room at all");
}

TEST("when a run that has not come is overdue") {
	std::vector<Start> starts;
	for (int i = 1; i <= 56; ++i) // at six, on working days only
		starts.push_back({monday - i * day, is_weekend(monday - i * day) ? -1.0 : 6.0 * 3600});
	const auto due = [&](std::int64_t at) { return overdue_after(Slot::day, starts, at, default_overdue_threshold); };
	check(due(monday) && *due(monday) > 6.5 * 3600 && *due(monday) < 8 * 3600, "a good hour after the usual time");
	check(!due(monday + 5 * day), "weekends have none");
	for (int i = 0; i < 7; ++i)
		starts[static_cast<std::size_t>(i)].after = -1;
	check(due(monday).has_value(), "a week without runs is still missed");
	starts.resize(8);
	check(!due(monday), "too young to say");
}

namespace {

struct Event {
	Measure measure;
	int first, last; // days
	int within;      // days it may take to be found
	const char *name;
};

// A pipeline that grows, rests at weekends, has holidays, loses its upstream for three days and its bureaus for four, and
// then dries up slowly.
struct Year {
	static constexpr int days = 365, decline = 240;
	static inline const std::vector<Event> events = {
		{Measure::silence, 120, 122, 0, "upstream outage, nothing arrives"},
		{Measure::flood, 180, 183, 0, "bureaus out, no reports"},
		{Measure::few_candidates, decline, days - 1, 80, "decline by 1.5 % a day, until it is three tenths"},
	};
	static bool is_holiday(int n) {
		for (const int holiday : {25, 74, 106, 107, 141, 164, 213, 226, 310, 358})
			if (n == holiday)
				return true;
		return false;
	}

	double candidates(int n, Dice &dice) const {
		double mean = 400 * std::exp(0.7 * n / days);
		if (is_weekend(monday + n * day) || is_holiday(n))
			mean *= 0.35;
		if (n >= decline)
			mean *= std::exp(-0.015 * (n - decline));
		if (n >= events[0].first && n <= events[0].last)
			mean = 0;
		return std::max(0.0, std::round(mean * std::exp(0.15 * dice.bell()) + std::sqrt(mean) * dice.bell()));
	}
	double share(int n, Dice &dice) const {
		const bool out = n >= events[1].first && n <= events[1].last;
		return std::clamp((out ? 0.9 : 0.08) + 0.03 * dice.bell(), 0.0, 1.0);
	}
};

struct Found {
	std::map<Measure, int> delay; // of the event, in days
	int false_alarms = 0;
	std::string when;
};

// What the server does at the end of each run: an alarm opens once, and closes when a run is judged to be as usual.
Found live_through(std::uint64_t seed) {
	Dice dice(seed);
	const Year year;
	Found found;
	std::map<Measure, std::vector<Sample>> histories;
	std::map<Measure, bool> open;
	for (int n = 0; n < Year::days; ++n) {
		const double candidates = year.candidates(n, dice);
		const double share = year.share(n, dice);
		for (const Measure measure : {Measure::silence, Measure::few_candidates, Measure::flood}) {
			if (measure == Measure::few_candidates && open[Measure::silence])
				continue;
			const double value = measure == Measure::flood ? share : candidates;
			const Judgement verdict = judge(measure, Slot::day, histories[measure],
			                                {monday + n * day, value, candidates, default_threshold(measure), open[measure]});
			histories[measure].push_back({monday + n * day, value, verdict.unusual});
			if (verdict.unusual && !open[measure]) {
				const Event *event = nullptr;
				for (const Event &known : Year::events)
					if (known.measure == measure && n >= known.first && n <= known.last)
						event = &known;
				if (event != nullptr)
					found.delay.try_emplace(measure, n - event->first);
				else
					++found.false_alarms, found.when += ' ' + std::to_string(n);
			}
			if (verdict.known)
				open[measure] = verdict.unusual;
		}
	}
	return found;
}

} // namespace

TEST("a year of days: each outage is found in time, and no calm day is one") {
	constexpr int years = 50;
	std::map<Measure, int> slowest, sum;
	int false_alarms = 0;
	for (int seed = 1; seed <= years; ++seed) {
		const Found found = live_through(static_cast<std::uint64_t>(seed));
		for (const Event &event : Year::events) {
			const auto delay = found.delay.find(event.measure);
			if (delay == found.delay.end()) {
				check(false, std::string(event.name) + " was never found, seed " + std::to_string(seed));
				continue;
			}
			slowest[event.measure] = std::max(slowest[event.measure], delay->second);
			sum[event.measure] += delay->second;
		}
		false_alarms += found.false_alarms;
		if (found.false_alarms > 0)
			std::cout << "# seed " << seed << ": false alarms on days" << found.when << '\n';
	}
	for (const Event &event : Year::events) {
		std::cout << "# " << event.name << ": found after " << static_cast<double>(sum[event.measure]) / years << " days on average, "
		          << slowest[event.measure] << " at most; bound " << event.within << '\n';
		check(slowest[event.measure] <= event.within, std::string(event.name) + " was found too late");
	}
	std::cout << "# false alarms in " << years << " years: " << false_alarms << "; bound " << years / 10 << '\n';
	check(false_alarms <= years / 10, "false alarms");
}

// Nights at four, a little late or an hour late, none at weekends; three are missed. Somebody looks every quarter of an hour.
TEST("a year of nights: a missed one is found in time, and a late one is none") {
	constexpr int years = 20, quarter = 900;
	int false_alarms = 0, missed = 0;
	double slowest = 0, sum = 0;
	for (int seed = 1; seed <= years; ++seed) {
		Dice dice(static_cast<std::uint64_t>(seed));
		std::vector<Start> starts;
		for (int n = 0; n < 365; ++n) {
			const std::int64_t at = monday + n * day;
			const bool is_missed = n == 100 || n == 205 || n == 303;
			const double late = dice.next() < 0.02 ? 3300 : -600 * std::log(1 - dice.next());
			const double came = is_weekend(at) || is_missed ? -1 : 4 * 3600 + late;
			const auto due = overdue_after(Slot::day, {starts.end() - std::min<std::ptrdiff_t>(56, std::ssize(starts)), starts.end()}, at,
			                               default_overdue_threshold);
			for (int looked = 0; due && looked < day; looked += quarter) {
				if (looked < *due || (came >= 0 && looked >= came))
					continue;
				if (is_missed) {
					++missed;
					slowest = std::max(slowest, looked - 4 * 3600.0);
					sum += looked - 4 * 3600.0;
				} else
					++false_alarms;
				break;
			}
			starts.push_back({at, came});
		}
	}
	std::cout << "# missed nights: " << missed << " of " << 3 * years << " found, after " << sum / missed / 60 << " minutes on average, " << slowest / 60
			  << " at most; bound 180\n# false alarms in " << years << " years: " << false_alarms << "; bound " << years / 10 << '\n';
	check_equal(missed, 3 * years, "missed nights found");
	check(slowest <= 3 * 3600, "found too late");
	check(false_alarms <= years / 10, "false alarms");
}

int main() { return tap::run(); }
