#include "pg/leads/sources.hpp"

#include <algorithm>

namespace bt {

void Sources::add(bureau::Bureau bureau, const Source &source) noexcept {
	std::optional<Source> &known = best[static_cast<std::size_t>(bureau)];
	if (!known || bureau::is_better(source.rank, known->rank))
		known = source;
}

std::size_t Sources::fingerprint(Fingerprint &result) const noexcept {
	auto at = result.begin();
	for (std::size_t i = 0; i < best.size(); ++i) {
		if (!best[i])
			continue;
		*at++ = static_cast<char>('0' + i);
		at = std::copy(best[i]->semantic.begin(), best[i]->semantic.end(), at);
	}
	return static_cast<std::size_t>(at - result.begin());
}

} // namespace bt
