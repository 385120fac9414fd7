#include "pg/leads/sources.hpp"

#include <algorithm>
#include <tuple>

#include "bureau/codes.hpp"

namespace bt {

static auto rank(const Source &s) noexcept {
	return std::tie(s.present, s.complete, s.report_at, s.received_at, s.credit_report_id);
}

void Sources::add(bureau::Bureau bureau, const Source &source) noexcept {
	Source &known = best[static_cast<std::size_t>(bureau)];
	if (rank(known) < rank(source))
		known = source;
}

std::size_t Sources::fingerprint(Fingerprint &result) const noexcept {
	auto at = result.begin();
	for (std::size_t i = 0; i < best.size(); ++i) {
		if (!best[i].present)
			continue;
		*at++ = static_cast<char>('0' + i);
		at = std::copy(best[i].semantic.begin(), best[i].semantic.end(), at);
	}
	return static_cast<std::size_t>(at - result.begin());
}

std::optional<bureau::Bureau> bureau_of(std::string_view name) noexcept {
	for (const auto bureau : {bureau::Bureau::experian, bureau::Bureau::cibil, bureau::Bureau::equifax, bureau::Bureau::crif})
		if (bureau::to_text(bureau) == name)
			return bureau;
	return std::nullopt;
}

} // namespace bt
