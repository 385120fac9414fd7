// The worker's rules: addresses, signatures, what Slack and mail take, templates.

#include <string>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "core/breaker.hpp"
#include "tap.hpp"
#include "worker/channel/rule/address.hpp"
#include "worker/channel/rule/mail.hpp"
#include "worker/channel/rule/signature.hpp"
#include "worker/channel/rule/slack_text.hpp"
#include "worker/channel/rule/template.hpp"

using namespace backfill::worker;
using namespace backfill::worker::rule;
using tap::check;
using tap::check_equal;

namespace {

bool is_public_text(const char *text) {
	sockaddr_in v4{};
	v4.sin_family = AF_INET;
	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
		return is_public(reinterpret_cast<const sockaddr *>(&v4));
	sockaddr_in6 v6{};
	v6.sin6_family = AF_INET6;
	check(inet_pton(AF_INET6, text, &v6.sin6_addr) == 1, std::string("an address: ") + text);
	return is_public(reinterpret_cast<const sockaddr *>(&v6));
}

Message message(const std::string &payload, const std::string &type = "made") {
	Message made;
	made.id = 7;
	made.type = type;
	made.payload = payload;
	made.pipeline = "p";
	return made;
}

std::string rendered(const std::string &text, const std::string &payload, Escape escape = Escape::plain) {
	try {
		return Template(text).render(message(payload), escape);
	} catch (const TemplateFailed &failed) {
		return failed.reason();
	}
}

} // namespace

