#pragma once

#include "pg/engine/observation.hpp"

namespace backfill::pg {

// Adds the row versions of a table that this transaction wrote or removed since it got the transaction id `since`,
// and not those that it wrote and removed again.
void add_written_rows(Oid table, TransactionId since, Written &written);

} // namespace backfill::pg
