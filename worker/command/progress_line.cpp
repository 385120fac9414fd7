#include "worker/command/progress_line.hpp"

#include <algorithm>
#include <cstdio>

#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include "worker/log.hpp"

namespace backfill::worker {

namespace {

constexpr int bar_width = 24;

struct Pace {
	double share;  // of the candidates that are done
	double rate;   // items a second
	double skipped; // share of the done ones that needed no work
	double left;   // seconds, or less than zero: not known yet
};

Pace pace_of(const RunProgress &progress, long long done_at_start, double seconds) {
	const auto done = static_cast<double>(progress.done - done_at_start);
	const double rate = seconds > 0 ? done / seconds : 0;
	return {progress.candidates > 0 ? static_cast<double>(progress.done) / static_cast<double>(progress.candidates) : 0, rate,
	        done > 0 ? 1 - static_cast<double>(progress.worked_on) / done : 0,
	        rate > 0 ? static_cast<double>(progress.candidates - progress.done) / rate : -1};
}

} // namespace

std::string duration_text(double seconds) {
	const auto whole = static_cast<long long>(seconds);
	if (whole >= 3600)
		return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
	return whole >= 60 ? fmt::format("{} min {} s", whole / 60, whole % 60) : fmt::format("{} s", whole);
}

ProgressLine::ProgressLine(double line_seconds)
	: terminal_(isatty(STDERR_FILENO) != 0),
	  interval_(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(terminal_ ? 0.2 : line_seconds))) {}

void ProgressLine::show(const ClaimedRun &run, const RunProgress &progress) {
	const Clock::time_point now = Clock::now();
	if (run.id != run_) {
		clear();
		run_ = run.id;
		done_at_start_ = progress.done;
		started_ = now;
		shown_ = now;
	}
	if (now - shown_ < interval_)
		return;
	shown_ = now;
	const Pace pace = pace_of(progress, done_at_start_, std::chrono::duration<double>(now - started_).count());
	if (!terminal_) {
		log::info("progress", {{"run", run.id}, {"pipeline", run.pipeline}, {"done", progress.done}, {"candidates", progress.candidates},
		                       {"failed", progress.failed}, {"items_per_second", std::round(pace.rate)},
		                       {"skipped_share", std::round(pace.skipped * 100) / 100}, {"seconds_left", std::round(pace.left)}});
		return;
	}
	const int filled = std::clamp(static_cast<int>(pace.share * bar_width), 0, bar_width);
	std::fprintf(stderr, "\r%s\033[K",
	             fmt::format("{} run {} [{}{}] {}/{} {:.0f}/s {:.0f}% skipped{}{}", run.pipeline, run.id, std::string(filled, '#'),
	                         std::string(bar_width - filled, '.'), progress.done, progress.candidates, pace.rate, pace.skipped * 100,
	                         progress.failed > 0 ? fmt::format(" {} failed", progress.failed) : "",
	                         pace.left >= 0 ? " " + duration_text(pace.left) + " left" : "")
	                 .c_str());
	std::fflush(stderr);
	drawn_ = true;
}

void ProgressLine::clear() {
	if (drawn_)
		std::fputs("\r\033[K", stderr);
	drawn_ = false;
}

} // namespace backfill::worker
