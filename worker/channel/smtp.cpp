#include <algorithm>
#include <ctime>

#include "core/error.hpp"
#include "core/recipient.hpp"
#include "worker/channel/channel.hpp"
#include "worker/channel/rule/mail.hpp"
#include "worker/channel/secret.hpp"
#include "worker/channel/transfer.hpp"

namespace backfill::worker {

namespace {

struct Settings {
	TransferPolicy policy;
	std::string url;
	std::string user, password;
	std::string from, from_name, reply_to;
	rule::Templates templates;
};

// libcurl 7.88 writes line ends in an address into the dialogue, so nothing goes there that was not looked at here.
bool is_address(const std::string &address) {
	try {
		return core::read_recipient("email:" + address) == core::RecipientKind::email;
	} catch (const core::Error &) {
		return false;
	}
}

// Where in the dialogue it ended.
enum class Stage { hello, from, to, data };

Stage stage_of(std::string_view command, Stage before) noexcept {
	if (command.starts_with("MAIL FROM:"))
		return Stage::from;
	if (command.starts_with("RCPT TO:"))
		return Stage::to;
	return command.starts_with("DATA") ? Stage::data : before;
}

// RFC 5321: 4xx may pass, 5xx will not. A mail is taken with the answer to the end of its data and not before: what
// was said up to DATA proves that it was not. What is refused before a recipient was named is the channel's trouble.
Outcome judge_smtp(const Transfer::Result &result, Stage stage) {
	Outcome outcome;
	if (result.code == CURLE_OK) {
		outcome.attempt = core::Attempt::sent;
		return outcome;
	}
	const bool said_no = result.status >= 400 && result.status < 600 && result.code != CURLE_OPERATION_TIMEDOUT;
	outcome.reason = said_no ? "smtp_" + std::to_string(result.status) : result.reason;
	constexpr long too_large = 552;
	if (!said_no)
		outcome.attempt = result.left ? core::Attempt::unknown : core::Attempt::nothing_left;
	else if (stage == Stage::hello || (stage == Stage::from && result.status != too_large))
		outcome.attempt = core::Attempt::nothing_left;
	else
		outcome.attempt = result.status < 500 ? core::Attempt::retry : core::Attempt::refused;
	return outcome;
}

class Smtp final : public Channel {
public:
	explicit Smtp(const Settings &settings) : settings_(settings), transfer_(settings.policy, "smtp,smtps") {}

	Outcome send(const Message &message) override {
		const rule::Mail mail = mail_of(message);
		Stage stage = Stage::hello;
		transfer_.begin(settings_.url);
		transfer_.set(CURLOPT_USE_SSL, static_cast<long>(settings_.policy.allow_plain ? CURLUSESSL_TRY : CURLUSESSL_ALL));
		if (!settings_.user.empty()) {
			transfer_.set(CURLOPT_USERNAME, settings_.user.c_str());
			transfer_.set(CURLOPT_PASSWORD, settings_.password.c_str());
		}
		transfer_.set(CURLOPT_MAIL_FROM, ("<" + mail.from + ">").c_str());
		transfer_.add_recipient("<" + mail.to + ">");
		transfer_.on_command([&stage](std::string_view command) { stage = stage_of(command, stage); });
		transfer_.upload(rule::compose(mail));
		const Transfer::Result result = transfer_.perform(); // which moves the stage on
		return judge_smtp(result, stage);
	}

	std::string describe(const Message &message) override {
		const rule::Mail mail = mail_of(message);
		return "mail of " + std::to_string(rule::compose(mail).size()) + " bytes" + (mail.html ? " with HTML" : "") + " to somebody at " +
		       mail.to.substr(mail.to.find('@') + 1);
	}

private:
	rule::Mail mail_of(const Message &message) const {
		rule::Mail mail;
		mail.from = settings_.from;
		mail.from_name = settings_.from_name;
		mail.reply_to = settings_.reply_to;
		mail.to = message.address();
		if (!message.recipient.starts_with("email:") || !is_address(mail.to))
			throw rule::TemplateFailed("the recipient is no mail address", "recipient_invalid");
		std::string html;
		if (!settings_.templates.render(mail.subject, message, "subject", rule::Escape::header) ||
		    !settings_.templates.render(mail.text, message, "text", rule::Escape::plain))
			throw rule::TemplateFailed("a mail needs a subject and a text", "template_missing");
		if (settings_.templates.render(html, message, "html", rule::Escape::html))
			mail.html = std::move(html);
		mail.key = message.key;
		mail.at = std::time(nullptr);
		mail.mailer = "pg_backfill/" PG_BACKFILL_VERSION;
		return mail;
	}

	const Settings &settings_;
	Transfer transfer_;
};

std::string read_address(Section &section, const std::string &key, bool needed) {
	const std::string address = section.text(key).value_or("");
	if (address.empty() && needed)
		section.refuse(key, "is missing");
	if (!address.empty() && !is_address(address))
		section.refuse(key, "has to be a mail address: user@domain, in ASCII");
	return address;
}

} // namespace

ChannelMaker open_smtp(Section &section, ChannelContext context) {
	auto settings = std::make_shared<Settings>();
	settings->policy = TransferPolicy::read(section, context);
	settings->templates = std::move(context.templates);
	settings->url = section.text("url").value_or("");
	if (!settings->url.starts_with("smtp://") && !settings->url.starts_with("smtps://") && !context.inert)
		section.refuse("url", "has to be smtp://host:port (STARTTLS) or smtps://host:port");
	settings->user = section.text("user").value_or("");
	settings->password = read_secret(section, !context.inert);
	if (!settings->user.empty() && settings->password.empty() && !context.inert)
		section.refuse("secret_file", "is missing: the password of user");
	settings->from = read_address(section, "from", true);
	settings->from_name = section.text("from_name").value_or("");
	settings->reply_to = read_address(section, "reply_to", false);
	return [settings] { return std::make_unique<Smtp>(*settings); };
}

} // namespace backfill::worker
