#pragma once

#include <atomic>

namespace backfill::worker {

// What became of attempts, by any number of threads.
struct DeliveryTally {
	std::atomic<long long> sent{0}, inert{0}, failed{0}, given_back{0}, dead{0}, unknown{0};
};

} // namespace backfill::worker
