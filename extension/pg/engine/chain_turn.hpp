#pragma once

#include "pg/engine/chain.hpp"

namespace backfill::pg {

// An item on its way through a chain.
struct Chain::Turn {
	int member; // position in items
	std::string key;
	core::ItemTrace trace{};
	bool ended = false;
	bool busy = false; // in another run
	std::optional<core::Outcome> said{}; // by the work of the current step
	bool errored = false;                // in the current step
};

} // namespace backfill::pg
