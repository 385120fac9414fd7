#include "core/rate_limit.hpp"

#include "tap.hpp"

using backfill::core::RateLimit;
using tap::check;
using tap::check_equal;

TEST("without a limit nobody waits") {
	RateLimit limit;
	check_equal(limit.take(0, 1000000), 0.0, "once");
	check_equal(limit.take(0, 1000000), 0.0, "twice");
	check_equal(limit.portion(256), 256, "any portion");
}

TEST("a limit lets a second's worth start at once") {
	RateLimit limit;
	limit.set(10);
	check_equal(limit.portion(256), 10, "a large portion");
	check_equal(limit.portion(3), 3, "a small portion");
	check_equal(limit.take(100, 10), 0.0, "a second's worth");
	check_equal(limit.take(100, 10), 1.0, "the next one");
	check_equal(limit.take(100.5, 10), 0.5, "half a second later");
	check_equal(limit.take(101, 10), 0.0, "a second later");
}

TEST("a change takes effect for who waits") {
	RateLimit limit;
	limit.take(5, 1);
	limit.set(0.5);
	check_equal(limit.portion(256), 1, "one at a time");
	check_equal(limit.take(5, 1), 2.0, "slow");
	limit.set(100);
	check_equal(limit.take(5, 1), 0.01, "fast");
	limit.set(std::nullopt);
	check_equal(limit.take(5, 100), 0.0, "without a limit");
}

TEST("the rate is kept over time") {
	RateLimit limit;
	limit.set(20);
	limit.take(0, 1);
	double now = 0;
	int items = 0;
	while (now < 10) {
		const double wait = limit.take(now, 5);
		if (wait == 0)
			items += 5;
		else
			now += wait;
	}
	check(items >= 195 && items <= 205, "about 200 in ten seconds");
}

int main() {
	return tap::run();
}
