#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "bureau/forms/value.hpp"
#include "bureau/forms/warnings.hpp"
#include "bureau/lender.hpp"
#include "bureau/reading.hpp"
#include "bureau/syntax/document.hpp"

namespace bureau::forms {

// Where a bureau writes something: the first of these fields that is not blank.
using Places = std::array<syntax::Field, 3>;

// Where a bureau writes what a tradeline says.
struct AccountPlaces {
	Places lender{}, number{}, type{}, holder{};
	Places opened{}, closed{}, reported{}, last_payment{};
	Places sanctioned{}, balance{}, past_due{}, emi{}, written_off{};
	Places rate{}, tenure{};
	Places written_off_settled{}, suit_filed{};
};

// What an account's status is before closing day and flags are looked at; none if the report does not say.
struct ReportedStatus {
	std::string_view code = {};        // as reported
	std::optional<StatusClass> status = {}; // none: missing, or a code that is in no table
	bool missing = false;
	bool by_closing_day = false;       // the bureau has no status but the closing day: that they differ is no contradiction
};

// Reads the accounts of one report.
class AccountReader {
public:
	AccountReader(Bureau bureau, DateOrder order, const AccountPlaces &places, Warnings &warnings)
		: bureau_(bureau), order_(order), places_(places), warnings_(warnings) {}

	// Everything but the history.
	void read(const syntax::Members &account, const ReportedStatus &status, syntax::Field status_field, Tradeline &tradeline);

	// For a bureau that keeps these elsewhere.
	void read_holder(std::string_view text, syntax::Field field, Tradeline &tradeline);
	std::optional<Paise> amount(std::string_view text, syntax::Field field);
	std::optional<Date> date(std::string_view text, syntax::Field field);
	void add_month(std::string_view year, syntax::Field year_field, std::string_view month, syntax::Field month_field, std::optional<int> dpd,
		Tradeline &tradeline);
	// A length of time in months; none if it is 0, which means unknown.
	std::optional<int> months(std::string_view text, syntax::Field field);
	// Days past due in a month; none if the bureau does not say.
	std::optional<int> days_past_due(std::string_view text, syntax::Field field);

	// The newest first, one entry a month; of two entries for a month the one with more days past due counts.
	static void finish_history(Tradeline &tradeline);

private:
	struct Text {
		std::string_view text;
		syntax::Field field = syntax::Field::unknown;
	};
	static Text text_at(const syntax::Members &account, const Places &places);

	std::optional<int> count(std::string_view text, syntax::Field field, int largest);
	std::optional<Date> date_at(const syntax::Members &account, const Places &places);
	std::optional<Paise> amount_at(const syntax::Members &account, const Places &places);
	void read_lender(const syntax::Members &account, Tradeline &tradeline);
	void read_type(const syntax::Members &account, Tradeline &tradeline);
	void read_terms(const syntax::Members &account, Tradeline &tradeline);
	void read_status(const syntax::Members &account, const ReportedStatus &status, syntax::Field field, Tradeline &tradeline);
	StatusClass effect_of_flags(const syntax::Members &account, StatusClass status) const;

	Bureau bureau_;
	DateOrder order_;
	const AccountPlaces &places_;
	Warnings &warnings_;
	std::unordered_map<std::string_view, Lender> lenders_;
};

// The digits at the end that no mask covers, at most 12 and without leading zeros; empty if fewer than 4 remain.
std::string_view number_tail(std::string_view number) noexcept;

// Text with its character references resolved, for names that went through too many systems.
std::string plain_name(std::string_view text);

} // namespace bureau::forms
