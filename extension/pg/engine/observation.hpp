#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/output_difference.hpp"
#include "pg/spi.hpp"

namespace backfill::pg {

// What became of tables since an observation began: users' tables, and messages and counters.
struct Written {
	core::Tables added;   // row versions that were written and are there
	core::Tables removed; // and those that were there before and are not any more
	std::vector<std::string> unseen; // tables that were written and cannot be looked at row by row

	bool empty() const noexcept { return added.empty() && removed.empty(); }
	std::size_t rows() const noexcept;
};

// What this transaction does from the moment of its making, told from the rows themselves and from the server's own
// counters: no trigger, no log, nothing of it stays. Writes have to happen in a subtransaction that begins later. Reads
// the tables that were written from end to end.
class Observation {
public:
	explicit Observation(Oid engine_owner);

	Written written() const;
	// Users' tables that were read, or at least looked into.
	std::vector<Oid> read() const;
	// Sequences that gave this session a number. free: only those that no column owns.
	std::vector<std::string> sequences(bool free) const;

	// Whether the transaction will notify, or listen.
	static bool has_notifications();
	// The same, and it will not any more.
	static bool take_notifications();

private:
	struct Position {
		std::int64_t last;
		bool called;
	};

	Oid engine_;
	TransactionId since_;
	std::map<Oid, std::int64_t> writes_;
	std::map<Oid, std::int64_t> reads_;
	std::map<Oid, Position> positions_;
};

} // namespace backfill::pg
