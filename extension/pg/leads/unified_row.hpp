#pragma once

#include "bureau/balance_transfer.hpp"
#include "pg/leads/row.hpp"

namespace bt {

// Rows of types bt.unified_reading and bt.transfer_decision, and of table bt.policy. The writers are for use inside
// call() only; the readers are plain C++.

Datum unified_row(const bureau::UnifiedReport &report, TupleDesc type) noexcept;
bureau::UnifiedReport read_unified(Datum row);

bureau::Policy read_policy(Datum row);

// report: what was decided about; the decision's members count in its loans.
Datum decision_row(const bureau::TransferDecision &decision, const bureau::UnifiedReport &report, TupleDesc type) noexcept;

} // namespace bt
