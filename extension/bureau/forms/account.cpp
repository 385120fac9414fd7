#include "bureau/forms/account.hpp"

#include <algorithm>

#include "bureau/codes.hpp"
#include "bureau/syntax/escape.hpp"

namespace bureau::forms {

using syntax::Field;
using syntax::Members;

namespace {

constexpr int longest_tenure = 1200; // months
constexpr int most_days_past_due = 36500;
constexpr int first_year = 1900;
constexpr int last_year = 2199;

std::string without_blanks(std::string_view text) {
	std::string plain;
	plain.reserve(text.size());
	for (const char c : text)
		if (static_cast<unsigned char>(c) > ' ')
			plain += c;
	return plain;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The number a code is; none for words.
std::optional<int> code_number(std::string_view text) {
	constexpr int largest_code = 9999;
	if (text.empty() || !std::ranges::all_of(text, [](char c) { return is_digit(c) || c == '.'; }))
		return std::nullopt;
	return parse_count(text, largest_code).value;
}

std::string trimmed_code(std::string_view code) {
	const auto number = code_number(code);
	return number ? std::to_string(*number) : std::string(code);
}

} // namespace

std::string_view number_tail(std::string_view number) noexcept {
	constexpr std::size_t longest = 12;
	constexpr std::size_t shortest = 4;
	std::size_t first = number.size();
	while (first > 0 && number.size() - first < longest && is_digit(number[first - 1]))
		--first;
	number.remove_prefix(first);
	number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
	return number.size() < shortest ? std::string_view() : number;
}

std::string plain_name(std::string_view text) {
	constexpr int most_times = 3;
	std::string plain(text);
	bool replaced = false;
	for (int times = 0; times < most_times && plain.find('&') != std::string::npos; ++times)
		plain = syntax::unescape_entities(plain, replaced);
	return plain;
}

AccountReader::Text AccountReader::text_at(const Members &account, const Places &places) {
	for (const Field field : places) {
		if (field == Field::unknown)
			break;
		if (const std::string_view text = account.text(field); !text.empty())
			return {text, field};
	}
	return {};
}

std::optional<Date> AccountReader::date(std::string_view text, Field field) {
	const Parsed<Date> date = parse_date(text, order_);
	if (date.unreadable)
		warnings_.add(WarningCode::date_unparsed, field);
	return date.value;
}

std::optional<Date> AccountReader::date_at(const Members &account, const Places &places) {
	const Text at = text_at(account, places);
	return date(at.text, at.field);
}

std::optional<Paise> AccountReader::amount(std::string_view text, Field field) {
	const Parsed<Paise> amount = parse_amount(text);
	if (amount.unreadable)
		warnings_.add(WarningCode::amount_unparsed, field);
	return amount.value;
}

std::optional<Paise> AccountReader::amount_at(const Members &account, const Places &places) {
	const Text at = text_at(account, places);
	return amount(at.text, at.field);
}

std::optional<int> AccountReader::count(std::string_view text, Field field, int largest) {
	const Parsed<int> count = parse_count(text, largest);
	if (count.unreadable)
		warnings_.add(WarningCode::amount_unparsed, field);
	return count.value;
}

std::optional<int> AccountReader::days_past_due(std::string_view text, Field field) { return count(text, field, most_days_past_due); }

std::optional<int> AccountReader::months(std::string_view text, Field field) {
	const auto months = count(text, field, longest_tenure);
	return months && *months > 0 ? months : std::nullopt;
}

void AccountReader::add_month(std::string_view year, Field year_field, std::string_view month, Field month_field, std::optional<int> dpd,
	Tradeline &tradeline) {
	const auto y = count(year, year_field, last_year);
	const auto m = count(month, month_field, 12);
	if (y && *y >= first_year && m && *m >= 1)
		tradeline.history.push_back({static_cast<std::int16_t>(*y), static_cast<std::int8_t>(*m), dpd});
}

void AccountReader::read(const Members &account, const ReportedStatus &status, Field status_field, Tradeline &tradeline) {
	read_lender(account, tradeline);
	tradeline.account_number = without_blanks(text_at(account, places_.number).text);
	tradeline.number_tail = number_tail(tradeline.account_number);
	read_type(account, tradeline);
	const Text holder = text_at(account, places_.holder);
	read_holder(holder.text, holder.field, tradeline);
	tradeline.opened = date_at(account, places_.opened);
	tradeline.closed = date_at(account, places_.closed);
	tradeline.reported = date_at(account, places_.reported);
	tradeline.last_payment = date_at(account, places_.last_payment);
	tradeline.sanctioned = amount_at(account, places_.sanctioned);
	tradeline.balance = amount_at(account, places_.balance);
	tradeline.past_due = amount_at(account, places_.past_due);
	tradeline.emi = amount_at(account, places_.emi);
	tradeline.written_off = amount_at(account, places_.written_off);
	read_terms(account, tradeline);
	read_status(account, status, status_field, tradeline);
	const bool ended = tradeline.status == StatusClass::closed || tradeline.status == StatusClass::over;
	if (tradeline.lender_masked && !ended) // of an ended loan nobody needs the lender
		warnings_.add(WarningCode::lender_masked, text_at(account, places_.lender).field);
}

void AccountReader::read_lender(const Members &account, Tradeline &tradeline) {
	const Text at = text_at(account, places_.lender);
	if (at.text.empty())
		return;
	const auto [known, is_new] = lenders_.try_emplace(at.text);
	if (is_new)
		known->second = bureau::read_lender(plain_name(at.text));
	const Lender &lender = known->second;
	tradeline.lender = lender.name;
	tradeline.lender_family = lender.family;
	tradeline.lender_masked = lender.masked;
}

void AccountReader::read_type(const Members &account, Tradeline &tradeline) {
	const Text at = text_at(account, places_.type);
	if (at.text.empty())
		return;
	const auto number = code_number(at.text);
	const auto code = number ? number : account_type_of(plain_name(at.text));
	if (code && find_account_type(*code))
		tradeline.account_type = code;
	else
		warnings_.add(WarningCode::account_type_unknown, at.field);
}

void AccountReader::read_holder(std::string_view text, Field field, Tradeline &tradeline) {
	if (text.empty())
		return;
	tradeline.holder = holder_of(bureau_, text);
	if (tradeline.holder == Holder::unknown)
		warnings_.add(WarningCode::holder_unknown, field);
}

void AccountReader::read_terms(const Members &account, Tradeline &tradeline) {
	const Text rate_at = text_at(account, places_.rate);
	const Parsed<int> rate = parse_rate(rate_at.text);
	if (rate.unreadable)
		warnings_.add(WarningCode::amount_unparsed, rate_at.field);
	tradeline.rate_basis_points = rate.value;
	const Text tenure_at = text_at(account, places_.tenure);
	tradeline.tenure_months = months(tenure_at.text, tenure_at.field);
}

void AccountReader::read_status(const Members &account, const ReportedStatus &reported, Field field, Tradeline &tradeline) {
	tradeline.status_code = trimmed_code(reported.code);
	StatusClass status = reported.status.value_or(StatusClass::active);
	if (reported.missing) {
		warnings_.add(WarningCode::status_missing, field);
		status = StatusClass::unknown;
	} else if (!reported.status) {
		warnings_.add(WarningCode::status_unknown, field);
	}
	// No suit filed: alive if something is owed.
	if (status_number(tradeline.status_code) == 0 && !tradeline.closed && tradeline.balance.value_or(0) <= 0)
		status = StatusClass::unknown;
	if (tradeline.closed && status != StatusClass::over && status != StatusClass::closed) {
		if (status == StatusClass::active && !reported.by_closing_day && reported.status && status_number(tradeline.status_code) != 0)
			warnings_.add(WarningCode::active_status_but_date_closed, field);
		status = StatusClass::closed;
	}
	tradeline.status = effect_of_flags(account, status);
}

// A flag makes an active account adverse or over, and changes no other.
StatusClass AccountReader::effect_of_flags(const Members &account, StatusClass status) const {
	if (status != StatusClass::active)
		return status;
	const auto effect = [&](const Places &places, const AccountFlag *(*find)(int) noexcept) -> std::optional<StatusClass> {
		const std::string_view text = text_at(account, places).text;
		const auto code = code_number(text);
		if (!code)
			return text.empty() ? std::nullopt : status_of(text);
		const AccountFlag *flag = find(*code);
		return flag ? flag->effect : std::nullopt;
	};
	if (const auto written_off = effect(places_.written_off_settled, find_written_off_settled))
		return *written_off;
	return effect(places_.suit_filed, find_suit_filed).value_or(status);
}

void AccountReader::finish_history(Tradeline &tradeline) {
	auto &history = tradeline.history;
	const auto newer = [](const HistoryMonth &a, const HistoryMonth &b) { return a.year != b.year ? a.year > b.year : a.month > b.month; };
	const auto misplaced = [&](const HistoryMonth &a, const HistoryMonth &b) { return !newer(a, b); };
	if (std::ranges::adjacent_find(history, misplaced) != history.end()) {
		std::ranges::sort(history, [&](const HistoryMonth &a, const HistoryMonth &b) {
			return newer(a, b) || (!newer(b, a) && a.dpd > b.dpd);
		});
		const auto same = [](const HistoryMonth &a, const HistoryMonth &b) { return a.year == b.year && a.month == b.month; };
		history.erase(std::unique(history.begin(), history.end(), same), history.end());
	}
	if (!history.empty())
		tradeline.dpd = history.front().dpd;
}

} // namespace bureau::forms
