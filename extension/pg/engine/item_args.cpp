#include "pg/engine/item_args.hpp"

extern "C" {
#include "utils/array.h"
}

namespace backfill::pg {
using core::Error;
using core::ErrorCode;

namespace {

struct Elements {
	Datum *values = nullptr;
	bool *nulls = nullptr;
	int count = 0;
};

Elements elements_of(const Args &args, int n, const char *name, Oid type) {
	if (args.is_null(n))
		throw Error(ErrorCode::invalid_argument, std::string(name) + " must not be null");
	return call([&]() noexcept {
		Elements elements;
		int16 length = 0;
		bool by_value = false;
		char align = 0;
		get_typlenbyvalalign(type, &length, &by_value, &align);
		deconstruct_array(DatumGetArrayTypeP(args.datum(n)), type, length, by_value, align, &elements.values, &elements.nulls,
		                  &elements.count);
		return elements;
	});
}

void require(bool holds, const char *what) {
	if (!holds)
		throw Error(ErrorCode::invalid_argument, std::string("the items of a batch ") + what,
		            "Give them as run_candidates and check_batch returned them.");
}

} // namespace

std::vector<Item> items_of(const Pipeline &pipeline, const Args &args, int keys, int times) {
	const Elements key = elements_of(args, keys, "keys", TEXTOID);
	const Elements time = elements_of(args, times, "times", TIMESTAMPTZOID);
	require(key.count == time.count, "need a time or null each");
	std::vector<Item> items;
	as_owner(pipeline, [&] {
		for (int i = 0; i < key.count; ++i) {
			require(!key.nulls[i], "need a key each");
			items.push_back({pipeline.keys.read(to_text(key.values[i])), time.nulls[i] ? 0 : DatumGetTimestampTz(time.values[i]),
			                 !time.nulls[i]});
			require(i == 0 || pipeline.keys.compare(items[i - 1].key, items[i].key) < 0, "must be in key order");
		}
	});
	return items;
}

std::vector<int> steps_of(const Pipeline &pipeline, const Args &args, int steps, std::size_t items) {
	const Elements step = elements_of(args, steps, "first_steps", INT4OID);
	require(static_cast<std::size_t>(step.count) == items, "need a step each");
	std::vector<int> first;
	const int last = static_cast<int>(pipeline.steps.size()) - 1;
	for (int i = 0; i < step.count; ++i) // the definition may have changed since they were asked for
		first.push_back(step.nulls[i] ? 0 : std::min(std::max(DatumGetInt32(step.values[i]), 0), last));
	return first;
}

} // namespace backfill::pg
