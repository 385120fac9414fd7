#pragma once

#include <string>
#include <vector>

#include "worker/delivery/settings.hpp"

namespace backfill::worker {

// Delivers the messages of a database: what [delivery], [channel.NAME] and [template.CHANNEL.TYPE] say. Where no channel
// is configured all are inert.
class Deliverer {
public:
	Deliverer(std::string target, DeliverySettings settings);

	// Until the program is asked to stop: claims nothing new from then on, finishes what is in flight within
	// shutdown_seconds, and gives the rest back.
	void serve();

	struct Drained {
		std::string channel, kind;
		long long sent, inert, failed, given_back, dead, unknown;
		long long waiting; // pending still, retries among them
	};
	// All that is due, once. Throws ConnectionError, VersionMismatch, NotBound.
	std::vector<Drained> drain();

private:
	void serve_inert();
	void warn_of_channels();

	std::string target_;
	DeliverySettings settings_;
};

} // namespace backfill::worker
