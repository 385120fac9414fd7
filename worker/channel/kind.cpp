#include "worker/channel/builtin_template.hpp"
#include "worker/channel/channel.hpp"

namespace backfill::worker {

namespace {

class Inert final : public Channel {
public:
	Outcome send(const Message &) override { return {core::Attempt::nothing_left, "inert", std::nullopt, false, false}; }
	std::string describe(const Message &message) override {
		return "message of " + std::to_string(message.payload.size()) + " bytes";
	}
};

constexpr ChannelKind kinds[] = {
	// Slack has nothing to drop duplicates by, and takes one message a second per hook
	// (docs.slack.dev/apis/web-api/rate-limits, "Posting messages").
	{"slack", false, 1, 1, &add_slack_templates, "text fallback", &open_slack},
	{"webhook", true, 0, 100, nullptr, "", &open_webhook},
	{"smtp", false, 0, 1, &add_mail_templates, "subject text html", &open_smtp},
	{"sftp", true, 0, 20, nullptr, "body", &open_sftp},
	{"file", true, 0, 100, nullptr, "body", &open_file},
	{"inert", true, 0, 100, nullptr, "", &open_inert},
};

} // namespace

const ChannelKind *channel_kind(std::string_view name) noexcept {
	for (const ChannelKind &kind : kinds)
		if (kind.name == name)
			return &kind;
	return nullptr;
}

std::string channel_kind_names() {
	std::string names;
	for (const ChannelKind &kind : kinds)
		names.append(names.empty() ? "" : ", ").append(kind.name);
	return names;
}

ChannelMaker open_inert(Section &, ChannelContext) {
	return [] { return std::make_unique<Inert>(); };
}

} // namespace backfill::worker
