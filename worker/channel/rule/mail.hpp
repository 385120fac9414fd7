#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <string_view>

namespace backfill::worker::rule {

// Unstructured header text (RFC 5322): ASCII as it is, anything else in encoded words (RFC 2047, base64, each at most 75
// characters and of whole characters), folded. `used`: columns of the first line that the header's name takes. Control
// characters become spaces, so that no text can end its header.
std::string mail_header(std::string_view text, std::size_t used);

// Quoted-printable (RFC 2045, 6.7), with CRLF line ends whatever the text has; lines are at most 76 characters.
std::string quoted_printable(std::string_view text);

// For a Date header (RFC 5322, 3.3), in UTC.
std::string mail_date(std::time_t at);

struct Mail {
	std::string from;      // address
	std::string from_name; // may be empty
	std::string reply_to;  // address, may be empty
	std::string to;        // address
	std::string subject;
	std::string text;                // the body in plain text
	std::optional<std::string> html; // the same for those who prefer it
	std::string key;                 // of the message: Message-ID is <key@domain of from>
	std::time_t at = 0;
	std::string mailer; // X-Mailer
};

// The mail as it goes to the server, but for the doubling of leading dots. The same for the same Mail: the boundary
// comes from the key. Addresses must have been looked at by core::read_recipient.
std::string compose(const Mail &mail);

} // namespace backfill::worker::rule
