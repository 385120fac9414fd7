#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "worker/connection.hpp"
#include "worker/channel/message.hpp"
#include "worker/delivery/settings.hpp"

namespace backfill::worker {

// What was claimed, with times of deadline::now(); both are sooner than the database's own, never later.
struct Claimed {
	Message message;
	std::chrono::milliseconds expires{0}; // the message's deliver_until
};
struct Claim {
	std::deque<Claimed> messages; // by id
	std::chrono::milliseconds lease_until{0};
};

// The database is not the one this worker is bound to.
class NotBound final : public std::runtime_error {
	using std::runtime_error::runtime_error;
};

// A word about messages of one claim, for mark_* and release.
struct Word {
	enum class Kind { sent, inert, dead, retry, unknown_held, unknown_retry, given_back };
	Kind kind;
	long long token;
	std::string reason;
	std::chrono::milliseconds retry_in{0};
	std::vector<long long> messages;
};

// The claim protocol of a channel over one session. Each call is a transaction of its own; a claim is committed when
// claim() returns.
class Outbox {
public:
	Outbox(Connection &connection, const ChannelSettings &channel, std::optional<std::string> bound_to)
		: connection_(connection), channel_(channel), bound_to_(std::move(bound_to)) {}

	// after: ids up to it are passed over. Throws NotBound.
	Claim claim(int limit, long long after);
	// Prolongs the lease of what is left of a claim; drops what it does not hold any more.
	void heartbeat(Claim &claim);
	// Logs what is refused.
	void say(const Word &word);

private:
	Connection &connection_;
	const ChannelSettings &channel_;
	std::optional<std::string> bound_to_;
};

} // namespace backfill::worker