TEST("addresses that are not public") {
	for (const char *text : {"0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.255.255.255", "169.254.169.254", "172.16.0.1", "172.31.255.255",
	                         "192.0.0.1", "192.0.2.1", "192.168.1.1", "198.18.0.1", "198.19.255.255", "203.0.113.9", "224.0.0.1", "255.255.255.255",
	                         "::", "::1", "fe80::1", "fc00::1", "fdff::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1",
	                         "64:ff9b::7f00:1", "64:ff9b:1::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "3fff::1", "fec0::1"})
		check(!is_public_text(text), text);
	for (const char *text : {"1.1.1.1", "9.255.255.255", "100.63.255.255", "100.128.0.1", "126.1.1.1", "128.0.0.1", "172.15.1.1", "172.32.0.1",
	                         "192.0.1.1", "198.17.1.1", "198.20.0.1", "223.255.255.255", "2606:4700::1111", "2001:4860:4860::8888", "::ffff:1.1.1.1",
	                         "64:ff9b::101:101", "3ffe::1"})
		check(is_public_text(text), text);
	sockaddr other{};
	other.sa_family = AF_UNIX;
	check(!is_public(&other), "no internet address");
}

TEST("the signature of Standard Webhooks") {
	// The example of the specification's reference implementations.
	const auto key = webhook_key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
	check(key.has_value(), "a key");
	check_equal(webhook_signature({*key}, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", R"({"test": 2432232314})"),
	            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", "one key");
	check_equal(webhook_signature({*key, *key}, "a", "1", "").size(), 2 * 47U + 1, "two keys");
	for (const char *bad : {"", "whsec_", "whsec_AAAA", "whsec_!!!!", "no base64 at all, is it", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS"})
		check(!webhook_key(bad), bad);
	check_equal(percent_encoded("a b\"%\n₹/"), "a%20b%22%25%0A%E2%82%B9/", "an attribute of CloudEvents");
}

TEST("Slack's limits") {
	check_equal(slack_length("a₹😀"), 4U, "UTF-16 code units");
	check_equal(slack_escaped("<!channel> & x"), "&lt;!channel&gt; &amp; x", "three characters");
	const auto lines = slack_sections(std::string(2990, 'a') + "\n" + std::string(20, 'b'));
	check_equal(lines.size(), 2U, "cut at the line");
	check_equal(lines.at(1), std::string(20, 'b'), "and not within it");
	check_equal(slack_sections(std::string(2998, 'a') + "&amp;").at(0).size(), 2998U, "not inside an entity");
	std::string wide;
	while (slack_length(wide) < 7000)
		wide += "😀";
	for (const std::string &section : slack_sections(wide)) {
		check(slack_length(section) <= 3000, "fits");
		check_equal(section.size() % 4, 0U, "whole characters");
	}
	const auto many = slack_sections(std::string(400000, 'x'));
	check_equal(many.size(), slack_blocks, "no more blocks than it takes");
	check(many.back().find("left out") != std::string::npos, "says so");
	check_equal(slack_sections(" \n\n ").size(), 0U, "nothing but white space is nothing");
	check_equal(slack_sections(std::string(3000, 'x')).size(), 1U, "exactly one");
}

TEST("header text") {
	check_equal(mail_header("plain text", 9), "plain text", "ASCII");
	check_equal(mail_header("a\r\nBcc: x\ty", 9), "a  Bcc: x y", "no line ends");
	check_equal(mail_header("₹", 9), "=?UTF-8?B?4oK5?=", "UTF-8");
	check_equal(mail_header("=?x", 9), "=?UTF-8?B?PT94?=", "what looks encoded is encoded");
	std::string longer;
	for (int i = 0; i < 200; ++i)
		longer += "न";
	const std::string words = mail_header(longer, 9);
	for (std::size_t begin = 0; begin < words.size();) {
		const std::size_t end = std::min(words.find("\r\n", begin), words.size());
		check(end - begin <= 76, "a line is short");
		begin = end + 2;
	}
	check_equal(quoted_printable("a=b \n₹\r\n.x"), "a=3Db=20\r\n=E2=82=B9\r\n.x\r\n", "quoted-printable");
	check_equal(quoted_printable(std::string(80, 'x')), std::string(75, 'x') + "=\r\n" + std::string(5, 'x') + "\r\n", "soft line ends");
	check_equal(quoted_printable("a\rb"), "a=0Db\r\n", "a lone CR is no line end");
	check_equal(mail_date(0), "Thu, 01 Jan 1970 00:00:00 +0000", "date");
}

TEST("a mail has the headers it was given and no others") {
	Mail mail{"from@a.example", "x\r\nBcc: y", "", "to@b.example", "s\r\nBcc: z", "t", "<p>h</p>", "key", 0, ""};
	const std::string text = compose(mail);
	check(text.find("\nBcc") == std::string::npos, "no injected header");
	check(text.find("Message-ID: <key@a.example>\r\n") != std::string::npos, "Message-ID");
	check_equal(compose(mail), text, "the same again");
	check(text.find("\n\n") == std::string::npos && text.find("\r\r") == std::string::npos, "line ends");
}

TEST("templates") {
	check_equal(rendered("{{a}} {{ b }}", R"({"a": 1.50, "b": true})"), "1.50 true", "numbers as they are");
	check_equal(rendered("{{a}}", R"({"a": 123456789012345678901234567890.10})"), "123456789012345678901234567890.10", "all their digits");
	check_equal(rendered("{{a}}", "{}"), "template_field_missing", "missing");
	check_equal(rendered("{{{a}}}", "{}"), "template_field_missing", "missing without escape");
	check_equal(rendered("{{&a}}", "{}"), "template_field_missing", "missing with &");
	check_equal(rendered("{{a}}", R"({"a": null})"), "template_field_missing", "null");
	check_equal(rendered("{{a}}", R"({"a": {"b": 1}})"), "template_field_not_text", "an object");
	check_equal(rendered("{{a.b}}", R"({"a": {"b": 1}})"), "1", "a path");
	check_equal(rendered("{{#a}}{{b}}{{/a}}{{^a}}none{{/a}}", R"({"a": null})"), "none", "a section of null");
	check_equal(rendered("{{#a}}<{{b}}>{{/a}}", R"({"a": [{"b": 1}, {"b": 2}]})"), "<1><2>", "a list");
	check_equal(rendered("{{#a}}{{.}},{{/a}}", R"({"a": ["x", "y"]})"), "x,y,", "a list of texts");
	check_equal(rendered("{{#a.entries}}{{name}}={{value}};{{/a.entries}}", R"({"a": {"x": 1, "y": [2], "z": "w"}})"), "x=1;z=w;", "an object's entries");
	check_equal(rendered("{{message.title}} {{message.payload}}", "[1]"), "Made [1]", "the message's own");
	check_equal(rendered("{{a}}", R"({"a": "<&\"'>"})", Escape::html), "&lt;&amp;&quot;&#39;&gt;", "HTML");
	check_equal(rendered("{{a}}", R"({"a": "<&\"'>"})", Escape::slack), "&lt;&amp;\"'&gt;", "Slack");
	check_equal(rendered("{{a}}", R"({"a": "<&\"'>"})", Escape::plain), "<&\"'>", "plain");
	check_equal(rendered("{{{a}}}", R"({"a": "x\r\ny"})", Escape::header), "x  y", "a header keeps to its line");
	check_equal(rendered("{{a}}", "{"), "template_payload_unreadable", "no JSON");
	for (const char *bad : {"{{> other}}", "{{=<% %>=}}", "{{#a}}", "{{a"}) {
		bool refused = false;
		try {
			Template{bad};
		} catch (const TemplateInvalid &) {
			refused = true;
		}
		check(refused, bad);
	}
}

TEST("a template for a message type") {
	Templates templates;
	for (const char *type : {"default", "run", "run_summary", "run_summary_2_x"})
		templates.add(type, "text", type);
	const auto chosen = [&](const char *type) {
		std::string text;
		templates.render(text, message("{}", type), "text", Escape::plain);
		return text;
	};
	check_equal(chosen("run_summary"), "run_summary", "its own");
	check_equal(chosen("run_summary_2"), "run_summary", "by prefix");
	check_equal(chosen("run_summary_2_x_y"), "run_summary_2_x", "the longest prefix");
	check_equal(chosen("run_summaries"), "run", "whole words");
	check_equal(chosen("runner"), "default", "anything else");
}

TEST("a trial that was not made is the next one's") {
	using namespace std::chrono_literals;
	backfill::core::Breaker breaker({.threshold = 1, .first_pause = 10ms, .longest_pause = 100ms});
	breaker.failed(0ms);
	check(!breaker.may_try(5ms), "open");
	check(breaker.may_try(10ms), "a trial");
	breaker.unused(12ms);
	check(breaker.may_try(12ms), "and another, since there was none");
	check(!breaker.may_try(13ms), "but one only");
	breaker.unused(13ms);
	breaker.succeeded();
	breaker.unused(14ms);
	check(breaker.may_try(14ms), "closed");
}

int main() { return tap::run(); }
