#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bureau/date.hpp"

namespace bureau {

// Amounts are whole paise (1/100 rupee); SQL sees them as numeric rupees.
using Paise = std::int64_t;

enum class Bureau : std::uint8_t { experian, cibil, equifax, crif };

// How the reading of one body ended.
enum class Outcome : std::uint8_t {
	ok,      // at least one active home loan of the borrower's own with something outstanding
	skipped, // a valid report with nothing to transfer: see reason
	failed   // not a usable report: see reason
};

// Classes of the status code master; `unknown` never fires a balance transfer.
enum class StatusClass : std::uint8_t { active, closed, over, open_adverse, unknown };

enum class Holder : std::uint8_t { individual, joint, authorised_user, guarantor, deceased, unknown };

// What could not be read, or contradicts itself. field: the report's own field name; never a value from the body.
struct Warning {
	std::string code;
	std::string field;

	bool operator==(const Warning &) const = default;
};

// One month of a tradeline's history. dpd: days past due; absent where the bureau gives none.
struct HistoryMonth {
	std::int16_t year = 0;
	std::int8_t month = 0;
	std::optional<int> dpd;

	bool operator==(const HistoryMonth &) const = default;
};

// One account as one bureau reports it. Text is valid UTF-8 without NUL.
struct Tradeline {
	int position = 0;                   // in the report, from 1
	std::string lender;                 // normalised name; empty when masked or absent
	std::string lender_family;          // lender after mergers and renames; empty when lender is
	bool lender_masked = false;
	std::string account_number;         // as reported, blanks removed
	std::string number_tail;            // the unmasked last digits (at most 12, leading zeros dropped); empty if fewer than 4
	std::optional<int> account_type;    // Experian's two-digit master; other bureaus are mapped to it
	std::string status_code;            // as reported, blanks and leading zeros trimmed
	StatusClass status = StatusClass::unknown;
	Holder holder = Holder::unknown;
	std::optional<Date> opened;
	std::optional<Date> closed;
	std::optional<Date> reported;       // the bureau's as-of day for this account
	std::optional<Date> last_payment;
	std::optional<Paise> sanctioned;
	std::optional<Paise> balance;       // signed: a credit balance is negative
	std::optional<Paise> past_due;
	std::optional<Paise> emi;           // scheduled monthly payment
	std::optional<Paise> written_off;
	std::optional<int> rate_basis_points; // percent p.a. times 100; 9.15 % is 915
	std::optional<int> tenure_months;   // repayment tenure; 0 in the report means unknown
	std::optional<int> dpd;             // days past due now
	std::vector<HistoryMonth> history;  // newest first, one entry a month

	bool operator==(const Tradeline &) const = default;
};

// What one body says. On Outcome::failed only outcome, reason and warnings are set.
struct Reading {
	Outcome outcome = Outcome::failed;
	std::string reason;                 // empty for ok
	std::vector<Warning> warnings;      // each (code, field) once, in order of first appearance
	std::optional<Bureau> bureau;
	std::string report_number;
	std::optional<std::int64_t> report_unix_ms; // when the bureau made the report, UTC; report date and time are IST
	std::optional<int> score;           // 300 to 900
	std::string mobile;                 // ten digits; empty if none is readable
	std::string name;                   // upper case, single blanks
	std::string pan;                    // upper case; empty if absent
	bool complete = false;              // false: degraded (no score, or fewer accounts than its own summary announces)
	int loans = 0;                      // after removing duplicates inside the report
	std::vector<Tradeline> tradelines;  // as reported, duplicates inside the report included
	std::string semantic_text;          // canonical text of what makes two reports the same data; hashed by the caller

	bool operator==(const Reading &) const = default;
};

} // namespace bureau
