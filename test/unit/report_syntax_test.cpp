#include <cstring>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "bureau/syntax/encoding.hpp"
#include "bureau/syntax/escape.hpp"
#include "bureau/syntax/json.hpp"
#include "bureau/syntax/xml.hpp"
#include "report.hpp"
#include "tap.hpp"

using namespace bureau::syntax;
using tap::check;
using tap::check_equal;

namespace {

std::string parse_json(std::string_view text) {
	static JsonParser parser;
	Document document;
	return std::string(to_text(parser.parse(text, document)));
}

std::string parse_xml(std::string_view text) {
	static XmlParser parser;
	Document document;
	return std::string(to_text(parser.parse(text, document)));
}

std::string reason(std::string_view body) { return bureau::read_report(body).reason; }

std::string repeated(std::string_view text, int times) {
	std::string all;
	for (int i = 0; i < times; ++i)
		all += text;
	return all;
}

// In UTF-16 without a mark; ASCII only.
std::string utf16(std::string_view ascii, bool big_endian) {
	std::string units;
	for (const char c : ascii)
		units += big_endian ? std::string{'\0', c} : std::string{c, '\0'};
	return units;
}

const std::string json_body = "{\"INProfileResponse\": " + report::with_account() + "}";

} // namespace

TEST("JSON: every byte is checked, also where nothing is read") {
	for (const char *text : {"null", "0", "-1.5e+10", "\"\"", "[]", "{}", " [1, 2 ,\t3]\n", R"({"":0,"a":{"b":[{},[],""]},"c":true,"d":false,"e":null})",
			 R"("\"\\\/\b\f\n\r\t\u00e4\uD83D\uDE00")", R"(["\\"])", "\"\xC3\xA4\"", "{\"a\":1}\r\n", "123456789012345678901234567890", "1e999"})
		check_equal(parse_json(text), "", text);
	for (const char *text : {"", " ", "{", "[", "}", "]", "{]", "[}", "[1,]", "[,1]", "[1 2]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{,}", "{\"a\" 1}", "{a:1}", "{'a':1}", "{1:1}",
			 "{\"a\":1 \"b\":2}", "[1]]", "{}{}", "nul", "nulll", "True", "NaN", "Infinity", "01", "-", "-a", "+1", "1.", ".5", "1.e5", "1e", "1e+", "0x10", "1a", "1\"a\"", "\"a", "\"a\"b",
			 "\"\\q\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\uD83D\\u12\"", "\"\\\"", "\"\n\"", "\"\t\"", "[\"a\" \"b\"]", "[\"a\"\"b\"]", "// comment\n1", "[1]/**/", "{\"unknown\": [truefalse]}", "tru e",
			 "\\", "{\\\"a\\\": 1}"})
		check_equal(parse_json(text), "invalid_json", text);
	check_equal(parse_json(std::string_view("[\0]", 3)), "invalid_json", "NUL between");
	check_equal(parse_json(std::string_view("\"\0\"", 3)), "invalid_json", "NUL inside");
	check_equal(parse_json("\"\xFF\""), "invalid_encoding", "no UTF-8");
	check_equal(parse_json("\"\xED\xA0\x80\""), "invalid_encoding", "a surrogate in UTF-8");
	check_equal(parse_json("\"\xC0\x80\""), "invalid_encoding", "NUL in two bytes");
}

TEST("JSON: cut off anywhere it is invalid, and a byte more is too") {
	for (std::size_t length = 1; length < json_body.size(); ++length)
		check_equal(reason(std::string_view(json_body).substr(0, length)), "invalid_json", "the first " + std::to_string(length) + " bytes");
	for (const char *more : {"x", "]", "}", ",", "{}", "0", "\"", "\\", "\x01"})
		check_equal(reason(json_body + more), "invalid_json", more);
}

