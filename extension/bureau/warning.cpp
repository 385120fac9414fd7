#include "bureau/warning.hpp"

namespace bureau {

std::string_view to_text(WarningCode code) noexcept {
	switch (code) {
	case WarningCode::account_type_unknown: return "account_type_unknown";
	case WarningCode::account_unreadable: return "account_unreadable";
	case WarningCode::active_status_but_date_closed: return "active_status_but_date_closed";
	case WarningCode::amount_unparsed: return "amount_unparsed";
	case WarningCode::bad_unicode_replaced: return "bad_unicode_replaced";
	case WarningCode::date_unparsed: return "date_unparsed";
	case WarningCode::duplicate_tradeline: return "duplicate_tradeline";
	case WarningCode::holder_unknown: return "holder_unknown";
	case WarningCode::identity_mismatch: return "identity_mismatch";
	case WarningCode::lender_masked: return "lender_masked";
	case WarningCode::pan_unparsed: return "pan_unparsed";
	case WarningCode::score_missing: return "score_missing";
	case WarningCode::status_missing: return "status_missing";
	case WarningCode::status_unknown: return "status_unknown";
	case WarningCode::summary_mismatch: return "summary_mismatch";
	case WarningCode::tradeline_stale: return "tradeline_stale";
	case WarningCode::count_: break;
	}
	return "";
}

} // namespace bureau
