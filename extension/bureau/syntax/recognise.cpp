#include "bureau/syntax/recognise.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

namespace bureau::syntax {

namespace {

bool holds(const Members &members, Field field) { return members[field].is_container() && !members[field].blank(); }

std::optional<Root> crif_root(View object, const Members &members) {
	for (const Field field : {Field::b2c_report, Field::indv_report})
		if (holds(members, field))
			return Root{Form::crif, members[field]};
	const bool responses = holds(members, Field::responses) && (holds(members, Field::scores) || holds(members, Field::accounts_summary) ||
		members[Field::responses].child(Field::response).is_container());
	if (holds(members, Field::standard_data) || responses)
		return Root{Form::crif, object};
	return std::nullopt;
}

// An object that is a report, or whose member is one. Not inlined: its table of members must not lie on the stack of the recursion.
[[gnu::noinline]] std::optional<Root> root_here(View object) {
	const Members members(object);
	if (holds(members, Field::in_profile_response))
		return Root{Form::experian, members[Field::in_profile_response]};
	for (const Field field : {Field::consumer_credit_data, Field::tuef_header})
		if (holds(members, field))
			return Root{Form::cibil, object};
	for (const Field field : {Field::true_link_credit_report, Field::trade_line_partition})
		if (holds(members, field))
			return Root{Form::true_link, object};
	for (const Field field : {Field::ccr_response, Field::cir_report_data_list, Field::cir_report_data, Field::retail_account_details})
		if (holds(members, field))
			return Root{Form::equifax, object};
	if (const auto root = crif_root(object, members))
		return root;
	for (const Field field : {Field::cais_account, Field::cais_account_details, Field::credit_profile_header, Field::user_message})
		if (holds(members, field))
			return Root{Form::experian, object};
	return std::nullopt;
}

bool contains_any(std::string_view text, std::initializer_list<std::string_view> words) {
	return std::ranges::any_of(words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

std::string lower_case(std::string_view text) {
	constexpr std::size_t longest_message = 1000;
	std::string lower(text.substr(0, longest_message));
	for (char &c : lower)
		c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
	return lower;
}

// 0 if it is no small number.
int number(std::string_view text) {
	int value = 0;
	const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
	return error == std::errc() && end == text.data() + text.size() ? value : 0;
}

constexpr int code_found = 101;
constexpr int code_none = 102; // also "ask again with this masked mobile": the message tells
constexpr int http_error = 400;

struct Envelope {
	int result = 0;
	int http = 0;
	bool refused = false;
	std::string said;

	[[gnu::noinline]] void read(View object) {
		const Members members(object);
		const auto set = [&](int &to, Field field) {
			if (to == 0)
				to = number(members.text(field));
		};
		set(result, Field::result_code);
		for (const Field field : {Field::http_response_code, Field::status_code, Field::status})
			set(http, field);
		for (const Field field : {Field::message, Field::error_string, Field::error, Field::error_desc, Field::user_message_text})
			say(members.text(field));
		const std::string status = lower_case(members.text(Field::status));
		refused = refused || members[Field::fault] || members.text(Field::success) == "false" || status == "error" || status.starts_with("fail") ||
			!members.text(Field::error_string).empty() || !members[Field::error].blank();
	}

	void say(std::string_view text) {
		constexpr std::size_t enough = 4000;
		if (!text.empty() && said.size() < enough)
			said += lower_case(text) + '\n';
	}

	Verdict verdict() const {
		if (said.find("masked mobile") != std::string::npos)
			return Verdict::retry_masked_mobile;
		if (contains_any(said, {"name not found", "name is not found"}))
			return Verdict::name_not_found;
		if (result == code_none || says_no_record(said))
			return Verdict::no_hit;
		const bool unknown_result = result != 0 && result != code_found && result != 200;
		return http >= http_error || unknown_result || refused ? Verdict::vendor_error : Verdict::none;
	}
};

void read_envelopes(View value, Envelope &envelope) {
	if (value.is(Kind::object))
		envelope.read(value);
	value.each_member([&](View member) {
		if (member.is_container())
			read_envelopes(member, envelope);
	});
}

} // namespace

std::optional<Root> find_root(View value) {
	std::optional<Root> root;
	if (value.is(Kind::object))
		root = root_here(value);
	if (root)
		return root;
	const bool first = value.is(Kind::array);
	value.each_member([&](View member) {
		if (member.is_container() && !(root && first))
			if (const auto found = find_root(member))
				root = found;
	});
	return root;
}

Verdict read_verdict(View value) {
	Envelope envelope;
	read_envelopes(value, envelope);
	return envelope.verdict();
}

bool says_no_record(std::string_view text) {
	// SYS100005 is taken for the same by one of two public readers; without an account in the report it says nothing else.
	return contains_any(lower_case(text), {"sys100004", "sys100005", "no record", "record not found", "no hit", "no-hit", "no data found",
		"consumer not found", "not found in bureau"});
}

} // namespace bureau::syntax
