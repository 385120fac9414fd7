#pragma once

#include "worker/channel/transfer.hpp"

namespace backfill::worker {

// What an HTTP exchange came to. A status counts once its headers are complete, whatever became of the rest: the
// receiver has said it. Failures before the first byte of the request prove that nothing was sent.
Outcome judge_http(const Transfer::Result &result);

} // namespace backfill::worker
