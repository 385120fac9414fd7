#include "bureau/codes.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "bureau/fold.hpp"

namespace bureau {

namespace {

constexpr auto holders = std::to_array<HolderCode>({
	{Bureau::experian, "1", Holder::individual, Source::vendor},
	{Bureau::experian, "2", Holder::joint, Source::vendor, "one parser uses CIBIL's numbering"},
	{Bureau::experian, "3", Holder::authorised_user, Source::vendor, "one parser uses CIBIL's numbering"},
	{Bureau::experian, "7", Holder::guarantor, Source::vendor},
	{Bureau::experian, "20", Holder::deceased, Source::public_code},
	{Bureau::experian, "Z", Holder::deceased, Source::vendor},
	{Bureau::cibil, "1", Holder::individual, Source::vendor},
	{Bureau::cibil, "2", Holder::authorised_user, Source::vendor},
	{Bureau::cibil, "3", Holder::guarantor, Source::vendor},
	{Bureau::cibil, "4", Holder::joint, Source::vendor},
	{Bureau::cibil, "5", Holder::deceased, Source::vendor},
	{Bureau::cibil, "INDIVIDUAL", Holder::individual, Source::report_data},
	{Bureau::cibil, "INDIVIDUALACCOUNT", Holder::individual, Source::general},
	{Bureau::cibil, "JOINT", Holder::joint, Source::general},
	{Bureau::cibil, "JOINTACCOUNT", Holder::joint, Source::general},
	{Bureau::cibil, "AUTHORISEDUSER", Holder::authorised_user, Source::general},
	{Bureau::cibil, "AUTHORIZEDUSER", Holder::authorised_user, Source::general},
	{Bureau::cibil, "GUARANTOR", Holder::guarantor, Source::general},
	{Bureau::cibil, "DECEASED", Holder::deceased, Source::general},
	{Bureau::equifax, "INDIVIDUAL", Holder::individual, Source::report_data},
	{Bureau::equifax, "INDIVIDUALACCOUNT", Holder::individual, Source::general},
	{Bureau::equifax, "JOINT", Holder::joint, Source::general},
	{Bureau::equifax, "JOINTACCOUNT", Holder::joint, Source::report_data},
	{Bureau::equifax, "AUTHORISEDUSER", Holder::authorised_user, Source::general},
	{Bureau::equifax, "AUTHORIZEDUSER", Holder::authorised_user, Source::general},
	{Bureau::equifax, "GUARANTOR", Holder::guarantor, Source::general},
	{Bureau::equifax, "DECEASED", Holder::deceased, Source::general},
	{Bureau::crif, "INDIVIDUAL", Holder::individual, Source::report_data},
	{Bureau::crif, "PRIMARY", Holder::individual, Source::general},
	{Bureau::crif, "JOINT", Holder::joint, Source::report_data},
	{Bureau::crif, "SUPPLCARDHOLDER", Holder::authorised_user, Source::general},
	{Bureau::crif, "SUPLCARDHOLDER", Holder::authorised_user, Source::general},
	{Bureau::crif, "AUTHORISEDUSER", Holder::authorised_user, Source::general},
	{Bureau::crif, "AUTHORIZEDUSER", Holder::authorised_user, Source::general},
	{Bureau::crif, "GUARANTOR", Holder::guarantor, Source::report_data},
	{Bureau::crif, "DECEASED", Holder::deceased, Source::general},
});

// Effects follow the class of the account status of the same name: adverse sets differ in public code, from three codes to all.
constexpr auto written_off_settled = std::to_array<AccountFlag>({
	{0, "Restructured", std::nullopt, Source::vendor, "also on live and on plain suit-filed accounts, so it says nothing"},
	{1, "Restructured (government mandated)", StatusClass::open_adverse, Source::vendor},
	{2, "Written off", StatusClass::open_adverse, Source::vendor},
	{3, "Settled", StatusClass::over, Source::vendor},
	{4, "Settled after write-off", StatusClass::over, Source::vendor},
	{5, "Account sold", StatusClass::over, Source::vendor},
	{6, "Written off and sold", StatusClass::over, Source::vendor},
	{7, "Account purchased", StatusClass::open_adverse, Source::vendor},
	{8, "Account purchased and written off", StatusClass::open_adverse, Source::vendor},
	{9, "Account purchased and settled", StatusClass::over, Source::vendor},
	{10, "Account purchased and restructured", StatusClass::open_adverse, Source::vendor},
	{11, "Restructured due to natural calamity", StatusClass::open_adverse, Source::vendor},
	{12, "Restructured due to COVID-19", StatusClass::open_adverse, Source::vendor},
	{13, "Closed after write-off", StatusClass::closed, Source::vendor},
	{14, "Restructured and closed", StatusClass::closed, Source::vendor},
	{15, "Auctioned and settled", StatusClass::over, Source::vendor},
	{16, "Repossessed and settled", StatusClass::over, Source::vendor},
	{17, "Guarantee invoked", StatusClass::open_adverse, Source::vendor},
	{99, "Clear", std::nullopt, Source::vendor},
});

constexpr auto suit_filed = std::to_array<AccountFlag>({
	{0, "None", std::nullopt, Source::vendor},
	{1, "Suit filed", StatusClass::open_adverse, Source::vendor},
	{2, "Wilful default", StatusClass::open_adverse, Source::vendor},
	{3, "Suit filed (wilful default)", StatusClass::open_adverse, Source::vendor},
});

static_assert(std::ranges::is_sorted(written_off_settled, {}, &AccountFlag::code));
static_assert(std::ranges::is_sorted(suit_filed, {}, &AccountFlag::code));

template <class Row>
const Row *find_code(std::span<const Row> rows, int code) noexcept {
	const auto found = std::ranges::lower_bound(rows, code, {}, &Row::code);
	return found != rows.end() && found->code == code ? &*found : nullptr;
}

template <class Row>
const Row *find_text(std::span<const Row> rows, std::string_view key) noexcept {
	const auto found = std::ranges::lower_bound(rows, key, {}, &Row::text);
	return found != rows.end() && found->text == key ? &*found : nullptr;
}

// "02" and "2" are one code.
std::string_view without_leading_zeros(std::string_view key) {
	const std::size_t first = key.find_first_not_of('0');
	return first == std::string_view::npos ? key.substr(0, key.empty() ? 0 : 1) : key.substr(first);
}

} // namespace

std::span<const HolderCode> holder_codes() noexcept { return holders; }
std::span<const AccountFlag> written_off_settled_codes() noexcept { return written_off_settled; }
std::span<const AccountFlag> suit_filed_codes() noexcept { return suit_filed; }

const AccountType *find_account_type(int code) noexcept { return find_code(account_types(), code); }
const AccountStatus *find_account_status(int code) noexcept { return find_code(account_statuses(), code); }
const AccountFlag *find_written_off_settled(int code) noexcept { return find_code(written_off_settled_codes(), code); }
const AccountFlag *find_suit_filed(int code) noexcept { return find_code(suit_filed_codes(), code); }

std::optional<int> status_number(std::string_view code) noexcept {
	int number = 0;
	const auto [end, error] = std::from_chars(code.data(), code.data() + code.size(), number);
	return error == std::errc{} && end == code.data() + code.size() ? std::optional(number) : std::nullopt;
}

std::optional<int> account_type_of(std::string_view text) {
	const auto *row = find_text(account_type_texts(), letters_and_digits(text));
	return row ? std::optional(row->code) : std::nullopt;
}

std::optional<StatusClass> status_of(std::string_view text) {
	const auto *row = find_text(status_texts(), letters_and_digits(text));
	return row ? std::optional(row->status) : std::nullopt;
}

Holder holder_of(Bureau bureau, std::string_view text) {
	const std::string key = letters_and_digits(text);
	const std::string_view code = without_leading_zeros(key);
	const auto found = std::ranges::find_if(holders, [&](const HolderCode &row) { return row.bureau == bureau && row.code == code; });
	return found == holders.end() ? Holder::unknown : found->holder;
}

LoanClass loan_class(std::optional<int> account_type) noexcept {
	const AccountType *type = account_type ? find_account_type(*account_type) : nullptr;
	return type ? type->loan_class : LoanClass::other;
}

std::string_view to_text(Bureau bureau) noexcept {
	switch (bureau) {
	case Bureau::experian: return "experian";
	case Bureau::cibil: return "cibil";
	case Bureau::equifax: return "equifax";
	case Bureau::crif: return "crif";
	}
	return {};
}

std::string_view to_text(Outcome outcome) noexcept {
	switch (outcome) {
	case Outcome::ok: return "ok";
	case Outcome::skipped: return "skipped";
	case Outcome::failed: return "failed";
	}
	return {};
}

std::string_view to_text(StatusClass status) noexcept {
	switch (status) {
	case StatusClass::active: return "active";
	case StatusClass::closed: return "closed";
	case StatusClass::over: return "over";
	case StatusClass::open_adverse: return "open_adverse";
	case StatusClass::unknown: return "unknown";
	}
	return {};
}

std::string_view to_text(Holder holder) noexcept {
	switch (holder) {
	case Holder::individual: return "individual";
	case Holder::joint: return "joint";
	case Holder::authorised_user: return "authorised_user";
	case Holder::guarantor: return "guarantor";
	case Holder::deceased: return "deceased";
	case Holder::unknown: return "unknown";
	}
	return {};
}

std::string_view to_text(LoanClass loan_class) noexcept {
	constexpr auto words = std::to_array<std::string_view>({"housing", "property", "vehicle", "personal", "consumer", "gold", "education", "card",
		"overdraft", "business", "agriculture", "microfinance", "deposit", "telecom", "other"});
	return words[static_cast<std::size_t>(loan_class)];
}

std::string_view to_text(Source source) noexcept {
	switch (source) {
	case Source::vendor: return "vendor";
	case Source::report_data: return "report_data";
	case Source::public_code: return "public_code";
	case Source::general: return "general";
	}
	return {};
}

} // namespace bureau
