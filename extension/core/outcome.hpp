#pragma once

#include <optional>
#include <string>

namespace backfill::core {

// How a step ended for an item, as runs count and narrate it.
enum class Status { ok, skipped, failed };
const char *name_of(Status status) noexcept;

// What a step's work says of an item; the check has the last word on `ok`.
struct Outcome {
	enum class Kind { ok, skip, stop, fail } kind = Kind::ok;
	std::string reason;
};

// The verdict on an item that lacked a step's output before the work.
struct Verdict {
	Status status;
	std::string reason;
	bool changed; // the output was lacking before and is there after
	bool ends;    // later steps are not touched
};

// said: empty when the work said nothing. still_lacking: what the check answered after the work.
Verdict judge(const std::optional<Outcome> &said, bool still_lacking);

// Reasons the engine itself gives.
namespace reason {
inline constexpr const char *done = "done";
inline constexpr const char *busy = "busy";
inline constexpr const char *output_absent = "output_absent";
inline constexpr const char *impure = "impure";
std::string of_sqlstate(const std::string &sqlstate); // 23505 -> sqlstate_23505
} // namespace reason

} // namespace backfill::core
