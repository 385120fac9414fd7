#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace backfill::core {

// Is a run like the pipeline's others? From inside a job an upstream outage looks like a calm night: what tells them
// apart is the pipeline's own history of the same kind of slot, by median and median absolute deviation, so that neither
// the outage of last month nor the sale of last week is what is usual.
//
// Times are seconds of the pipeline's local time since 1970-01-01, a Thursday.

enum class Slot { hour, day, week, month };
std::optional<Slot> read_slot(std::string_view name) noexcept;

// Slots of one kind are compared with each other: working days with working days and Saturdays with Sundays, and hours
// with the same hour of those. Finer (each day of the week for itself) would take two months to have a history; coarser
// would make every Sunday an outage, or every spread so wide that none is seen. Weeks and months are all of one kind.
int kind_of(Slot slot, std::int64_t at) noexcept;

// One earlier run.
struct Sample {
	std::int64_t at;
	double value;
	bool unusual; // found to be unusual then; it is no part of what is usual
};

enum class Measure {
	silence,        // value: candidates. None, where there were always some
	few_candidates, // value: candidates. Much less than usual at once, or a half of what it was a season ago
	flood,          // value: share of the candidates that ended with one reason. Far above its usual share
};
std::optional<Measure> read_measure(std::string_view name) noexcept;

// What a person may set per pipeline: how many spreads away is silence or a flood; which part of the usual is few at once,
// and two and a half times as much is few over a season.
double default_threshold(Measure measure) noexcept;

struct Present {
	std::int64_t at;
	double value;
	double candidates; // how many the value is a share of
	double threshold;
	bool is_open; // an alarm is open: it closes a good way inside the bound, so that it does not flutter
};

struct Judgement {
	bool known = false; // false: the history is too short, or there are too few items, to say anything
	bool unusual = false;
	bool slowly = false; // not at once, but over a season
	double usual = 0;    // median of what it was compared with
	double bound = 0;    // the value beyond which it is unusual
	int samples = 0;
};

// history: any order, of the last `2 * span_days(slot)` days; what is of another kind or older is left out here.
Judgement judge(Measure measure, Slot slot, const std::vector<Sample> &history, const Present &present);

inline constexpr int enough_samples = 6;     // three weekends, or six working days
inline constexpr double enough_items = 10;   // a share of fewer says nothing
int span_days(Slot slot) noexcept;           // how far back is "usual": eight weeks of days

// When a run that has not come is overdue. starts: for each of the pipeline's last slots its begin and how many seconds
// after it the first run started (negative: none came). Nothing: slots of this kind do not always have a run, or there are
// not enough of them. Otherwise seconds after the slot's begin.
struct Start {
	std::int64_t at;
	double after;
};
std::optional<double> overdue_after(Slot slot, const std::vector<Start> &starts, std::int64_t at, double threshold);
inline constexpr double default_overdue_threshold = 5; // spreads

} // namespace backfill::core
