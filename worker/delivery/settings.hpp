#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "core/breaker.hpp"
#include "core/retry.hpp"
#include "worker/channel/channel.hpp"

namespace backfill::worker {

// [channel.NAME]: how messages of a channel are claimed and sent, whatever its kind.
struct ChannelSettings {
	std::string name;
	std::string kind;
	bool inert = false;
	bool hold = true; // when_unknown
	int batch = 1;
	int senders = 1;
	int max_attempts = 20;
	double per_second = 0; // 0: no limit
	std::chrono::milliseconds lease{std::chrono::minutes{5}};
	std::chrono::milliseconds timeout{std::chrono::seconds{30}};
	core::RetryPolicy retry;
	core::Breaker::Policy breaker;
	ChannelMaker open;
};

// [delivery], and the channels.
struct DeliverySettings {
	bool enabled = true;
	bool inert = false; // all channels, and so it was said
	std::string binding_file;
	std::chrono::milliseconds poll{std::chrono::seconds{1}};
	std::chrono::milliseconds rescan{std::chrono::seconds{5}};
	std::chrono::milliseconds shutdown{std::chrono::seconds{20}};
	std::map<std::string, ChannelSettings> channels;

	// inert: all channels are, whatever the configuration says; then no secret is read. Throws ConfigurationError.
	static DeliverySettings read(Configuration &configuration, bool inert = false);
	// What serves a channel that nobody configured, where none is.
	static ChannelSettings inert_channel(const std::string &name);
	// Whether anything can be sent: only then a binding is needed.
	bool can_send() const noexcept;
};

} // namespace backfill::worker
