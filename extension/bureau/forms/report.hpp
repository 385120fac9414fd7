#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>

#include "bureau/forms/value.hpp"
#include "bureau/forms/warnings.hpp"
#include "bureau/reading.hpp"
#include "bureau/syntax/document.hpp"

namespace bureau::forms {

// What a form's reader finds out about a report; of each fact the first that is readable counts.
class Report {
public:
	explicit Report(Bureau bureau) { reading.bureau = bureau; }

	void offer_name(std::initializer_list<std::string_view> parts);
	void offer_pan(std::string_view text, syntax::Field field);
	void offer_mobile(std::string_view text);
	void offer_score(std::string_view text);
	void offer_day(std::string_view text, syntax::Field field, DateOrder order);
	void offer_time(std::string_view text);
	void announce_accounts(std::string_view text);

	// A tradeline to be filled in, or none if this is no account; blank entries do not count and were left out before.
	Tradeline *add_tradeline(syntax::View account);

	Reading reading;
	Warnings warnings;
	std::optional<Date> day;      // of the report, in India
	std::optional<int> time;      // seconds since midnight, in India
	std::optional<int> announced; // the number of accounts by its own summary
	bool no_record = false;       // says that the bureau does not know the borrower; counts if there are no accounts
};

// Each reads one form of report. report: the object found by syntax::find_root.
void read_experian(syntax::View report, Report &to);
void read_cibil(syntax::View report, Report &to);
void read_true_link(syntax::View report, Report &to);
void read_equifax(syntax::View report, Report &to);
void read_crif(syntax::View report, Report &to);

} // namespace bureau::forms
