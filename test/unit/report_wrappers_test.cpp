#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>

#include <nlohmann/json.hpp>

#include "report.hpp"
#include "tap.hpp"

using bureau::Reading;
using json = nlohmann::ordered_json;
using tap::check;
using tap::check_equal;

namespace {

const char *const samples[] = {"s01_baseline.json", "s03_single_account_object.json", "s23_amount_formats.json", "s28_transferred_portfolio.json", "s35_holder_types.json",
	"s41_status_00_and_missing.json", "s42_mobile_formats.json", "s44_degraded_repull.json", "u01_experian.json"};

std::string contents(const std::string &file) {
	std::ifstream in("test/data/reports/" + file, std::ios::binary);
	check(in.good(), "cannot open " + file);
	return {std::istreambuf_iterator<char>(in), {}};
}

// The report inside a sample, without its envelope.
json report_of(const std::string &file) {
	json body = json::parse(contents(file));
	for (const char *key : {"data", "credit_report", "INProfileResponse"})
		if (body.contains(key))
			body = json(body[key]);
	return body;
}

std::string escaped(const std::string &text) {
	std::string xml;
	for (const char c : text)
		xml += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : c == '"' ? "&quot;" : std::string(1, c);
	return xml;
}

std::string text_of(const json &value) { return value.is_string() ? value.get<std::string>() : value.is_null() ? "" : value.dump(); }

std::string element(const std::string &name, const json &value) {
	if (value.is_array()) {
		std::string all;
		for (const json &one : value)
			all += element(name, one);
		return all;
	}
	std::string inside;
	if (value.is_object())
		for (const auto &[key, member] : value.items())
			inside += element(key, member);
	else
		inside = escaped(text_of(value));
	return inside.empty() ? "<" + name + "/>" : "<" + name + ">" + inside + "</" + name + ">";
}

std::string xml_of(const json &report) { return element("INProfileResponse", report); }

std::string base64(const std::string &bytes) {
	static constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	std::string text;
	for (std::size_t at = 0; at < bytes.size(); at += 3) {
		unsigned bits = 0;
		for (std::size_t i = 0; i < 3; ++i)
			bits = bits << 8 | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0u);
		for (int i = 0; i < 4; ++i)
			text += at + static_cast<std::size_t>(i) > bytes.size() ? '=' : digits[bits >> (18 - 6 * i) & 63];
	}
	return text;
}

// Changes all keys; rename gives the new one.
template <class Rename>
json with_keys(const json &value, Rename rename) {
	json changed = value.is_object() ? json::object() : value.is_array() ? json::array() : value;
	if (value.is_object())
		for (const auto &[key, member] : value.items())
			changed[rename(key)] = with_keys(member, rename);
	if (value.is_array())
		for (const json &member : value)
			changed.push_back(with_keys(member, rename));
	return changed;
}

