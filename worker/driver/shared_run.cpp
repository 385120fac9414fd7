#include "worker/driver/shared_run.hpp"

#include <algorithm>
#include <chrono>

namespace backfill::worker {

namespace {

double monotonic_milliseconds() {
	return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

} // namespace

SharedRun::SharedRun(ClaimedRun run, std::size_t sessions)
	: run_(std::move(run)), most_waiting_(2 * sessions), given_(run_.counted) {
	progress_.done = run_.counted;
	pace_.set(run_.rate, run_.batch_limit);
}

void SharedRun::stop(Stop why, std::string text) {
	const std::scoped_lock lock(mutex_);
	if (why_ != Stop::no)
		return;
	why_ = why;
	text_ = std::move(text);
	changed_.notify_all();
}

void SharedRun::end_early(Ending ending) {
	const std::scoped_lock lock(mutex_);
	if (why_ != Stop::no)
		return;
	why_ = Stop::ended;
	ending_ = std::move(ending);
	changed_.notify_all();
}

bool SharedRun::is_stopping() const {
	return why() != Stop::no;
}

Stop SharedRun::why() const {
	const std::scoped_lock lock(mutex_);
	return why_;
}

std::string SharedRun::text() const {
	const std::scoped_lock lock(mutex_);
	return text_;
}

Ending SharedRun::ending() const {
	const std::scoped_lock lock(mutex_);
	return ending_;
}

bool SharedRun::put(Chunk chunk) {
	std::unique_lock lock(mutex_);
	changed_.wait(lock, [&] { return why_ != Stop::no || chunks_.size() < most_waiting_; });
	if (why_ != Stop::no)
		return false;
	chunks_.push_back(std::move(chunk));
	changed_.notify_all();
	return true;
}

void SharedRun::close() {
	const std::scoped_lock lock(mutex_);
	closed_ = true;
	changed_.notify_all();
}

std::optional<Chunk> SharedRun::take() {
	std::unique_lock lock(mutex_);
	changed_.wait(lock, [&] { return why_ != Stop::no || closed_ || !chunks_.empty(); });
	if (why_ != Stop::no || chunks_.empty())
		return std::nullopt;
	Chunk chunk = std::move(chunks_.front());
	chunks_.pop_front();
	++busy_;
	changed_.notify_all();
	return chunk;
}

void SharedRun::leave_chunk() {
	const std::scoped_lock lock(mutex_);
	--busy_;
}

void SharedRun::expect(long long candidates) {
	const std::scoped_lock lock(mutex_);
	expected_ = candidates;
}

void SharedRun::handed_out(long long items) {
	const std::scoped_lock lock(mutex_);
	given_ += items;
}

long long SharedRun::candidates() const {
	const std::scoped_lock lock(mutex_);
	return std::max(expected_.value_or(0), given_);
}

std::optional<long long> SharedRun::expected() const {
	const std::scoped_lock lock(mutex_);
	return expected_ ? std::optional(std::max(*expected_, given_)) : std::nullopt;
}

long long SharedRun::given() const {
	const std::scoped_lock lock(mutex_);
	return given_;
}

// What several sessions do at once takes each of them longer, and the run not as long.
double SharedRun::shared(double milliseconds) const noexcept {
	return milliseconds / std::max(busy_, 1);
}

void SharedRun::note_look(std::size_t items, std::size_t lacking, double milliseconds) {
	const std::scoped_lock lock(mutex_);
	speed_.looked(static_cast<int>(items), static_cast<int>(lacking), shared(milliseconds));
}

void SharedRun::note_done(const Value &after, const std::string &upto, long long items) {
	const std::scoped_lock lock(mutex_);
	done_.add(after, upto, items);
	progress_.done += items;
}

DoneRanges SharedRun::take_done() {
	const std::scoped_lock lock(mutex_);
	return std::exchange(done_, DoneRanges());
}

void SharedRun::note_batch(const BatchResult &result, std::size_t items, double milliseconds, long long done) {
	const std::scoped_lock lock(mutex_);
	batch_size_.took(static_cast<int>(items), milliseconds);
	if (result.fell_back)
		batch_size_.fell_back();
	speed_.worked(static_cast<int>(items), shared(milliseconds));
	progress_.done += static_cast<long long>(items) + done;
	progress_.worked_on += static_cast<long long>(items);
	progress_.failed += result.tally.items(core::ItemResult::failed);
	for (const auto &[step, count] : result.attempted)
		pattern_.attempted(step, count);
	for (const auto &[key, count] : result.failed)
		pattern_.failed(key.first, key.second, count);
	const auto *const broken = pattern_.broken();
	if (broken == nullptr || why_ != Stop::no)
		return;
	why_ = Stop::ended;
	ending_ = {"broken", "", core::FailurePattern::describe(*broken), {}};
	changed_.notify_all();
}

RunProgress SharedRun::progress() const {
	const std::scoped_lock lock(mutex_);
	RunProgress progress = progress_;
	progress.candidates = std::max(expected_.value_or(0), given_);
	return progress;
}

RunSpeed SharedRun::speed() const {
	const std::scoped_lock lock(mutex_);
	return {speed_.work_share(), speed_.look_ms(), speed_.work_ms()};
}

void SharedRun::limit(std::optional<double> rate, std::optional<int> batch_limit) {
	const std::scoped_lock lock(mutex_);
	pace_.set(rate, batch_limit);
	changed_.notify_all();
}

void SharedRun::hold(bool on) {
	const std::scoped_lock lock(mutex_);
	holding_ = on;
	changed_.notify_all();
}

int SharedRun::wait_for_turn(int items) {
	std::unique_lock lock(mutex_);
	while (why_ == Stop::no) {
		if (holding_) {
			changed_.wait(lock);
			continue;
		}
		const double now = monotonic_milliseconds();
		const double wait = pace_.wait(now);
		if (wait <= 0) {
			const int granted = std::min(items, pace_.most_items(batch_size_.items()));
			pace_.worked(granted, now);
			return granted;
		}
		changed_.wait_for(lock, std::chrono::duration<double, std::milli>(std::min(wait, 1000.0)));
	}
	return 0;
}

} // namespace backfill::worker
