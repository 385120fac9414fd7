#include "bureau/tradeline_order.hpp"

#include <algorithm>
#include <tuple>

namespace bureau {

namespace {

// Everything but the position; a total order on what a tradeline says.
auto everything(const Tradeline &t) {
	const auto texts = std::tie(t.lender, t.lender_family, t.account_number, t.number_tail, t.status_code);
	const auto facts = std::tuple(t.lender_masked, t.account_type, t.status, t.holder, t.opened, t.closed, t.reported, t.last_payment, t.tenure_months, t.dpd);
	const auto amounts = std::tie(t.sanctioned, t.balance, t.past_due, t.emi, t.written_off, t.rate_basis_points);
	return std::tuple(texts, facts, amounts);
}

bool history_less(const std::vector<HistoryMonth> &a, const std::vector<HistoryMonth> &b) {
	return std::ranges::lexicographical_compare(a, b, {}, [](const HistoryMonth &m) { return std::tuple(m.year, m.month, m.dpd); },
		[](const HistoryMonth &m) { return std::tuple(m.year, m.month, m.dpd); });
}

} // namespace

bool content_less(const Tradeline &a, const Tradeline &b) {
	const auto left = everything(a), right = everything(b);
	return left != right ? left < right : history_less(a.history, b.history);
}

bool has_ended(StatusClass status) noexcept { return status == StatusClass::closed || status == StatusClass::over; }

} // namespace bureau
