// Rules of the outbox: recipients, keys, suppression, retry and breaker.

#include <string>

#include "core/breaker.hpp"
#include "core/error.hpp"
#include "core/message_key.hpp"
#include "core/recipient.hpp"
#include "core/retry.hpp"
#include "core/suppression.hpp"
#include "tap.hpp"

using namespace backfill::core;
using std::chrono::milliseconds;
using std::chrono::seconds;
using tap::check;

static bool accepts(std::string_view recipient) {
	try {
		read_recipient(recipient);
		return true;
	} catch (const Error &e) {
		std::size_t const colon = recipient.find(':');
		std::string_view const address = colon == std::string_view::npos ? recipient : recipient.substr(colon + 1);
		if (address.size() > 3)
			check((e.what() + e.hint()).find(address) == std::string::npos, "the error tells the address");
		return false;
	}
}

TEST("recipients that a channel can be given, and those that would mislead it") {
	for (std::string_view good :
	     {"email:a@b.example", "email:first.last+tag@sub.example.com", "email:ops@mailhost", "email:o'neil@example.com",
	      "email:x@xn--bcher-kva.example", "slack:#leads", "slack:@asha", "slack:C012AB3CD", "slack:#ऋण", "webhook:crm-1",
	      "sftp:out/daily.jsonl", "file:daily report.jsonl", "nats:leads.advanced"})
		check(accepts(good), "refused " + std::string(good));

	std::string const long_local = "email:" + std::string(65, 'a') + "@b.example";
	std::string const long_label = "email:a@" + std::string(64, 'b') + ".example";
	for (std::string_view bad :
	     {std::string_view("email:"), std::string_view("email:@b.example"), std::string_view("email:a@"),
	      std::string_view("email:a@b@c.example"), std::string_view("email:.a@b.example"),
	      std::string_view("email:a..b@c.example"), std::string_view("email:a.@c.example"),
	      std::string_view("email:a b@c.example"), std::string_view("email:<a@c.example>"),
	      std::string_view("email:a@c.example,d@e.example"), std::string_view("email:\"a\"@c.example"),
	      std::string_view("email:a@-c.example"), std::string_view("email:a@c..example"),
	      std::string_view("email:a@c.example\r\nRCPT TO:<d@e.example>"), std::string_view("email:a@c.example\n"),
	      std::string_view("email:a@c.exam\0ple", 18), std::string_view("email:a@bücher.example"),
	      std::string_view("email:a@c.example "), std::string_view("email:a%0d@c.example:25"),
	      std::string_view(long_local), std::string_view(long_label), std::string_view("slack:"),
	      std::string_view("slack:#"), std::string_view("slack:##x"), std::string_view("slack:#a b"),
	      std::string_view("slack:<!channel>"), std::string_view("slack:https://hooks.example/x"),
	      std::string_view("webhook:https://x.example/"), std::string_view("webhook:"), std::string_view("file:/etc/passwd"),
	      std::string_view("file:a/../b"), std::string_view("file:a//b"), std::string_view("sftp:.."),
	      std::string_view("sftp:C:\\x"), std::string_view("nats:a.>"), std::string_view("nats:a.*"),
	      std::string_view("nats:a..b"), std::string_view("smoke:signal"), std::string_view("nobody"),
	      std::string_view(""), std::string_view(":x"), std::string_view("EMAIL:a@b.example"),
	      std::string_view("slack:a\x7F" "b"), std::string_view("slack:a\xC2\x85" "b"),
	      std::string_view("slack:a\xE2\x80\xAE" "b"), std::string_view("slack:a\xE2\x80\xA8" "b"),
	      std::string_view("slack:a\xE2\x80\x8B" "b"), std::string_view("slack:\xEF\xBB\xBF" "b"),
	      std::string_view("slack:a\xE2\x81\xA6" "b")})
		check(!accepts(bad), "accepted " + std::string(bad));
	try {
		read_recipient("smoke:signal");
	} catch (const Error &e) {
		check(e.hint().find("sftp:") != std::string::npos && e.hint().find("nats:") == std::string::npos, "offers what the worker can send");
	}

	std::string const label = "." + std::string(62, 'd');
	check(accepts("email:a@b" + label + label + label + label.substr(0, 62)), "refused 254 bytes of e-mail address");
	check(!accepts("email:a@b" + label + label + label + label), "accepted 255 bytes of e-mail address");
	check(!accepts("file:" + std::string(400, 'a')), "accepted a long recipient");
	check(default_channel(read_recipient("email:a@b.example")) == "smtp", "e-mail goes by smtp");
	check(default_channel(read_recipient("nats:a")) == "nats", "nats goes by nats");
}

