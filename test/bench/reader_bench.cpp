#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "bureau/read_report.hpp"

// Bodies and megabytes a second of the report reader: medians, bodies made of the accounts of one large sample.

namespace {

std::string contents(const char *file) {
	std::ifstream in(file, std::ios::binary);
	return {std::istreambuf_iterator<char>(in), {}};
}

// A sample cut into what stands before, between and behind its accounts.
struct Pieces {
	std::string before, behind;
	std::vector<std::string> accounts;
};

Pieces cut(const std::string &body) {
	const std::string list = "\"CAIS_Account_DETAILS\":[", start = "{\"Identification_Number\"", end = "}]},\"Match_result\"";
	const std::size_t first = body.find(list) + list.size();
	const std::size_t last = body.find(end) + 1;
	Pieces pieces{body.substr(0, first), body.substr(last), {}};
	for (std::size_t at = first; at < last;) {
		const std::size_t next = std::min(body.find("," + start, at + 1), last);
		pieces.accounts.push_back(body.substr(at, next - at));
		at = next + 1;
	}
	return pieces;
}

// At least so many bytes, of distinct accounts.
std::string body_of(const Pieces &pieces, std::size_t bytes) {
	std::string body = pieces.before;
	for (std::size_t count = 0; count == 0 || body.size() + pieces.behind.size() < bytes; ++count) {
		std::string account = pieces.accounts[count % pieces.accounts.size()];
		const std::size_t number = account.find("\"Account_Number\":\"") + 18;
		account.replace(number, account.find('"', number) - number, "XXXX" + std::to_string(100000 + count));
		body += (count == 0 ? "" : ",") + account;
	}
	return body + pieces.behind;
}

double median_microseconds(const std::string &body, int times, std::size_t &accounts) {
	using Clock = std::chrono::steady_clock;
	std::vector<double> microseconds;
	for (int i = 0; i < times; ++i) {
		const auto start = Clock::now();
		accounts = bureau::read_report(body).tradelines.size();
		microseconds.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
	}
	std::ranges::nth_element(microseconds, microseconds.begin() + times / 2);
	return microseconds[static_cast<std::size_t>(times / 2)];
}

void measure(const char *name, const std::string &body, int times) {
	std::size_t accounts = 0;
	const double microseconds = median_microseconds(body, times, accounts);
	const double size = static_cast<double>(body.size());
	std::printf("%-12s %9zu bytes %5zu accounts %10.1f us %9.0f bodies/s %6.0f MB/s\n", name, body.size(), accounts, microseconds, 1e6 / microseconds, size / microseconds);
}

} // namespace

int main() {
	const std::string sample = contents("test/data/reports/l01_large_100.json");
	const Pieces pieces = cut(sample);
	if (pieces.accounts.size() != 100) {
		std::fprintf(stderr, "run this from the project's folder\n");
		return 1;
	}
	measure("JSON 4 KB", body_of(pieces, 4'000), 2001);
	measure("JSON 70 KB", body_of(pieces, 70'000), 2001);
	measure("JSON 200 KB", body_of(pieces, 200'000), 501);
	measure("JSON 6 MB", body_of(pieces, 6'000'000), 21);
	measure("XML 200 KB", contents("test/data/reports/l03_large_56.xml"), 501);
}
