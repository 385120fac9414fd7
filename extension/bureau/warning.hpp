#pragma once

#include <cstdint>
#include <string_view>

namespace bureau {

// Everything a reading can warn of. The words are part of the public interface.
enum class WarningCode : std::uint8_t {
	account_type_unknown,          // in no table; the account is kept without a type
	account_unreadable,            // an entry of the list of accounts is no account
	active_status_but_date_closed, // the day counts, the account is closed
	amount_unparsed,               // a number or an amount of money that cannot be read; the field is null
	bad_unicode_replaced,          // no character, such as half of a pair or NUL; U+FFFD stands for it
	date_unparsed,                 // the field is null
	duplicate_tradeline,           // one loan is reported more than once
	holder_unknown,                // a holder's code that is in no table
	identity_mismatch,             // reports of one mobile number disagree on the PAN
	lender_masked,                 // a lender's name is withheld
	pan_unparsed,                  // not the form of a PAN; the field is empty
	score_missing,                 // accounts, but no score from 300 to 900
	status_missing,                // the account's status is unknown
	status_unknown,                // a status that is in no table; the account counts as active
	summary_mismatch,              // the report announces another number of accounts than it has
	tradeline_stale,               // an active home loan was last reported more than 12 months before the report
	count_                         // not a warning
};

inline constexpr int warning_count = static_cast<int>(WarningCode::count_);

std::string_view to_text(WarningCode code) noexcept;

} // namespace bureau