TEST("one text per key, one key per text") {
	MessageKey const key{"p", "email:a@b.example", "offer", 1, 2, 0};
	check(key_text(key) == "1:p17:email:a@b.example5:offer1:11:21:0", "canonical text");
	MessageKey other = key;
	other.pipeline = "p1";
	other.recipient = key.recipient;
	check(key_text(key) != key_text(other), "pipeline is part of the key");
	check(key_text({"a", "bc", "t", 1, 2, 0}) != key_text({"ab", "c", "t", 1, 2, 0}), "fields do not run together");
	check(key_text({"p", "r", "t", 1, 2, 0}) != key_text({"p", "r", "t", 1, 2, 1}), "a resend has its own key");
	check(key_text({"p", "r", "t", 1, 23, 0}) != key_text({"p", "r", "t", 12, 3, 0}), "windows do not run together");

	std::array<std::uint8_t, 32> digest;
	digest.fill(0xFF);
	Uuid const uuid = receiver_key(digest);
	check(uuid[6] == 0x8F && uuid[8] == 0xBF && uuid[0] == 0xFF && uuid[15] == 0xFF, "version and variant");
}

TEST("which mode and age may be delivered") {
	auto const judge = [](Mode mode, bool opted_in, std::int64_t run_time) {
		return suppression({mode, opted_in, run_time, 100}).value_or("deliver");
	};
	check(judge(Mode::live, false, 100) == "deliver", "live and recent, to the last microsecond");
	check(judge(Mode::live, false, 101) == "stale", "live and old");
	check(judge(Mode::live, true, 101) == "stale", "a live run has nothing to opt in to");
	check(judge(Mode::replay, false, 0) == "replay", "a replay is silent even when recent");
	check(judge(Mode::replay, true, 101) == "deliver", "an opted-in replay delivers old windows");
	check(read_mode("replay") == Mode::replay && !read_mode("Replay") && !read_mode(""), "modes by name");
}

TEST("what an answer means, and when to try again") {
	check(judge_http_status(204) == Attempt::sent, "204");
	check(judge_http_status(429) == Attempt::nothing_left, "429");
	for (int status : {408, 425, 500, 503, 599})
		check(judge_http_status(status) == Attempt::retry, std::to_string(status));
	for (int status : {301, 400, 401, 404, 410, 422, 499})
		check(judge_http_status(status) == Attempt::refused, std::to_string(status));
	for (int status : {0, 100, 199, 600, -1})
		check(judge_http_status(status) == Attempt::unknown, std::to_string(status));

	RetryPolicy const policy{seconds{4}, seconds{60}};
	check(retry_delay(policy, 1, 0) == seconds{2}, "half of the base is certain");
	check(retry_delay(policy, 1, 0.5) == seconds{3}, "the other half is jitter");
	check(retry_delay(policy, 3, 0) == seconds{8}, "doubles");
	check(retry_delay(policy, 1000000000, 1) == seconds{60}, "capped, whatever the attempt");
	check(retry_delay(policy, -5, 0) == seconds{2}, "an odd attempt is the first");
	check(retry_delay(policy, 1, 0, seconds{90}) == seconds{90}, "Retry-After is a floor");
	check(retry_delay(policy, 1, 0, seconds{-90}) == seconds{2}, "a negative Retry-After is none");
}

TEST("a breaker stops trying, tries once, and closes") {
	Breaker breaker({3, seconds{10}, seconds{25}});
	milliseconds now{0};
	breaker.failed(now);
	breaker.failed(now);
	breaker.succeeded();
	breaker.failed(now);
	breaker.failed(now);
	check(breaker.may_try(now), "two in a row do not open it");
	breaker.failed(now);
	check(breaker.is_open() && !breaker.may_try(now) && breaker.retry_at() == seconds{10}, "three do");
	breaker.failed(now);
	check(breaker.retry_at() == seconds{10}, "a straggler's failure does not prolong it");
	check(!breaker.may_try(milliseconds{9999}) && breaker.may_try(seconds{10}), "one trial when the time has passed");
	check(!breaker.may_try(seconds{10}), "and only one");
	check(breaker.may_try(seconds{20}), "a trial that never reports is followed by another");
	breaker.failed(seconds{21});
	check(breaker.retry_at() == seconds{41}, "twice as long");
	check(breaker.may_try(seconds{41}), "next trial");
	breaker.failed(seconds{41});
	check(breaker.retry_at() == seconds{66}, "at most the longest pause");
	check(breaker.may_try(seconds{66}), "last trial");
	breaker.succeeded();
	check(!breaker.is_open() && breaker.may_try(seconds{66}), "success closes it");
}

int main() { return tap::run(); }
