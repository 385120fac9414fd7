#include "worker/delivery/deadline.hpp"

#include <algorithm>
#include <atomic>
#include <ctime>
#include <thread>

#include <poll.h>

#include "worker/stop.hpp"

namespace backfill::worker::deadline {

std::chrono::milliseconds now() noexcept {
	timespec time{};
	clock_gettime(CLOCK_BOOTTIME, &time);
	return std::chrono::seconds(time.tv_sec) + std::chrono::milliseconds(time.tv_nsec / 1000000);
}

bool passed(std::chrono::milliseconds grace) noexcept {
	static std::atomic<std::chrono::milliseconds::rep> noticed{0};
	if (!stop::requested())
		return false;
	const auto moment = now().count();
	std::chrono::milliseconds::rep first = 0;
	if (noticed.compare_exchange_strong(first, moment))
		first = moment;
	return moment - first >= grace.count();
}

bool wait(std::chrono::milliseconds longest) {
	const auto until = now() + longest;
	for (;;) {
		if (stop::requested())
			return false;
		const auto left = until - now();
		if (left.count() <= 0)
			return true;
		pollfd file{stop::descriptor(), POLLIN, 0};
		poll(&file, 1, static_cast<int>(std::min<std::chrono::milliseconds::rep>(left.count(), 60000)));
	}
}

} // namespace backfill::worker::deadline
