#include "core/outcome.hpp"

namespace backfill::core {

const char *name_of(Status status) noexcept {
	switch (status) {
	case Status::ok:
		return "ok";
	case Status::skipped:
		return "skipped";
	case Status::failed:
		return "failed";
	}
	return "failed";
}

Verdict judge(const std::optional<Outcome> &said, bool still_lacking) {
	const bool changed = !still_lacking;
	const auto kind = said ? said->kind : Outcome::Kind::ok;
	const std::string why = said ? said->reason : std::string();
	switch (kind) {
	case Outcome::Kind::fail:
		return {Status::failed, why, changed, true};
	case Outcome::Kind::stop:
		return {Status::skipped, why, changed, true};
	case Outcome::Kind::skip:
		return {Status::skipped, why, changed, false};
	case Outcome::Kind::ok:
		break;
	}
	if (still_lacking)
		return {Status::failed, reason::output_absent, false, true};
	return {Status::ok, why, true, false};
}

std::string reason::of_sqlstate(const std::string &sqlstate) {
	return "sqlstate_" + sqlstate;
}

} // namespace backfill::core