std::string lower_case(std::string key) {
	std::ranges::transform(key, key.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
	return key;
}

std::string camel_case(const std::string &key) {
	std::string camel;
	bool upper = false;
	for (const char c : lower_case(key)) {
		if (c != '_')
			camel += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
		upper = c == '_';
	}
	return camel;
}

// Every list of one becomes its element.
json without_single_lists(const json &value) {
	if (value.is_array() && value.size() == 1)
		return without_single_lists(value[0]);
	json changed = value.is_object() ? json::object() : value.is_array() ? json::array() : value;
	if (value.is_object())
		for (const auto &[key, member] : value.items())
			changed[key] = without_single_lists(member);
	if (value.is_array())
		for (const json &member : value)
			changed.push_back(without_single_lists(member));
	return changed;
}

json with_unknown_fields(const json &value) {
	json changed = value.is_object() ? json{{"zz_before", json::array({1, "x", nullptr})}} : value.is_array() ? json::array() : value;
	if (value.is_object()) {
		for (const auto &[key, member] : value.items())
			changed[key] = with_unknown_fields(member);
		changed["accountTypeDescription_"] = "HOUSING LOAN <b>{\"a\":1}</b>";
		changed["zz_after"] = {{"Nested", {{"zz", "a text of more than thirty-two characters, which is no report"}}}};
	}
	if (value.is_array())
		for (const json &member : value)
			changed.push_back(with_unknown_fields(member));
	return changed;
}

json with_shuffled_keys(const json &value, std::mt19937 &random) {
	json changed = value.is_object() ? json::object() : value.is_array() ? json::array() : value;
	if (value.is_object()) {
		std::vector<std::string> keys;
		for (const auto &[key, member] : value.items())
			keys.push_back(key);
		std::ranges::shuffle(keys, random);
		for (const std::string &key : keys)
			changed[key] = with_shuffled_keys(value[key], random);
	}
	if (value.is_array())
		for (const json &member : value)
			changed.push_back(with_shuffled_keys(member, random));
	return changed;
}

json with_empties(const json &value, const json &empty) {
	if (value.is_null())
		return empty;
	json changed = value.is_object() ? json::object() : value.is_array() ? json::array() : value;
	if (value.is_object())
		for (const auto &[key, member] : value.items())
			changed[key] = with_empties(member, empty);
	if (value.is_array())
		for (const json &member : value)
			changed.push_back(with_empties(member, empty));
	return changed;
}

std::string replaced(std::string text, const std::string &from, const std::string &to) {
	for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
		text.replace(at, from.size(), to);
	return text;
}

std::string quoted_times(json value, int times) {
	for (int i = 0; i < times; ++i)
		value = value.dump();
	return value.dump();
}

const std::string soap_start = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Header/><s:Body>";
const std::string soap_end = "</s:Body></s:Envelope>";

// Every way a body may carry the report.
std::vector<std::pair<std::string, std::string>> wrapped(const json &report) {
	const json named = {{"INProfileResponse", report}};
	const std::string xml = xml_of(report);
	const json vendor = {{"http_response_code", 200}, {"client_ref_num", "BT-1"}, {"result_code", 101}, {"message", "success"}, {"result", {{"result_json", named}}}};
	const json one_hit = {{"errorString", nullptr}, {"stgOneHitId", "1"}, {"responseJson", "passedReport"}, {"showHtmlReportForCreditReport", escaped(xml)}};
	const auto page = [&](const std::string &content) { return "<!DOCTYPE html>\n<html><head><script>var report = '" + content + "';</script></head><body>x</body></html>"; };
	const std::string script = replaced(replaced(xml, "/", "\\/"), "\"", "\\\"");
	return {
		{"XML", xml},
		{"XML with a declaration", "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n<!-- c -->" + xml + "\n"},
		{"vendor's envelope", vendor.dump()},
		{"the inside of it", vendor["result"].dump()},
		{"data.credit_report", json{{"status", "success"}, {"data", {{"credit_score", 1}, {"credit_report", report}}}}.dump()},
		{"data", json{{"statusCode", 200}, {"message", "bureau report extracted"}, {"data", report}}.dump()},
		{"escaped XML", one_hit.dump()},
		{"escaped XML in base64", json{{"experianProviderResponse", base64(one_hit.dump())}}.dump()},
		{"escaped twice", json{{"showHtmlReportForCreditReport", escaped(escaped(xml))}}.dump()},
		{"a page with the XML in a variable", page(xml)},
		{"a page in a string", json{{"showHtmlReportForCreditReport", page(script)}}.dump()},
		{"a page with escaped XML", page(escaped(xml))},
		{"a page with a script's escapes", page(replaced(script, "<", "\\u003c"))},
		{"base64 of XML", json{{"xml_report", base64(xml)}}.dump()},
		{"base64 of JSON, bare", base64(named.dump())},
		{"base64 in lines", "  " + replaced(base64(named.dump()), "A", "A\r\n")},
		{"SOAP with a default namespace", soap_start + "<processResponse xmlns=\"http://example.invalid\"><processReturn>" + xml + "</processReturn></processResponse>" + soap_end},
		{"SOAP with prefixes", soap_start + "<ns2:out>" + replaced(replaced(xml, "<", "<x:"), "<x:/", "</x:") + "</ns2:out>" + soap_end},
		{"SOAP with escaped text", soap_start + "<ns2:processResponse xmlns:ns2=\"urn:cbv2\"><ns2:out>" + escaped(xml) + "</ns2:out></ns2:processResponse>" + soap_end},
		{"SOAP with CDATA", soap_start + "<out><![CDATA[" + xml + "]]></out>" + soap_end},
		{"JSON in XML", "<string xmlns=\"http://example.invalid\">" + escaped(named.dump()) + "</string>"},
		{"a JSON string", quoted_times(named, 1)},
		{"a JSON string in a JSON string", quoted_times({{"result", json{{"result_json", named.dump()}}.dump()}}, 1)},
		{"eight strings", quoted_times(named, 8)},
		{"quotes with backslashes", replaced(named.dump(), "\"", "\\\"")},
		{"a list", json::array({named}).dump()},
		{"lower case", with_keys(named, lower_case).dump()},
		{"camel case", with_keys(named, camel_case).dump()},
		{"camel case, elsewhere", with_keys(json{{"india", {{"credit", report}}}}, camel_case).dump()},
		{"pretty", named.dump(4)},
		{"a byte order mark", "\xEF\xBB\xBF" + named.dump()},
		{"escaped characters", named.dump(-1, ' ', true)},
		{"no lists of one", without_single_lists(named).dump()},
		{"no lists of one, XML attributes", replaced(xml, "<Account_Number>", "<Account_Number source=\"x\">")},
		{"empties are text", with_empties(named, "").dump()},
		{"empties are lists", with_empties(named, json::array()).dump()},
		{"empties are objects", with_empties(named, json::object()).dump()},
	};
}

} // namespace

