#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "bureau/reading.hpp"

namespace bureau {

// The bureaus' code tables, each in one place. Numeric codes carry no leading zeros.

// How well an entry is known.
enum class Source : std::uint8_t {
	vendor,      // a vendor's document
	report_data, // seen in report-shaped data
	public_code, // seen in public parsers
	general      // general knowledge, unconfirmed
};

// What kind of debt an account type is. Accounts of two bureaus can only be the same loan if this agrees.
enum class LoanClass : std::uint8_t {
	housing, property, vehicle, personal, consumer, gold, education, card, overdraft, business, agriculture, microfinance, deposit, telecom, other
};

struct AccountType {
	int code; // Experian's two-digit master, which the other bureaus share or are mapped to
	std::string_view name;
	LoanClass loan_class;
	Source source;
	std::string_view disagreement = {}; // how public code reads it otherwise
};

struct AccountStatus {
	int code;
	std::string_view name;
	StatusClass status; // of an account with no closing day and no adverse flags; 0 also needs a balance
	Source source;
	std::string_view disagreement = {};
	int days_past_due = 0; // at least; a heritage of Metro 2, general knowledge
};

struct HolderCode {
	Bureau bureau;
	std::string_view code; // letters_and_digits of what the bureau writes
	Holder holder;
	Source source;
	std::string_view disagreement = {};
};

// The name a bureau writes instead of an account type or a status; text is letters_and_digits of it.
struct AccountTypeText {
	std::string_view text;
	int code;
};

struct StatusText {
	std::string_view text;
	StatusClass status;
};

// A flag beside the status. effect: what it makes of an account whose status is active; none if it changes nothing.
struct AccountFlag {
	int code;
	std::string_view name;
	std::optional<StatusClass> effect;
	Source source;
	std::string_view disagreement = {};
};

// A code that is only ever shown.
struct Code {
	std::string_view list;
	std::string_view code;
	std::string_view name;
	Source source;
	std::string_view disagreement = {};
};

std::span<const AccountType> account_types() noexcept;
std::span<const AccountStatus> account_statuses() noexcept;
std::span<const HolderCode> holder_codes() noexcept;
std::span<const AccountTypeText> account_type_texts() noexcept;
std::span<const StatusText> status_texts() noexcept;
std::span<const AccountFlag> written_off_settled_codes() noexcept; // Written_off_Settled_Status
std::span<const AccountFlag> suit_filed_codes() noexcept;          // SuitFiled_WilfulDefault
// state, gender, address, employment, lender_prefix, portfolio_type, payment_rating, asset_classification, terms_frequency,
// enquiry_reason, finance_purpose, collateral, write_off_flag, bulk_account_type
std::span<const Code> other_codes() noexcept;

// Null if the code is in no list.
const AccountType *find_account_type(int code) noexcept;
const AccountStatus *find_account_status(int code) noexcept;
const AccountFlag *find_written_off_settled(int code) noexcept;
const AccountFlag *find_suit_filed(int code) noexcept;

// The number a status code is; none for words or for no code.
std::optional<int> status_number(std::string_view code) noexcept;

// From the words of Equifax, CRIF or the CIBIL consumer report, in any case and spacing; none if not known.
std::optional<int> account_type_of(std::string_view text);
std::optional<StatusClass> status_of(std::string_view text);
// From a code or words of this bureau.
Holder holder_of(Bureau bureau, std::string_view text);

LoanClass loan_class(std::optional<int> account_type) noexcept;

// The words under which SQL shows these.
std::string_view to_text(Bureau bureau) noexcept;
std::string_view to_text(Outcome outcome) noexcept;
std::string_view to_text(StatusClass status) noexcept;
std::string_view to_text(Holder holder) noexcept;
std::string_view to_text(LoanClass loan_class) noexcept;
std::string_view to_text(Source source) noexcept;

} // namespace bureau