TEST("JSON: nothing beyond the body's last byte is read") {
	const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
	auto *pages = static_cast<char *>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	check(mprotect(pages + page, page, PROT_NONE) == 0, "a page that nobody may read");
	for (std::size_t length = 0; length <= 300; ++length) {
		char *start = pages + page - length;
		std::memset(start, ' ', length);
		std::memcpy(start, "[1]", length < 3 ? length : 3);
		parse_json({start, length});
		std::memset(start, 'a', length);
		if (length > 0)
			*start = '"';
		parse_json({start, length});
		parse_xml({start, length});
		bureau::read_report({start, length});
	}
	munmap(pages, 2 * page);
}

TEST("nesting is bounded at 200, in both syntaxes") {
	check_equal(parse_json(repeated("[", 200) + repeated("]", 200)), "", "200 lists");
	check_equal(parse_json(repeated("[", 201) + repeated("]", 201)), "too_deep", "201 lists");
	check_equal(parse_json(repeated("{\"a\":", 1000000)), "too_deep", "a million objects");
	check_equal(parse_xml(repeated("<a>", 200) + repeated("</a>", 200)), "", "200 elements");
	check_equal(parse_xml(repeated("<a>", 202) + repeated("</a>", 202)), "too_deep", "202 elements");
	check_equal(parse_xml(repeated("<a>", 100000) + repeated("</a>", 100000)), "too_deep", "many elements");
}

TEST("XML: one element, no DOCTYPE, no entities but the five") {
	for (const char *text : {"<a/>", "<?xml version=\"1.0\"?><!-- c --><a>&lt;&#228;&amp;</a>\n<!-- c -->", "<n:a xmlns:n='u'><n:b>1</n:b></n:a>", "<a><![CDATA[<b>]]></a>", "<a b='&lt;'/>"})
		check_equal(parse_xml(text), "", text);
	for (const char *text : {"<a>", "<a></b>", "<a/><b/>", "<a/>2026-11-25 INFO done", "x<a/>", "<a", "<a b=></a>", "<a><!-- </a>", "<>", "<a/><![CDATA[x]]>", "</a>", "<!-- c -->"})
		check_equal(parse_xml(text), "invalid_xml", text);
	for (const char *text : {"<!DOCTYPE a><a/>", "<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>", "<!DOCTYPE a [", "<?xml version='1.0'?><!DOCTYPE a SYSTEM 'file:///x'><a/>", "<a><!DOCTYPE b></a>"})
		check_equal(parse_xml(text), "xml_doctype_forbidden", text);
	check_equal(parse_xml(std::string_view("<a>\0</a>", 8)), "invalid_xml", "NUL");
	check_equal(reason("<a>\xFF</a>"), "invalid_encoding", "no UTF-8");
}

TEST("XML: text, attributes, references that stand for no character") {
	const auto read = [](const std::string &account) {
		return bureau::read_report("<INProfileResponse><CAIS_Account><CAIS_Account_DETAILS>" + account + "</CAIS_Account_DETAILS></CAIS_Account></INProfileResponse>");
	};
	check_equal(report::only(read("<Subscriber_Name>A<!-- c -->B<![CDATA[ &amp; ]]>C</Subscriber_Name>")).lender, "AB & C", "pieces");
	check_equal(report::only(read("<Subscriber_Name>&lt;A&gt; &#x42;&undefined;</Subscriber_Name>")).lender, "<A> B&UNDEFINED", "references");
	check_equal(report::only(read("<Account_Status code='x'> 11 </Account_Status>")).status_code, "11", "an attribute beside text");
	for (const char *none : {"&#0;", "&#xD800;", "&#1114112;", "&#x110000;"})
		check_equal(report::warnings(read("<Subscriber_Name>AB" + std::string(none) + "</Subscriber_Name><Account_Status>13</Account_Status>")).substr(0, 36),
			"bad_unicode_replaced:Subscriber_Name", none);
}

