#include "worker/channel/rule/mail.hpp"

#include <algorithm>

#include "worker/channel/rule/signature.hpp"
#include "worker/channel/rule/template.hpp"

namespace backfill::worker::rule {

namespace {

constexpr std::size_t line_columns = 76;

bool is_ascii(std::string_view text) noexcept {
	return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// Bytes of the whole characters at the beginning of the text that fit in so many.
std::size_t whole_characters(std::string_view text, std::size_t bytes) noexcept {
	if (text.size() <= bytes)
		return text.size();
	std::size_t end = bytes;
	while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
		--end;
	return end > 0 ? end : bytes;
}

std::string encoded_words(std::string_view text, std::size_t used) {
	constexpr std::string_view begin = "=?UTF-8?B?", end = "?=";
	std::string words;
	while (!text.empty()) {
		const std::size_t room = line_columns - 1 - begin.size() - end.size() - std::min<std::size_t>(used, 40);
		const std::size_t taken = whole_characters(text, room / 4 * 3);
		words.append(words.empty() ? "" : "\r\n ").append(begin).append(base64(text.substr(0, taken))).append(end);
		text.remove_prefix(taken);
		used = 1;
	}
	return words;
}

// Folded where there is a space; a word too long for a line is left as it is, which is not forbidden up to 998.
std::string folded(std::string_view text, std::size_t used) {
	std::string lines;
	while (used + text.size() > line_columns) {
		std::size_t space = text.rfind(' ', line_columns > used ? line_columns - used : 0);
		if (space == std::string_view::npos || space == 0)
			space = text.find(' ', 1);
		if (space == std::string_view::npos || text.find_first_not_of(' ', space) == std::string_view::npos)
			break;
		lines.append(text.substr(0, space)).append("\r\n");
		text.remove_prefix(space);
		used = 0;
	}
	return lines.append(text);
}

std::string quoted_name(std::string_view name) {
	if (!is_ascii(name))
		return mail_header(name, 6);
	std::string quoted = "\"";
	for (const char c : header_escaped(name)) {
		if (c == '"' || c == '\\')
			quoted += '\\';
		quoted += c;
	}
	return quoted + '"';
}

void append_part(std::string &into, std::string_view kind, std::string_view text) {
	into.append("Content-Type: text/").append(kind).append("; charset=utf-8\r\n");
	into.append("Content-Transfer-Encoding: quoted-printable\r\n\r\n").append(quoted_printable(text));
}

} // namespace

std::string mail_header(std::string_view text, std::size_t used) {
	const std::string line = header_escaped(text);
	// What looks like an encoded word would be decoded as one. A line over 998 characters is forbidden.
	const bool plain = is_ascii(line) && line.find("=?") == std::string::npos &&
	                   (line.size() < 900 || line.find(' ') != std::string::npos) && line.size() < 5000;
	return plain ? folded(line, used) : encoded_words(line, used);
}

std::string quoted_printable(std::string_view text) {
	constexpr std::string_view digits = "0123456789ABCDEF";
	std::string encoded;
	std::size_t column = 0;
	const auto put = [&](std::string_view piece) {
		if (column + piece.size() > line_columns - 1) {
			encoded += "=\r\n";
			column = 0;
		}
		encoded += piece;
		column += piece.size();
	};
	for (std::size_t i = 0; i < text.size(); ++i) {
		const auto byte = static_cast<unsigned char>(text[i]);
		const bool ends_line = byte == '\n' || (byte == '\r' && i + 1 < text.size() && text[i + 1] == '\n');
		if (ends_line) {
			i += byte == '\r';
			encoded += "\r\n";
			column = 0;
			continue;
		}
		const bool before_end = i + 1 == text.size() || text[i + 1] == '\n' || text[i + 1] == '\r';
		const bool plain = (byte > ' ' && byte < 0x7F && byte != '=') || ((byte == ' ' || byte == '\t') && !before_end);
		const char escape[] = {'=', digits[byte >> 4], digits[byte & 15]};
		put(plain ? std::string_view(text.data() + i, 1) : std::string_view(escape, 3));
	}
	if (column > 0)
		encoded += "\r\n";
	return encoded;
}

std::string mail_date(std::time_t at) {
	constexpr const char *days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
	constexpr const char *months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
	std::tm utc{};
	gmtime_r(&at, &utc);
	char text[64];
	std::snprintf(text, sizeof text, "%s, %02d %s %04d %02d:%02d:%02d +0000", days[utc.tm_wday], utc.tm_mday, months[utc.tm_mon],
	              utc.tm_year + 1900, utc.tm_hour, utc.tm_min, utc.tm_sec);
	return text;
}

std::string compose(const Mail &mail) {
	std::string out;
	const auto header = [&out](std::string_view name, std::string_view value) {
		out.append(name).append(": ").append(value).append("\r\n");
	};
	header("Date", mail_date(mail.at));
	header("From", mail.from_name.empty() ? mail.from : quoted_name(mail.from_name) + "\r\n <" + mail.from + ">");
	header("To", mail.to);
	if (!mail.reply_to.empty())
		header("Reply-To", mail.reply_to);
	header("Subject", mail_header(mail.subject, 9));
	header("Message-ID", "<" + mail.key + mail.from.substr(mail.from.find('@')) + ">");
	// So that holiday notices stay away (RFC 3834).
	header("Auto-Submitted", "auto-generated");
	if (!mail.mailer.empty())
		header("X-Mailer", mail.mailer);
	header("MIME-Version", "1.0");
	if (!mail.html) {
		append_part(out, "plain", mail.text);
		return out;
	}
	// = and ? do not stand beside each other in quoted-printable, so no line of a part is a boundary.
	const std::string boundary = "=?" + mail.key;
	header("Content-Type", "multipart/alternative;\r\n boundary=\"" + boundary + "\"");
	out.append("\r\n--").append(boundary).append("\r\n");
	append_part(out, "plain", mail.text);
	out.append("\r\n--").append(boundary).append("\r\n");
	append_part(out, "html", *mail.html);
	out.append("\r\n--").append(boundary).append("--\r\n");
	return out;
}

} // namespace backfill::worker::rule
