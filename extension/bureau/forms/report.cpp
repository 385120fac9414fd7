#include "bureau/forms/report.hpp"

#include <algorithm>

#include "bureau/fold.hpp"
#include "bureau/forms/account.hpp"
#include "bureau/mobile.hpp"

namespace bureau::forms {

namespace {

constexpr int lowest_score = 300;
constexpr int highest_score = 900;
constexpr int most_accounts = 1'000'000;

bool is_pan(std::string_view text) {
	constexpr std::string_view form = "AAAAA9999A";
	return std::ranges::equal(text, form, [](char c, char kind) { return kind == 'A' ? c >= 'A' && c <= 'Z' : c >= '0' && c <= '9'; });
}

// A masked letter is an X, which a PAN may hold too, but not as all of its first five.
bool is_masked_pan(std::string_view text) { return text.starts_with("XXXXX") || text.find('*') != std::string_view::npos; }

} // namespace

void Report::offer_name(std::initializer_list<std::string_view> parts) {
	if (!reading.name.empty())
		return;
	std::string whole;
	for (const std::string_view part : parts) {
		whole += part;
		whole += ' ';
	}
	reading.name = fold(plain_name(whole));
}

void Report::offer_pan(std::string_view text, syntax::Field field) {
	if (text.empty() || !reading.pan.empty())
		return;
	std::string pan = fold(text);
	if (is_masked_pan(pan))
		return;
	if (is_pan(pan))
		reading.pan = std::move(pan);
	else
		warnings.add(WarningCode::pan_unparsed, field);
}

void Report::offer_mobile(std::string_view text) {
	if (reading.mobile.empty() && !text.empty())
		reading.mobile = mobile_number(text);
}

void Report::offer_score(std::string_view text) {
	if (reading.score)
		return;
	const auto score = parse_count(text, highest_score).value;
	if (score && *score >= lowest_score)
		reading.score = score;
}

void Report::offer_day(std::string_view text, syntax::Field field, DateOrder order) {
	if (day || text.empty())
		return;
	const Parsed<Date> date = parse_date(text, order);
	if (date.unreadable)
		warnings.add(WarningCode::date_unparsed, field);
	day = date.value;
	const std::size_t behind = text.find_first_of(" T");
	if (behind != std::string_view::npos)
		offer_time(text.substr(behind + 1, 8));
}

void Report::offer_time(std::string_view text) {
	if (!time)
		time = parse_time(text);
}

void Report::announce_accounts(std::string_view text) {
	const auto count = parse_count(text, most_accounts).value;
	if (count)
		announced = announced.value_or(0) + *count;
}

Tradeline *Report::add_tradeline(syntax::View account) {
	if (!account.is(syntax::Kind::object)) {
		warnings.add(WarningCode::account_unreadable, account.field());
		return nullptr;
	}
	Tradeline &tradeline = reading.tradelines.emplace_back();
	tradeline.position = static_cast<int>(reading.tradelines.size());
	return &tradeline;
}

} // namespace bureau::forms