TEST("encodings: by mark, by zero bytes, by declaration") {
	const std::string lender = "{\"CAIS_Account\": {\"CAIS_Account_DETAILS\": {\"Subscriber_Name\": \"Namuna Bank\", \"Account_Status\": 11}}}";
	const auto lender_of = [](const std::string &body) { return report::only(bureau::read_report(body)).lender; };
	check_equal(lender_of("\xEF\xBB\xBF" + lender), "NAMUNA BANK", "UTF-8 with a mark");
	check_equal(lender_of("\xFF\xFE" + utf16(lender, false)), "NAMUNA BANK", "UTF-16, little end first, with a mark");
	check_equal(lender_of("\xFE\xFF" + utf16(lender, true)), "NAMUNA BANK", "UTF-16, big end first, with a mark");
	check_equal(lender_of(utf16(lender, false)), "NAMUNA BANK", "UTF-16, little end first");
	check_equal(lender_of(utf16(lender, true)), "NAMUNA BANK", "UTF-16, big end first");
	check_equal(reason("\xFF\xFE" + utf16(lender, false) + "x"), "invalid_encoding", "half a unit");
	const auto xml = [](const std::string &encoding, const std::string &name) {
		return "<?xml version=\"1.0\" encoding=\"" + encoding + "\"?><INProfileResponse><CAIS_Account><CAIS_Account_DETAILS><Subscriber_Name>" + name +
			"</Subscriber_Name></CAIS_Account_DETAILS></CAIS_Account></INProfileResponse>";
	};
	check_equal(lender_of(xml("ISO-8859-1", "N\xE4muna")), "N\u00C4MUNA", "ISO-8859-1");
	check_equal(lender_of(xml("latin1", "N\xE4muna")), "N\u00C4MUNA", "latin1");
	check_equal(lender_of(xml("windows-1252", "N\xE4muna \x80")), "N\u00C4MUNA \u20AC", "windows-1252");
	check_equal(lender_of(xml("UTF-8", "N\u00E4muna")), "N\u00C4MUNA", "UTF-8");
	check_equal(lender_of(xml("KOI8-R", "Namuna")), "NAMUNA", "an unknown one, but ASCII");
	check_equal(reason(xml("KOI8-R", "N\xC4muna")), "invalid_encoding", "an unknown one");
	check_equal(reason(xml("UTF-8", "N\xE4muna")), "invalid_encoding", "another than declared");
	check_equal(lender_of("\xFF\xFE" + utf16(xml("UTF-16", "Namuna"), false)), "NAMUNA", "XML in UTF-16");
	std::string lone("\xFF\xFE" + utf16(xml("UTF-16", "Na?muna"), false));
	const std::size_t mark = lone.find(std::string("a\0?\0m\0", 6));
	lone.replace(mark + 2, 2, std::string("\x00\xD8", 2));
	check_equal(lender_of(lone), "NA\uFFFDMUNA", "half a pair in UTF-16");
}

TEST("what is no report at all") {
	for (const char *body : {"", " \n", "\xEF\xBB\xBF", "\xEF\xBB\xBF \t"})
		check_equal(reason(body), "empty", "nothing");
	for (const char *body : {"null", "0", "\"\"", "\"text\"", "[]", "{}", "[[[]]]", "upstream timed out", "{\"weather\": 1}", "<html><body>502</body></html>", "<OUTProfileResponse/>",
			 "bm90IGEgcmVwb3J0IGF0IGFsbCwgc29ycnkgZm9yIHRoYXQ=", "%PDF-1.4"})
		check_equal(reason(body), "not_a_report", body);
	check_equal(reason("\x1F\x8B\x08\x08\xFF\xFE\xAA"), "invalid_encoding", "gzip");
}

TEST("script strings, base64") {
	bool replaced = false;
	check_equal(unescape_script(R"(\x3ca\u003e\'\/\n\q\)", replaced), "<a>'/\nq\\", "script");
	check(!replaced, "nothing replaced");
	check_equal(decode_base64("TmFt\r\n dW5h").value_or("none"), "Namuna", "in lines");
	check_equal(decode_base64("TmFtdQ==").value_or("none"), "Namu", "padded");
	check(!decode_base64("TmFt*") && !decode_base64("Tm=Ft") && !decode_base64("====="), "no base64");
}

int main() { return tap::run(); }
