#include <ctime>

#include "worker/channel/channel.hpp"
#include "worker/channel/http_answer.hpp"
#include "worker/channel/rule/signature.hpp"
#include "worker/channel/secret.hpp"
#include "worker/channel/transfer.hpp"

namespace backfill::worker {

namespace {

struct Settings {
	TransferPolicy policy;
	std::string url; // for recipients that endpoints do not name; empty: there is none
	std::map<std::string, std::string, std::less<>> endpoints;
	std::vector<std::string> keys;
	std::string bearer;
	std::string source; // CloudEvents: where the events come from
};

class Webhook final : public Channel {
public:
	explicit Webhook(const Settings &settings)
		: settings_(settings), transfer_(settings.policy, settings.policy.allow_plain ? "http,https" : "https") {}

	Outcome send(const Message &message) override {
		const std::string *const url = url_of(message);
		if (url == nullptr)
			return {core::Attempt::refused, "endpoint_not_configured", std::nullopt, false, false};
		transfer_.begin(*url);
		const std::string timestamp = std::to_string(std::time(nullptr));
		add_headers(message, timestamp);
		// The body is the stored payload, byte for byte, which is what is signed.
		transfer_.set(CURLOPT_POST, 1L);
		transfer_.set(CURLOPT_POSTFIELDSIZE, static_cast<long>(message.payload.size()));
		transfer_.set(CURLOPT_POSTFIELDS, message.payload.c_str());
		return judge_http(transfer_.perform());
	}

	std::string describe(const Message &message) override {
		return "POST of " + std::to_string(message.payload.size()) + " bytes to " +
		       (url_of(message) != nullptr ? "endpoint " : "unknown endpoint ") + std::string(message.address());
	}

private:
	const std::string *url_of(const Message &message) const {
		if (const auto found = settings_.endpoints.find(message.address()); found != settings_.endpoints.end())
			return &found->second;
		return settings_.url.empty() ? nullptr : &settings_.url;
	}

	void add_headers(const Message &message, const std::string &timestamp) {
		transfer_.add_header("Content-Type: application/json");
		transfer_.add_header("Expect:");
		transfer_.add_header("User-Agent: pg_backfill/" PG_BACKFILL_VERSION);
		transfer_.add_header("Idempotency-Key: " + message.key);
		// Standard Webhooks 1.0
		transfer_.add_header("webhook-id: " + message.key);
		transfer_.add_header("webhook-timestamp: " + timestamp);
		if (!settings_.keys.empty())
			transfer_.add_header("webhook-signature: " +
			                     rule::webhook_signature(settings_.keys, message.key, timestamp, message.payload));
		if (!settings_.bearer.empty())
			transfer_.add_header("Authorization: Bearer " + settings_.bearer);
		// CloudEvents 1.0, HTTP binding, binary mode
		transfer_.add_header("ce-specversion: 1.0");
		transfer_.add_header("ce-id: " + message.key);
		transfer_.add_header("ce-type: " + message.type);
		transfer_.add_header("ce-source: " + settings_.source + rule::percent_encoded(message.pipeline, "/?#"));
	}

	const Settings &settings_;
	Transfer transfer_;
};

std::vector<std::string> signing_keys(Section &section, bool needed) {
	std::vector<std::string> keys;
	for (const std::string &secret : read_secrets(section, needed)) {
		const auto key = rule::webhook_key(secret);
		if (!key)
			section.refuse("secret_file", "and secret_env have to name secrets of Standard Webhooks: whsec_ and base64 of 24 to 64 bytes");
		keys.push_back(*key);
	}
	return keys;
}

} // namespace

ChannelMaker open_webhook(Section &section, ChannelContext context) {
	auto settings = std::make_shared<Settings>();
	settings->policy = TransferPolicy::read(section, context);
	settings->url = section.text("url").value_or("");
	if (auto endpoints = section.section("endpoint"))
		for (auto &[name, endpoint] : endpoints->sections()) {
			const auto url = endpoint.text("url");
			if (!url)
				endpoint.refuse("url", "is missing");
			settings->endpoints.emplace(name, *url);
			endpoint.finish();
		}
	if (settings->url.empty() && settings->endpoints.empty() && !context.inert)
		section.refuse("url", "is missing, and so is an endpoint");
	settings->keys = signing_keys(section, !context.inert);
	if (auto bearer = section.section("bearer")) {
		settings->bearer = read_secret(*bearer, !context.inert);
		if (settings->bearer.find_first_of("\r\n") != std::string::npos)
			bearer->refuse("secret_file", "and secret_env have to name a token of one line");
		bearer->finish();
	}
	settings->source = rule::percent_encoded(section.text("source").value_or("/pg_backfill/"));
	return [settings] { return std::make_unique<Webhook>(*settings); };
}

} // namespace backfill::worker
