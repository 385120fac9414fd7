#include <algorithm>

#include <nlohmann/json.hpp>

#include "worker/channel/channel.hpp"
#include "worker/channel/http_answer.hpp"
#include "worker/channel/rule/slack_text.hpp"
#include "worker/channel/secret.hpp"
#include "worker/channel/transfer.hpp"

namespace backfill::worker {

namespace {

using Json = nlohmann::ordered_json;

// An incoming webhook belongs to one channel of Slack, and its URL is the secret.
struct Settings {
	TransferPolicy policy;
	std::string url; // for recipients that have none of their own; empty: they have none
	std::map<std::string, std::string, std::less<>> urls;
	rule::Templates templates;
};

// What Slack says of the hook or its channel, and not of the message (docs.slack.dev/messaging/
// sending-messages-using-incoming-webhooks, "Handling errors", and the changelog of 17 May 2016).
constexpr std::string_view about_channel[] = {"no_service",        "no_service_id",     "no_active_hooks",      "no_team",
                                              "team_disabled",     "invalid_token",     "action_prohibited",    "channel_not_found",
                                              "channel_is_archived", "posting_to_general_channel_denied"};

bool is_word(std::string_view text) {
	return !text.empty() && text.size() <= 50 && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos;
}

// Slack says what is wrong in the body, in one word of plain text.
Outcome judge_slack(const Transfer::Result &result) {
	Outcome outcome = judge_http(result);
	if (outcome.attempt != core::Attempt::refused && outcome.attempt != core::Attempt::retry)
		return outcome;
	std::string word = result.body.substr(0, result.body.find_last_not_of(" \r\n") + 1);
	if (!is_word(word))
		return outcome;
	outcome.about_channel = std::find(std::begin(about_channel), std::end(about_channel), word) != std::end(about_channel);
	outcome.reason = "slack_" + word;
	return outcome;
}

class Slack final : public Channel {
public:
	explicit Slack(const Settings &settings)
		: settings_(settings), transfer_(settings.policy, settings.policy.allow_plain ? "http,https" : "https") {}

	Outcome send(const Message &message) override {
		const std::string body = body_of(message).dump(-1, ' ', false, Json::error_handler_t::replace);
		const std::string *const url = url_of(message);
		if (url == nullptr)
			return {core::Attempt::refused, "recipient_not_configured", std::nullopt, false, false};
		transfer_.begin(*url);
		transfer_.add_header("Content-Type: application/json; charset=utf-8");
		transfer_.add_header("Expect:");
		transfer_.add_header("User-Agent: pg_backfill/" PG_BACKFILL_VERSION);
		transfer_.set(CURLOPT_POST, 1L);
		transfer_.set(CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
		transfer_.set(CURLOPT_POSTFIELDS, body.c_str());
		return judge_slack(transfer_.perform());
	}

	std::string describe(const Message &message) override {
		const Json body = body_of(message);
		return "Slack message of " + std::to_string(body.at("blocks").size()) + " blocks to " + std::string(message.address());
	}

private:
	const std::string *url_of(const Message &message) const {
		if (const auto found = settings_.urls.find(message.address()); found != settings_.urls.end())
			return &found->second;
		return settings_.url.empty() ? nullptr : &settings_.url;
	}

	// The text is what notifications and screen readers show where there are blocks.
	Json body_of(const Message &message) const {
		std::string text, fallback;
		if (!settings_.templates.render(text, message, "text", rule::Escape::slack))
			throw rule::TemplateFailed("there is no text for " + message.type, "template_missing");
		if (!settings_.templates.render(fallback, message, "fallback", rule::Escape::slack))
			fallback = text;
		Json blocks = Json::array();
		for (const std::string &section : rule::slack_sections(text))
			blocks.push_back({{"type", "section"}, {"text", {{"type", "mrkdwn"}, {"text", section}}}});
		if (blocks.empty())
			throw rule::TemplateFailed("the text is empty", "template_text_empty");
		return {{"text", rule::slack_cut(fallback, rule::slack_text_characters)}, {"blocks", blocks}};
	}

	const Settings &settings_;
	Transfer transfer_;
};

} // namespace

ChannelMaker open_slack(Section &section, ChannelContext context) {
	auto settings = std::make_shared<Settings>();
	settings->policy = TransferPolicy::read(section, context);
	settings->templates = std::move(context.templates);
	settings->url = read_secret(section, !context.inert);
	if (auto recipients = section.section("recipient"))
		for (auto &[name, recipient] : recipients->sections()) {
			settings->urls.emplace(name, read_secret(recipient, !context.inert));
			if (settings->urls[name].empty() && !context.inert)
				recipient.refuse("secret_file", "is missing: the webhook's URL is the secret");
			recipient.finish();
		}
	if (settings->url.empty() && settings->urls.empty() && !context.inert)
		section.refuse("secret_file", "is missing: the webhook's URL is the secret");
	return [settings] { return std::make_unique<Slack>(*settings); };
}

} // namespace backfill::worker
