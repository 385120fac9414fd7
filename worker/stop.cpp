#include "worker/stop.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <system_error>

#include <sys/eventfd.h>
#include <unistd.h>

namespace backfill::worker::stop {

namespace {

std::atomic<bool> asked{false};
std::atomic<int> event{-1};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

extern "C" void on_signal(int signal) {
	if (asked)
		_exit(128 + signal);
	const int kept = errno;
	request();
	errno = kept;
}

} // namespace

void catch_signals() {
	event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (event < 0)
		throw std::system_error(errno, std::generic_category(), "eventfd");
	struct sigaction action = {};
	action.sa_handler = on_signal;
	sigemptyset(&action.sa_mask);
	action.sa_flags = SA_RESTART;
	for (const int signal : {SIGTERM, SIGINT})
		sigaction(signal, &action, nullptr);
	signal(SIGPIPE, SIG_IGN);
}

bool requested() noexcept {
	return asked;
}

void request() noexcept {
	asked = true;
	const unsigned long long one = 1;
	// Full only if it is readable already.
	[[maybe_unused]] const auto written = write(event, &one, sizeof one);
}

int descriptor() noexcept {
	return event;
}

} // namespace backfill::worker::stop
