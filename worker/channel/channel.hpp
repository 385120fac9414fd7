#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/retry.hpp"
#include "worker/channel/message.hpp"
#include "worker/channel/rule/template.hpp"
#include "worker/configuration.hpp"

namespace backfill::worker {

// What an attempt came to, as far as it can be known.
struct Outcome {
	core::Attempt attempt = core::Attempt::unknown;
	std::string reason; // for the record: lower case, digits and underscores; empty for sent
	std::optional<std::chrono::milliseconds> retry_after;
	bool throttled = false;     // the receiver is up and wants less: the channel waits for retry_after
	bool about_channel = false; // a refusal that every message of the channel would get
};

// A way out, of one thread. send() puts the message on its way and says what came of it; it lasts no longer than the
// channel's time-out, and ends sooner where the program has to. It throws rule::TemplateFailed before a byte has left.
class Channel {
public:
	virtual ~Channel() = default;
	virtual Outcome send(const Message &message) = 0;
	// What send() would send where, without doing it, without content and without a secret.
	virtual std::string describe(const Message &message) = 0;
};

// What every kind is given.
struct ChannelContext {
	std::string name;
	bool inert = false;
	std::chrono::milliseconds timeout{std::chrono::seconds{30}};
	std::chrono::milliseconds connect_timeout{std::chrono::seconds{10}};
	std::chrono::milliseconds shutdown{std::chrono::seconds{20}}; // from the request to stop, for what is in flight
	rule::Templates templates;
	bool duplicates_harm = true; // when_unknown is hold: nothing may be sent a second time unseen
};

// A kind of channel: what it is by default, and how it is opened. open() reads the rest of the section and answers what
// makes a channel; it is called once and the maker by each thread.
using ChannelMaker = std::function<std::unique_ptr<Channel>()>;
struct ChannelKind {
	std::string_view name;
	bool drops_duplicates;  // the receiver can, by the message's key
	double per_second;      // 0: as fast as it goes
	int batch;              // claimed at once
	void (*add_templates)(rule::Templates &templates);         // those built in; null: the kind has none
	const char *template_parts;                                // keys of a template, separated by spaces
	ChannelMaker (*open)(Section &section, ChannelContext context);
};

// Null if there is no such kind.
const ChannelKind *channel_kind(std::string_view name) noexcept;
std::string channel_kind_names();

ChannelMaker open_webhook(Section &section, ChannelContext context);
ChannelMaker open_slack(Section &section, ChannelContext context);
ChannelMaker open_smtp(Section &section, ChannelContext context);
ChannelMaker open_sftp(Section &section, ChannelContext context);
ChannelMaker open_file(Section &section, ChannelContext context);
ChannelMaker open_inert(Section &section, ChannelContext context);

} // namespace backfill::worker
