#include <algorithm>

#include "worker/channel/channel.hpp"
#include "worker/channel/file_name.hpp"
#include "worker/channel/rule/signature.hpp"
#include "worker/channel/secret.hpp"
#include "worker/channel/transfer.hpp"
#include "worker/failpoint.hpp"

namespace backfill::worker {

namespace {

struct Settings {
	TransferPolicy policy;
	std::string origin; // sftp://host:port
	std::string directory;
	std::string suffix;
	std::string user, password;
	std::string private_key_file;
	std::string known_hosts, host_key_sha256;
	rule::Templates templates;
};

Outcome outcome(core::Attempt attempt, std::string reason) {
	return {attempt, std::move(reason), std::nullopt, false, false};
}

// The server's rename refuses a name that is taken: version 3 of the protocol, which is what servers speak, asks for it
// (draft-ietf-secsh-filexfer-02, 6.5), and OpenSSH's makes a hard link so that nobody can come between.
class Sftp final : public Channel {
public:
	explicit Sftp(const Settings &settings) : settings_(settings), transfer_(settings.policy, "sftp") {}

	Outcome send(const Message &message) override {
		const std::string content = file_content(message, settings_.templates);
		const std::string folder = settings_.directory + "/" + file_directory(message) + "/";
		const std::string aside = folder + part_name(message), name = folder + message.key + settings_.suffix;
		begin(aside);
		transfer_.set(CURLOPT_FTP_CREATE_MISSING_DIRS, static_cast<long>(CURLFTP_CREATE_DIR));
		transfer_.add_quote_after("rename \"" + aside + "\" \"" + name + "\"");
		transfer_.upload(content);
		const Transfer::Result result = transfer_.perform();
		switch (result.code) {
		case CURLE_OK: return outcome(core::Attempt::sent, "");
		case CURLE_QUOTE_ERROR: return look(aside, name, content);
		case CURLE_PEER_FAILED_VERIFICATION: return outcome(core::Attempt::nothing_left, "host_key");
		case CURLE_REMOTE_ACCESS_DENIED: return outcome(core::Attempt::nothing_left, "sftp_not_permitted");
		// The upload failed at the server, so that nothing was renamed.
		case CURLE_REMOTE_DISK_FULL: return outcome(core::Attempt::nothing_left, "sftp_no_space");
		case CURLE_REMOTE_FILE_NOT_FOUND:
		case CURLE_UPLOAD_FAILED: return outcome(core::Attempt::nothing_left, "sftp_upload_failed");
		default: return outcome(result.left ? core::Attempt::unknown : core::Attempt::nothing_left, result.reason);
		}
	}

	std::string describe(const Message &message) override {
		return "file of " + std::to_string(file_content(message, settings_.templates).size()) + " bytes, " +
		       file_directory(message) + "/" + message.key + settings_.suffix;
	}

private:
	void begin(const std::string &path) {
		// What is no part of a path is encoded; slashes stay.
		transfer_.begin(settings_.origin + rule::percent_encoded(path, "?#[]@:;&=+$,'"));
		transfer_.set(CURLOPT_USERNAME, settings_.user.c_str());
		if (settings_.private_key_file.empty()) {
			transfer_.set(CURLOPT_SSH_AUTH_TYPES, static_cast<long>(CURLSSH_AUTH_PASSWORD));
			transfer_.set(CURLOPT_PASSWORD, settings_.password.c_str());
		} else {
			transfer_.set(CURLOPT_SSH_AUTH_TYPES, static_cast<long>(CURLSSH_AUTH_PUBLICKEY));
			transfer_.set(CURLOPT_SSH_PRIVATE_KEYFILE, settings_.private_key_file.c_str());
			transfer_.set(CURLOPT_KEYPASSWD, settings_.password.c_str());
		}
		// A host that neither knows is refused by the library.
		if (!settings_.known_hosts.empty())
			transfer_.set(CURLOPT_SSH_KNOWNHOSTS, settings_.known_hosts.c_str());
		if (!settings_.host_key_sha256.empty())
			transfer_.set(CURLOPT_SSH_HOST_PUBLIC_KEY_SHA256, settings_.host_key_sha256.c_str());
	}

	// The name was not to be had: an earlier attempt may have taken it, and then the message is there.
	Outcome look(const std::string &aside, const std::string &name, const std::string &content) {
		begin(name);
		transfer_.keep_body(content.size() + 1);
		const Transfer::Result found = transfer_.perform();
		// Ours in any case; that it may be gone does not matter (*).
		begin(settings_.directory + "/");
		transfer_.set(CURLOPT_NOBODY, 1L);
		transfer_.add_quote_after("*rm \"" + aside + "\"");
		transfer_.perform();
		if (found.code == CURLE_OK)
			return found.body == content ? outcome(core::Attempt::sent, "") : outcome(core::Attempt::refused, "file_exists");
		return outcome(core::Attempt::nothing_left, "sftp_rename_failed");
	}

	const Settings &settings_;
	Transfer transfer_;
};

void read_host_key(Section &section, Settings &settings, bool needed) {
	settings.known_hosts = section.text("known_hosts").value_or("");
	settings.host_key_sha256 = section.text("host_key_sha256").value_or("");
	constexpr std::string_view prefix = "SHA256:"; // as ssh-keygen -l prints it
	if (settings.host_key_sha256.starts_with(prefix))
		settings.host_key_sha256.erase(0, prefix.size());
	if (settings.known_hosts.empty() == settings.host_key_sha256.empty() && needed)
		section.refuse("known_hosts", "or host_key_sha256 has to be there, and not both: the server's key is always checked");
}

void read_user(Section &section, Settings &settings, bool needed) {
	settings.user = section.text("user").value_or("");
	if (settings.user.empty() && needed)
		section.refuse("user", "is missing");
	settings.private_key_file = section.text("private_key_file").value_or("");
	settings.password = read_secret(section, needed);
	if (settings.private_key_file.empty() && settings.password.empty() && needed)
		section.refuse("private_key_file", "or the secret of a password is missing");
}

} // namespace

ChannelMaker open_sftp(Section &section, ChannelContext context) {
	auto settings = std::make_shared<Settings>();
	settings->policy = TransferPolicy::read(section, context);
	settings->templates = std::move(context.templates);
	settings->suffix = file_suffix(section);
	const std::string host = section.text("host").value_or("");
	if ((host.empty() || host.find_first_of("/@ ?#") != std::string::npos) && !context.inert)
		section.refuse("host", "has to be a name or an address");
	settings->origin = "sftp://" + host + ":" + std::to_string(section.integer("port", 1, 65535).value_or(22));
	settings->directory = section.text("directory").value_or("");
	if ((!settings->directory.starts_with("/") || settings->directory.find_first_of("\"\\\r\n") != std::string::npos) && !context.inert)
		section.refuse("directory", "has to be a path from the root, without quotes");
	while (settings->directory.ends_with("/"))
		settings->directory.pop_back();
	read_user(section, *settings, !context.inert);
	read_host_key(section, *settings, !context.inert);
	return [settings] { return std::make_unique<Sftp>(*settings); };
}

} // namespace backfill::worker
