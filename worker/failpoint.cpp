#include "worker/failpoint.hpp"

#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdlib>

namespace backfill::worker::failpoint {

namespace {

struct Chosen {
	std::string_view name;
	std::atomic<int> left = 1;

	Chosen() noexcept {
		const char *const value = std::getenv("PG_BACKFILL_FAILPOINT");
		if (value == nullptr)
			return;
		name = value;
		if (const auto colon = name.find(':'); colon != std::string_view::npos) {
			int times = 1;
			std::from_chars(name.data() + colon + 1, name.data() + name.size(), times);
			left = times;
			name = name.substr(0, colon);
		}
	}
};

} // namespace

void reach(std::string_view name) noexcept {
	static Chosen chosen;
	// Nobody gets past it while the program is being killed.
	if (name == chosen.name && --chosen.left <= 0)
		std::raise(SIGKILL);
}

} // namespace backfill::worker::failpoint
