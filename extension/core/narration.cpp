#include "core/narration.hpp"

namespace backfill::core {

bool is_told(Narrate narrate, const Decision &decision) noexcept {
	switch (narrate) {
	case Narrate::all:
		return true;
	case Narrate::changes:
		return decision.changed || decision.status == Status::failed;
	case Narrate::none:
		break;
	}
	return false;
}

// A key may hold what would end the line or move a terminal's cursor.
static std::string shown(const std::string &key) {
	std::string text = key;
	for (char &c : text)
		if (static_cast<unsigned char>(c) < ' ' || c == 0x7f)
			c = '?';
	return text;
}

std::string line_of(const std::string &pipeline, long long run_id, const Decision &decision) {
	std::string line = pipeline + " run=" + std::to_string(run_id) + " item=" + shown(decision.item) +
	                   " step=" + decision.step + " status=" + name_of(decision.status);
	if (!decision.reason.empty())
		line += " reason=" + decision.reason;
	return line;
}

} // namespace backfill::core
