#include "worker/channel/http_answer.hpp"

namespace backfill::worker {

Outcome judge_http(const Transfer::Result &result) {
	if (!result.answered)
		return {result.left ? core::Attempt::unknown : core::Attempt::nothing_left,
		        result.reason.empty() ? "no_answer" : result.reason, std::nullopt, false, false};
	Outcome outcome;
	outcome.attempt = core::judge_http_status(static_cast<int>(result.status));
	if (outcome.attempt == core::Attempt::sent)
		return outcome;
	outcome.reason = "http_" + std::to_string(result.status);
	outcome.retry_after = result.retry_after;
	outcome.throttled = result.status == 429;
	outcome.about_channel = result.status == 401 || result.status == 403 || result.status == 404 || result.status == 410 ||
	                        (result.status >= 300 && result.status < 400);
	return outcome;
}

} // namespace backfill::worker
