#include "core/suppression.hpp"

namespace backfill::core {

std::optional<Mode> read_mode(std::string_view name) noexcept {
	if (name == "live")
		return Mode::live;
	if (name == "replay")
		return Mode::replay;
	return std::nullopt;
}

std::optional<std::string_view> suppression(const Emission &emission) noexcept {
	if (emission.mode == Mode::replay && emission.opted_in)
		return std::nullopt;
	if (emission.mode == Mode::replay)
		return "replay";
	if (emission.run_time > emission.deliver_until)
		return "stale";
	return std::nullopt;
}

} // namespace backfill::core
