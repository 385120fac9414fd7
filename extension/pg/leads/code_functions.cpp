#include <span>

#include "bureau/codes.hpp"
#include "bureau/lender.hpp"
#include "pg/leads/row.hpp"

extern "C" {
#include "funcapi.h"
}

using backfill::pg::call;
using bt::RowWriter;

namespace {

// One row an entry; write: fills a RowWriter from an entry, inside call().
template <class Entry, class Write>
Datum return_table(FunctionCallInfo fcinfo, std::span<const Entry> entries, Write write) {
	call([&]() noexcept {
		InitMaterializedSRF(fcinfo, 0);
		const ReturnSetInfo *const result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
		for (const Entry &entry : entries) {
			RowWriter row(result->setDesc);
			write(row, entry);
			row.append_to(result->setResult);
		}
	});
	return Datum{0};
}

} // namespace

BACKFILL_FUNCTION(bt_leads__account_types) {
	return return_table(fcinfo, bureau::account_types(), [](RowWriter &row, const bureau::AccountType &type) noexcept {
		row.int4(type.code);
		row.text(type.name);
		row.text(bureau::to_text(type.loan_class));
		row.text(bureau::to_text(type.source));
		row.text_or_null(type.disagreement);
	});
}

BACKFILL_FUNCTION(bt_leads__account_statuses) {
	return return_table(fcinfo, bureau::account_statuses(), [](RowWriter &row, const bureau::AccountStatus &status) noexcept {
		row.int4(status.code);
		row.text(status.name);
		row.text(bureau::to_text(status.status));
		row.text(bureau::to_text(status.source));
		row.text_or_null(status.disagreement);
	});
}

BACKFILL_FUNCTION(bt_leads__holder_codes) {
	return return_table(fcinfo, bureau::holder_codes(), [](RowWriter &row, const bureau::HolderCode &code) noexcept {
		row.text(bureau::to_text(code.bureau));
		row.text(code.code);
		row.text(bureau::to_text(code.holder));
		row.text(bureau::to_text(code.source));
		row.text_or_null(code.disagreement);
	});
}

BACKFILL_FUNCTION(bt_leads__account_type_texts) {
	return return_table(fcinfo, bureau::account_type_texts(), [](RowWriter &row, const bureau::AccountTypeText &type) noexcept {
		row.text(type.text);
		row.int4(type.code);
	});
}

BACKFILL_FUNCTION(bt_leads__status_texts) {
	return return_table(fcinfo, bureau::status_texts(), [](RowWriter &row, const bureau::StatusText &status) noexcept {
		row.text(status.text);
		row.text(bureau::to_text(status.status));
	});
}

static Datum return_flags(FunctionCallInfo fcinfo, std::span<const bureau::AccountFlag> flags) {
	return return_table(fcinfo, flags, [](RowWriter &row, const bureau::AccountFlag &flag) noexcept {
		row.int4(flag.code);
		row.text(flag.name);
		row.text_or_null(flag.effect ? bureau::to_text(*flag.effect) : std::string_view{});
		row.text(bureau::to_text(flag.source));
		row.text_or_null(flag.disagreement);
	});
}

BACKFILL_FUNCTION(bt_leads__written_off_settled_codes) { return return_flags(fcinfo, bureau::written_off_settled_codes()); }

BACKFILL_FUNCTION(bt_leads__suit_filed_codes) { return return_flags(fcinfo, bureau::suit_filed_codes()); }

BACKFILL_FUNCTION(bt_leads__other_codes) {
	return return_table(fcinfo, bureau::other_codes(), [](RowWriter &row, const bureau::Code &code) noexcept {
		row.text(code.list);
		row.text(code.code);
		row.text(code.name);
		row.text(bureau::to_text(code.source));
		row.text_or_null(code.disagreement);
	});
}

BACKFILL_FUNCTION(bt_leads__lender_aliases) {
	return return_table(fcinfo, bureau::lender_aliases(), [](RowWriter &row, const bureau::LenderAlias &alias) noexcept {
		row.text(alias.name);
		row.text(alias.family);
		row.boolean(alias.rename);
	});
}
