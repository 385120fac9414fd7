// How a run keeps to a rate, and how fast it says it is.
#include <cmath>

#include "core/pace.hpp"
#include "core/speed.hpp"
#include "tap.hpp"

using namespace backfill::core;
using tap::check;
using tap::check_equal;

TEST("without a rate nothing waits and all that fits is taken") {
	Pace pace;
	check_equal(pace.most_items(256), 256, "items");
	pace.worked(256, 1000);
	check_equal(pace.wait(1000), 0.0, "wait");
}

TEST("a batch is no larger than a second's share, nor than its limit, and never empty") {
	Pace pace;
	pace.set(50, std::nullopt);
	check_equal(pace.most_items(256), 50, "50 a second");
	check_equal(pace.most_items(20), 20, "fewer fit");
	pace.set(50, 8);
	check_equal(pace.most_items(256), 8, "limit");
	pace.set(std::nullopt, 8);
	check_equal(pace.most_items(256), 8, "limit without a rate");
	pace.set(0.01, std::nullopt);
	check_equal(pace.most_items(256), 1, "one in a hundred seconds");
	pace.set(1e300, std::nullopt);
	check_equal(pace.most_items(256), 256, "faster than anything");
}

TEST("the next batch begins when the last one's share of time is over") {
	Pace pace;
	pace.set(50, std::nullopt);
	check_equal(pace.wait(0), 0.0, "nothing was done yet");
	pace.worked(50, 10000);
	check_equal(pace.wait(10200), 800.0, "it took 200 ms");
	check_equal(pace.wait(11000), 0.0, "its second is over");
	check_equal(pace.wait(15000), 0.0, "and long since");
	pace.worked(5, 15000);
	check_equal(pace.wait(15000), 100.0, "a small one");
}

TEST("a new rate holds for the wait that goes on") {
	Pace pace;
	pace.set(0.01, std::nullopt);
	pace.worked(1, 10000);
	check_equal(pace.wait(10000), 100000.0, "a hundred seconds");
	pace.set(1, std::nullopt);
	check_equal(pace.wait(10400), 600.0, "a second since it began");
	pace.set(std::nullopt, std::nullopt);
	check_equal(pace.wait(10400), 0.0, "none");
}

TEST("speed is not known before there is any") {
	Speed speed;
	check(!speed.look_ms() && !speed.work_ms() && !speed.work_share(), "nothing");
	speed.looked(1000, 0, 100);
	check_equal(*speed.look_ms(), 0.1, "a look");
	check_equal(*speed.work_share(), 0.0, "share");
	check(!speed.work_ms(), "nothing was worked on");
}

TEST("looks and work are counted apart") {
	Speed speed;
	speed.looked(1000, 100, 100);
	speed.worked(100, 1000);
	check_equal(*speed.look_ms(), 0.1, "a look");
	check_equal(*speed.work_ms(), 10.0, "work");
	check_equal(*speed.work_share(), 0.1, "share");
}

TEST("what is long past fades") {
	Speed speed;
	for (int page = 0; page < 100; ++page)
		speed.looked(1024, 0, 100);
	check_equal(*speed.work_share(), 0.0, "all done");
	for (int page = 0; page < 4; ++page)
		speed.looked(1024, 1024, 100);
	check(std::abs(*speed.work_share() - 0.5) < 0.01, "half, after as many items as halve it");
	for (int page = 0; page < 40; ++page)
		speed.looked(1024, 1024, 100);
	check(*speed.work_share() > 0.99, "nothing is done any more");
}

int main() {
	return tap::run();
}
