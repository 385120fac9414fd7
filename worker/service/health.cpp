#include "worker/service/health.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "worker/metrics.hpp"

namespace backfill::worker::health {

namespace {

using Clock = std::chrono::steady_clock;

constexpr Clock::rep never = 0;
std::atomic<Clock::rep> last{never};
std::atomic<Clock::rep> fed{never};

} // namespace

// The protocol of sd_notify(3): a datagram to the socket that NOTIFY_SOCKET names.
void notify(const std::string &state) noexcept {
	const char *const path = std::getenv("NOTIFY_SOCKET");
	sockaddr_un address = {};
	if (path == nullptr || (path[0] != '/' && path[0] != '@') || std::strlen(path) >= sizeof address.sun_path)
		return;
	address.sun_family = AF_UNIX;
	std::memcpy(address.sun_path, path, std::strlen(path));
	if (path[0] == '@') // of the abstract name space
		address.sun_path[0] = '\0';
	const int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (descriptor < 0)
		return;
	const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + std::strlen(path));
	sendto(descriptor, state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr *>(&address), length);
	close(descriptor);
}

void round_trip() noexcept {
	const Clock::rep now = Clock::now().time_since_epoch().count();
	const bool was_lost = last.exchange(now) == never;
	if (was_lost)
		notify("READY=1\nSTATUS=in touch with its database");
	const Clock::rep before = fed;
	if (Clock::duration(now - before) > std::chrono::seconds(1)) {
		fed = now;
		notify("WATCHDOG=1");
	}
	metrics::set("pg_backfill_database_up", "", 1);
}

void lost() noexcept {
	last = never;
	notify("STATUS=cannot reach its database");
	metrics::set("pg_backfill_database_up", "", 0);
}

Clock::duration since_round_trip() noexcept {
	const Clock::rep at = last;
	return at == never ? Clock::duration::max() : Clock::now().time_since_epoch() - Clock::duration(at);
}

} // namespace backfill::worker::health
