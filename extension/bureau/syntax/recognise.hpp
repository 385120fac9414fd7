#pragma once

#include <optional>
#include <string_view>

#include "bureau/syntax/document.hpp"

namespace bureau::syntax {

enum class Form : std::uint8_t { experian, cibil, true_link, equifax, crif };

// The object that holds a report, and how to read it.
struct Root {
	Form form;
	View report;
};

// Looks for a report among the objects of one text, from outside to inside. Of members with equal names the last counts.
std::optional<Root> find_root(View value);

// What a vendor says in place of a report. Only the last two are final answers about the borrower.
enum class Verdict : std::uint8_t { none, vendor_error, retry_masked_mobile, no_hit, name_not_found };

// From the envelope of a text that holds no report.
Verdict read_verdict(View value);

// A vendor's words for: this borrower is not known here.
bool says_no_record(std::string_view text);

} // namespace bureau::syntax
