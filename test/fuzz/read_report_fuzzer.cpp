#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include "bureau/forms/warnings.hpp"
#include "bureau/read_report.hpp"
#include "bureau/syntax/encoding.hpp"

// Whatever the bytes, reading them ends, and what comes out keeps its promises.

namespace {

void promise(bool kept, const char *what) {
	if (kept)
		return;
	std::cerr << "broken promise: " << what << '\n';
	std::abort();
}

bool is_text(const std::string &text) { return bureau::syntax::is_utf8(text) && text.find('\0') == std::string::npos; }

bool is_known_warning(const bureau::Warning &warning) {
	bool code = false;
	for (int at = 0; at < bureau::warning_count; ++at)
		code = code || warning.code == to_text(static_cast<bureau::WarningCode>(at));
	const auto field = bureau::syntax::find_field(warning.field);
	return code && bureau::syntax::field_name(field) == warning.field;
}

void check_tradeline(const bureau::Tradeline &t, int position) {
	promise(t.position == position, "positions count from one");
	promise(is_text(t.lender) && is_text(t.lender_family) && is_text(t.account_number) && is_text(t.status_code), "text is UTF-8 without NUL");
	promise(t.lender.empty() == t.lender_family.empty() && !(t.lender_masked && !t.lender.empty()), "a masked lender has no name");
	promise(t.number_tail.empty() || (t.number_tail.size() >= 4 && t.number_tail.size() <= 12), "a tail is 4 to 12 digits");
	for (const auto &day : {t.opened, t.closed, t.reported, t.last_payment})
		promise(!day || day->valid(), "days exist");
	promise(!t.tenure_months || *t.tenure_months > 0, "a tenure of 0 is unknown");
	for (std::size_t at = 1; at < t.history.size(); ++at) {
		const auto &newer = t.history[at - 1], &older = t.history[at];
		promise(newer.year * 12 + newer.month > older.year * 12 + older.month, "history runs from new to old");
	}
}

void check_reading(const bureau::Reading &reading) {
	for (const bureau::Warning &warning : reading.warnings)
		promise(is_known_warning(warning), "warnings come from a closed list");
	promise((reading.outcome == bureau::Outcome::ok) == reading.reason.empty(), "only ok has no reason");
	if (reading.outcome == bureau::Outcome::failed)
		promise(reading.tradelines.empty() && reading.semantic_text.empty() && !reading.bureau && !reading.score, "a failed reading says no more");
	promise(!reading.score || (*reading.score >= 300 && *reading.score <= 900), "scores lie between 300 and 900");
	promise(reading.mobile.empty() || reading.mobile.size() == 10, "a mobile number has ten digits");
	promise(is_text(reading.name) && is_text(reading.pan) && is_text(reading.report_number) && is_text(reading.semantic_text), "text is UTF-8 without NUL");
	int position = 0;
	for (const bureau::Tradeline &tradeline : reading.tradelines)
		check_tradeline(tradeline, ++position);
	promise(reading.loans <= position, "duplicates make no loans");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
	const std::string_view body(reinterpret_cast<const char *>(data), size);
	const bureau::Reading reading = bureau::read_report(body);
	check_reading(reading);
	promise(bureau::read_report(body) == reading, "reading again gives the same");
	return 0;
}
