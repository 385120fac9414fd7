#include "core/recipient.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/error.hpp"

namespace backfill::core {
namespace {

constexpr std::size_t max_recipient_bytes = 400;

struct KindName {
	std::string_view name;
	RecipientKind kind;
	std::string_view channel;
};
constexpr std::array<KindName, 6> kind_names{{
	{"email", RecipientKind::email, "smtp"},
	{"slack", RecipientKind::slack, "slack"},
	{"webhook", RecipientKind::webhook, "webhook"},
	{"sftp", RecipientKind::sftp, "sftp"},
	{"file", RecipientKind::file, "file"},
	{"nats", RecipientKind::nats, "nats"},
}};

[[noreturn]] void refuse(const std::string &message, const std::string &hint) {
	throw Error(ErrorCode::invalid_argument, message, hint);
}

bool is_alnum(char c) noexcept {
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool only(std::string_view text, std::string_view also) noexcept {
	for (char c : text)
		if (!is_alnum(c) && also.find(c) == std::string_view::npos)
			return false;
	return true;
}

// Splits at `separator` and asks each part; an empty part is a part.
template <class Accept>
bool all_parts(std::string_view text, char separator, Accept accept) {
	for (;;) {
		std::size_t const end = text.find(separator);
		if (!accept(text.substr(0, end)))
			return false;
		if (end == std::string_view::npos)
			return true;
		text.remove_prefix(end + 1);
	}
}

// Characters that a person cannot see or that reorder what he sees. C1 controls, line separators, zero width and
// bidirectional marks are two or three bytes in UTF-8; in a single-byte encoding only ASCII controls are known.
bool has_hidden_character(std::string_view text) noexcept {
	for (std::size_t i = 0; i < text.size(); ++i) {
		auto const byte = [&](std::size_t at) { return at < text.size() ? static_cast<std::uint8_t>(text[at]) : 0U; };
		unsigned const first = byte(i);
		if (first < 0x20 || first == 0x7F)
			return true;
		if (first == 0xC2 && byte(i + 1) >= 0x80 && byte(i + 1) <= 0x9F)
			return true;
		unsigned const rest = byte(i + 1) << 8 | byte(i + 2);
		if (first == 0xE2 && ((rest >= 0x808B && rest <= 0x808F) || (rest >= 0x80A8 && rest <= 0x80AE) ||
		                      (rest >= 0x81A0 && rest <= 0x81AF)))
			return true;
		if (first == 0xEF && rest == 0xBBBF)
			return true;
	}
	return false;
}

bool is_domain_label(std::string_view label) noexcept {
	return !label.empty() && label.size() <= 63 && only(label, "-") && label.front() != '-' && label.back() != '-';
}

bool is_email(std::string_view address) {
	std::size_t const at = address.find('@');
	if (at == std::string_view::npos || address.size() > 254)
		return false;
	std::string_view const local = address.substr(0, at);
	auto const is_atom = [](std::string_view atom) { return !atom.empty() && only(atom, "!#$%&'*+-/=?^_`{|}~"); };
	return local.size() <= 64 && all_parts(local, '.', is_atom) && all_parts(address.substr(at + 1), '.', is_domain_label);
}

bool is_slack(std::string_view address) noexcept {
	if (!address.empty() && (address.front() == '#' || address.front() == '@'))
		address.remove_prefix(1);
	return !address.empty() && address.size() <= 80 && address.find_first_of(" #@<>,:/\\\"'`") == std::string_view::npos;
}

bool is_endpoint(std::string_view address) noexcept {
	return !address.empty() && address.size() <= 128 && only(address, "._-");
}

bool is_path(std::string_view address) {
	auto const is_name = [](std::string_view name) {
		return !name.empty() && name != "." && name != ".." && name.find_first_of("\\:*?\"<>|") == std::string_view::npos;
	};
	return all_parts(address, '/', is_name);
}

bool is_subject(std::string_view address) {
	auto const is_token = [](std::string_view token) { return !token.empty() && only(token, "_-"); };
	return all_parts(address, '.', is_token);
}

bool is_address(RecipientKind kind, std::string_view address) {
	switch (kind) {
	case RecipientKind::email:
		return is_email(address);
	case RecipientKind::slack:
		return is_slack(address);
	case RecipientKind::webhook:
		return is_endpoint(address);
	case RecipientKind::sftp:
	case RecipientKind::file:
		return is_path(address);
	case RecipientKind::nats:
		return is_subject(address);
	}
	return false;
}

std::string_view address_hint(RecipientKind kind) noexcept {
	switch (kind) {
	case RecipientKind::email:
		return "Write email:user@domain, in ASCII without quotes or spaces; an internationalized domain in its xn-- form.";
	case RecipientKind::slack:
		return "Write slack:#channel, slack:@user or slack: and an identifier.";
	case RecipientKind::webhook:
		return "Write webhook: and the name of an endpoint; its URL belongs to the worker's configuration.";
	case RecipientKind::sftp:
	case RecipientKind::file:
		return "Write a relative path of names, without empty or .. parts.";
	case RecipientKind::nats:
		return "Write nats: and a subject of letters, digits, _ and - between dots, without wildcards.";
	}
	return "";
}

} // namespace

RecipientKind read_recipient(std::string_view recipient) {
	if (recipient.size() > max_recipient_bytes)
		refuse("recipient is too long", "A recipient has at most " + std::to_string(max_recipient_bytes) + " bytes.");
	if (has_hidden_character(recipient))
		refuse("recipient contains a control or invisible character", "Clean the address where it enters the database.");

	std::size_t const colon = recipient.find(':');
	for (const KindName &known : kind_names) {
		if (colon == std::string_view::npos || recipient.substr(0, colon) != known.name)
			continue;
		if (!is_address(known.kind, recipient.substr(colon + 1)))
			refuse("recipient is not a usable " + std::string(known.name) + " address",
			       std::string(address_hint(known.kind)));
		return known.kind;
	}
	// nats: is left out, since no channel of the worker sends it.
	refuse("recipient has no known kind", "Write email:, slack:, webhook:, sftp: or file: before the address.");
}

std::string_view default_channel(RecipientKind kind) noexcept {
	for (const KindName &known : kind_names)
		if (known.kind == kind)
			return known.channel;
	return {};
}

} // namespace backfill::core