TEST("one report gives one reading, whatever it is wrapped in") {
	for (const char *file : samples) {
		const json report = report_of(file);
		const Reading plain = bureau::read_report(json{{"INProfileResponse", report}}.dump());
		check(!plain.tradelines.empty(), file);
		for (const auto &[wrapper, body] : wrapped(report)) {
			const Reading reading = bureau::read_report(body);
			check(reading == plain, std::string(file) + " as " + wrapper + ": " + report::outcome(reading) + " " + report::warnings(reading));
		}
	}
}

TEST("nine wraps are one too many") {
	const json named = {{"INProfileResponse", report_of("s01_baseline.json")}};
	check_equal(bureau::read_report(quoted_times(named, 9)).reason, "too_deep", "strings");
}

TEST("unknown fields change nothing, nor does the order of keys") {
	std::mt19937 random(1);
	for (const char *file : samples) {
		const json named = {{"INProfileResponse", report_of(file)}};
		const Reading plain = bureau::read_report(named.dump());
		const json more = with_unknown_fields(named);
		check(bureau::read_report(more.dump()) == plain, std::string(file) + " with unknown fields");
		check(bureau::read_report(xml_of(more["INProfileResponse"])) == plain, std::string(file) + " with unknown elements");
		for (int i = 0; i < 5; ++i)
			check(bureau::read_report(with_shuffled_keys(named, random).dump()) == plain, std::string(file) + " with its keys in another order");
	}
}

TEST("an answer in place of a report") {
	const auto outcome = [](const std::string &body) { return report::outcome(bureau::read_report(body)); };
	check_equal(outcome(R"({"result_code": 102, "message": "no record found", "result": null})"), "skipped no_hit", "102");
	check_equal(outcome(R"({"result_code": "102", "result": {}})"), "skipped no_hit", "102 as text, without words");
	check_equal(outcome(R"({"result_code": 102, "message": "Please call the Masked Mobile Report API with [60XXXXX001]"})"), "failed retry_masked_mobile", "102 of the other kind");
	check_equal(outcome(R"({"result_code": 103, "message": "Name not found for this mobile"})"), "skipped name_not_found", "no name");
	for (const int code : {400, 401, 422, 451, 500, 503})
		check_equal(outcome(R"({"http_response_code": )" + std::to_string(code) + R"(, "result_code": null, "message": "source error", "result": null})"), "failed vendor_error", std::to_string(code));
	check_equal(outcome(R"({"statusCode": 500, "message": "x", "data": null})"), "failed vendor_error", "statusCode");
	check_equal(outcome(R"({"success": false, "data": null})"), "failed vendor_error", "success");
	check_equal(outcome(R"({"status": "failed", "message": "No Record Found"})"), "skipped no_hit", "only the message says it");
	check_equal(outcome(R"json({"errorString": "SYS100004 (No record found)", "showHtmlReportForCreditReport": null})json"), "skipped no_hit", "errorString");
	check_equal(outcome(R"({"errorString": "session expired"})"), "failed vendor_error", "another errorString");
	check_equal(outcome(soap_start + "<s:Fault><faultcode>s:Server</faultcode><faultstring>x</faultstring></s:Fault>" + soap_end), "failed vendor_error", "SOAP fault");
	check_equal(outcome(R"({"result_code": 101, "result": {"result_json": "", "result_xml": "https://reports.example.invalid/r/1.xml?sig=0"}})"), "failed not_a_report", "only addresses");
	check_equal(outcome(R"json("{\"result_code\": 102, \"message\": \"no record found\"}")json"), "skipped no_hit", "inside a string");
	check_equal(outcome(R"({"result_code": 102, "message": "SYS100004", "result": {"result_json": {"INProfileResponse": {"Header": {"SystemCode": "0"}}}}})"), "skipped no_hit", "around an empty report");
	check_equal(outcome(R"({"result_code": 101, "result": {"result_json": "{\"INProfileResponse\": {\"Header\": {"}})"), "failed invalid_json", "a report cut off inside");
	check_equal(outcome(R"({"xml": "<INProfileResponse><SCORE><BureauScore>"})"), "failed invalid_xml", "XML cut off inside");
	check_equal(outcome(R"({"xml": "<!DOCTYPE x [<!ENTITY y SYSTEM 'file:///z'>]><INProfileResponse>&y;</INProfileResponse>"})"), "failed xml_doctype_forbidden", "a DOCTYPE inside");
}

int main() { return tap::run(); }
