#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace backfill::core {

enum class Mode { live, replay }; // a rehearsal is judged as the run it rehearses

std::optional<Mode> read_mode(std::string_view name) noexcept;

// May a message written by this run be delivered? Times are microseconds on one scale.
struct Emission {
	Mode mode = Mode::live;
	bool opted_in = false;          // a person asked this replay to deliver
	std::int64_t run_time = 0;      // the run's frozen time
	std::int64_t deliver_until = 0; // the window's end plus the pipeline's delivery_max_age
};

// Nothing if it may; otherwise the reason it is kept: `replay` or `stale`. A person's word outweighs age: the windows
// of a replay are old by nature.
std::optional<std::string_view> suppression(const Emission &emission) noexcept;

} // namespace backfill::core
