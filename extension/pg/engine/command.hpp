#pragma once

#include <string>
#include <vector>

#include "pg/spi.hpp"

extern "C" {
#include "storage/block.h"
}

namespace backfill::pg {

// One SQL command of a pipeline, prepared and kept for the length of a run, and planned so that its plan cannot go
// wrong: a plan made while a table was empty must not scan it once it has grown.
class Command {
public:
	Command(std::string sql, std::vector<Oid> types) : sql_(std::move(sql)), types_(std::move(types)) {}

	// Runs it on the current SPI connection, with a fresh snapshot. To be called as the pipeline's owner.
	Result run(std::initializer_list<Param> params);
	// Gives the kept plan back.
	void release();

	const std::string &sql() const noexcept { return sql_; }

private:
	struct TableRead { // a table that the plan reads, and its size when the plan was made
		Oid relation;
		BlockNumber blocks;
	};

	void prepare();
	void plan();
	void plan_as_now();
	bool plan_once();
	bool outgrown() const;

	std::string sql_;
	std::vector<Oid> types_;
	SPIPlanPtr plan_ = nullptr;
	const void *known_ = nullptr; // the generic plan that readings_ belongs to
	bool by_index_ = true;        // plans by index are possible
	std::vector<TableRead> readings_;
};

} // namespace backfill::pg
