#pragma once

#include <vector>

#include "pg/args.hpp"
#include "pg/engine/pipeline.hpp"

namespace backfill::pg {

// Arguments that name the items of a batch, in key order: their keys as text, their times. Read as the pipeline's owner.
std::vector<Item> items_of(const Pipeline &pipeline, const Args &args, int keys, int times);
// Positions of steps, one for each of `items`.
std::vector<int> steps_of(const Pipeline &pipeline, const Args &args, int steps, std::size_t items);

} // namespace backfill::pg
