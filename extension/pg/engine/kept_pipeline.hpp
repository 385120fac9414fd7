#pragma once

#include <cstdint>
#include <string>

#include "pg/engine/pipeline.hpp"

namespace backfill::pg {

// The pipeline that this backend was last asked to drive, with its plans, for calls that are a transaction each. Only a
// saving: it is read again whenever its definition's stamp is another. Valid until the next call.
Pipeline &kept_pipeline(Oid engine_owner, const std::string &name, std::int64_t stamp);

} // namespace backfill::pg
