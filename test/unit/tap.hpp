#pragma once

#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

// Tests that print TAP lines. TEST(name) { check_equal(...); }: one line a test, and what was wrong with it before that.
namespace tap {

struct Test {
	const char *name;
	std::function<void()> body;
};

inline std::vector<Test> &tests() {
	static std::vector<Test> all;
	return all;
}

inline int wrong_in_test = 0;

struct Registration {
	Registration(const char *name, std::function<void()> body) { tests().push_back({name, std::move(body)}); }
};

inline void check(bool holds, const std::string &what) {
	if (holds)
		return;
	++wrong_in_test;
	std::cout << "# wrong: " << what << '\n';
}

template <class A, class B>
void check_equal(const A &actual, const B &expected, const std::string &what) {
	if (actual == expected)
		return;
	++wrong_in_test;
	std::cout << "# wrong: " << what << ": got '" << actual << "', expected '" << expected << "'\n";
}

inline int run() {
	int failed = 0;
	for (const Test &test : tests()) {
		wrong_in_test = 0;
		try {
			test.body();
		} catch (const std::exception &e) {
			check(false, std::string("exception: ") + e.what());
		}
		failed += wrong_in_test > 0;
		std::cout << (wrong_in_test > 0 ? "not ok - " : "ok - ") << test.name << '\n';
	}
	return failed > 0;
}

} // namespace tap

#define TAP_JOIN_(a, b) a##b
#define TAP_JOIN(a, b) TAP_JOIN_(a, b)
#define TEST(name)                                                                          \
	static void TAP_JOIN(test_, __LINE__)();                                                \
	static const tap::Registration TAP_JOIN(registration_, __LINE__)(name, TAP_JOIN(test_, __LINE__)); \
	static void TAP_JOIN(test_, __LINE__)()
