#include "bureau/read_report.hpp"

#include <algorithm>
#include <cstdlib>

#include "bureau/duplicates.hpp"
#include "bureau/forms/report.hpp"
#include "bureau/policy.hpp"
#include "bureau/semantic_text.hpp"
#include "bureau/syntax/unwrap.hpp"

namespace bureau {

namespace {

using forms::Report;
using syntax::Field;
using syntax::Form;
using syntax::Verdict;

constexpr std::int64_t milliseconds_per_day = 86'400'000;
constexpr std::int64_t india_ahead_of_utc = 19'800'000; // 5 h 30 min, all year

// Experian's report numbers look like the time of the pull in milliseconds; one is believed if it lies this near to the time given.
constexpr std::int64_t believable_difference = 5'000;

Bureau bureau_of(Form form) {
	switch (form) {
	case Form::experian: return Bureau::experian;
	case Form::cibil:
	case Form::true_link: return Bureau::cibil;
	case Form::equifax: return Bureau::equifax;
	case Form::crif: return Bureau::crif;
	}
	return Bureau::experian;
}

void read_form(const syntax::Root &root, Report &report) {
	switch (root.form) {
	case Form::experian: return read_experian(root.report, report);
	case Form::cibil: return read_cibil(root.report, report);
	case Form::true_link: return read_true_link(root.report, report);
	case Form::equifax: return read_equifax(root.report, report);
	case Form::crif: return read_crif(root.report, report);
	}
}

std::optional<std::int64_t> number_as_time(std::string_view report_number) {
	constexpr std::size_t digits = 13;
	if (report_number.size() != digits || report_number.find_first_not_of("0123456789") != std::string_view::npos)
		return std::nullopt;
	return std::strtoll(std::string(report_number).c_str(), nullptr, 10);
}

std::optional<std::int64_t> report_time(const Report &report) {
	const auto numbered = report.reading.bureau == Bureau::experian ? number_as_time(report.reading.report_number) : std::nullopt;
	if (!report.day)
		return numbered;
	const std::int64_t told = day_number(*report.day) * milliseconds_per_day + report.time.value_or(0) * 1000 - india_ahead_of_utc;
	return numbered && std::abs(*numbered - told) <= believable_difference ? numbered : told;
}

// Outcome and warnings that follow from the loans.
void judge_loans(Report &report) {
	Reading &reading = report.reading;
	const Policy policy;
	const auto loans = distinct_loans(reading.tradelines);
	reading.loans = static_cast<int>(loans.size());
	if (loans.size() < reading.tradelines.size())
		report.warnings.add(WarningCode::duplicate_tradeline, Field::account_number);
	const auto fires = [&](const Tradeline *loan) { return is_active_home_loan(*loan, policy, report.day); };
	if (std::ranges::any_of(loans, [&](const Tradeline *loan) { return fires(loan) && is_stale(*loan, policy, report.day); }))
		report.warnings.add(WarningCode::tradeline_stale, Field::date_reported);
	const bool any = std::ranges::any_of(loans, fires);
	reading.outcome = any ? Outcome::ok : Outcome::skipped;
	reading.reason = any ? "" : "no_active_home_loan";
}

Reading failed(std::string_view reason) {
	Reading reading;
	reading.reason = reason;
	return reading;
}

void skip(Reading &reading, std::string_view reason) {
	reading.outcome = Outcome::skipped;
	reading.reason = reason;
	reading.semantic_text = semantic_text(reading);
}

// What a vendor says in place of accounts. False if that is nothing in particular.
bool apply(Verdict verdict, Reading &reading) {
	switch (verdict) {
	case Verdict::none: return false;
	case Verdict::vendor_error: reading = failed(to_text(syntax::Failure::vendor_error)); return true;
	case Verdict::retry_masked_mobile: reading = failed(to_text(syntax::Failure::retry_masked_mobile)); return true;
	case Verdict::no_hit: skip(reading, "no_hit"); return true;
	case Verdict::name_not_found: skip(reading, "name_not_found"); return true;
	}
	return false;
}

void judge(Report &report, const syntax::Unwrapper &unwrapper) {
	Reading &reading = report.reading;
	const int accounts = static_cast<int>(reading.tradelines.size());
	reading.report_unix_ms = report_time(report);
	reading.complete = reading.score && report.announced.value_or(0) <= accounts;
	if (report.announced && *report.announced != accounts)
		report.warnings.add(WarningCode::summary_mismatch, Field::credit_account_total);
	if (accounts == 0) {
		if (apply(unwrapper.verdict_around_root(), reading))
			return;
		return skip(reading, report.no_record ? "no_hit" : "no_accounts");
	}
	if (!reading.score)
		report.warnings.add(WarningCode::score_missing, Field::score);
	judge_loans(report);
	reading.semantic_text = semantic_text(reading);
}

} // namespace

Reading read_report(std::string_view body) {
	static thread_local syntax::Unwrapper unwrapper; // for its buffers
	const auto root = unwrapper.find(body);
	Report report(root ? bureau_of(root->form) : Bureau::experian);
	for (std::size_t field = 0; field < syntax::field_count; ++field)
		if (unwrapper.bad_unicode()[field])
			report.warnings.add(WarningCode::bad_unicode_replaced, static_cast<Field>(field));
	if (!root) {
		report.reading.bureau.reset();
		if (!apply(unwrapper.verdict(), report.reading))
			report.reading = failed(to_text(unwrapper.failure()));
	} else {
		read_form(*root, report);
		judge(report, unwrapper);
	}
	report.reading.warnings = report.warnings.take();
	unwrapper.release();
	return std::move(report.reading);
}

} // namespace bureau
