#include "worker/driver/run_calls.hpp"

#include <nlohmann/json.hpp>
#include <spdlog/fmt/fmt.h>

namespace backfill::worker {

using core::ItemResult;
using core::Tally;
using nlohmann::json;

namespace {

std::string number(long long value) {
	return std::to_string(value);
}

Value number_or_null(std::optional<double> value) {
	return value ? Value(fmt::format("{}", *value)) : Value();
}

Value array_or_null(const std::optional<std::vector<std::string>> &texts) {
	return texts ? Value(array_literal(*texts)) : Value();
}

std::string interval(int seconds) {
	return number(seconds) + " seconds";
}

std::string keys_of(const std::vector<Candidate> &items) {
	std::vector<std::string> keys;
	for (const Candidate &item : items)
		keys.push_back(item.key);
	return array_literal(keys);
}

std::string times_of(const std::vector<Candidate> &items) {
	std::string literal = "{";
	for (const Candidate &item : items)
		literal += (literal.size() == 1 ? "" : ",") + (item.time ? "\"" + *item.time + "\"" : "NULL");
	return literal + "}";
}

std::string integers(const std::vector<int> &values) {
	std::string literal = "{";
	for (const int value : values)
		literal += (literal.size() == 1 ? "" : ",") + number(value);
	return literal + "}";
}

std::vector<int> integers_of(const std::string &literal) {
	std::vector<int> values;
	for (std::size_t at = 1; at < literal.size() && literal[at] != '}';) {
		std::size_t length = 0;
		values.push_back(std::stoi(literal.substr(at, 16), &length));
		at += length + 1;
	}
	return values;
}

bool is_true(const Value &value) {
	return value == "t";
}

std::optional<double> rate_of(const Value &value) {
	return value ? std::optional(std::stod(*value)) : std::nullopt;
}

std::optional<int> limit_of(const Value &value) {
	return value ? std::optional(std::stoi(*value)) : std::nullopt;
}

core::Status status_of(const std::string &name) {
	return name == "ok" ? core::Status::ok : name == "skipped" ? core::Status::skipped : core::Status::failed;
}

// changed, unchanged, skipped, failed, newly_failed from a column on.
Tally tally_of(const Row &row, std::size_t column) {
	Tally tally;
	for (const ItemResult result : {ItemResult::changed, ItemResult::unchanged, ItemResult::skipped, ItemResult::failed})
		tally.count_result(result, std::stoll(row.at(column++).value()));
	tally.count_new_failures(std::stoll(row.at(column).value()));
	return tally;
}

// An encoding that does not convert lets bytes through that are no UTF-8. The parser's own words would quote them.
json parsed(const std::string &text) {
	try {
		return json::parse(text);
	} catch (const json::parse_error &) {
		throw std::runtime_error("what the database answered is not UTF-8: its encoding, SQL_ASCII for one, does not convert");
	}
}

} // namespace

void add_step_counts(Tally &tally, const std::string &text) {
	for (const json &count : parsed(text))
		tally.count_step(count.at("step"), status_of(count.at("status")), count.at("reason"), count.at("items"));
}

std::optional<ClaimedRun> claim_run(Connection &connection, const std::optional<std::vector<std::string>> &pipelines,
                                    std::optional<long long> wanted, int lease_seconds) {
	const auto rows = connection.query(
		"SELECT run_id, token, pipeline, mode, window_from, resume_after, counted, taken_over, rate, batch_limit"
		" FROM backfill.claim_run($1::text[], $2::bigint, $3::interval)",
		{array_or_null(pipelines), wanted ? Value(number(*wanted)) : Value(), interval(lease_seconds)});
	if (rows.empty())
		return std::nullopt;
	const Row &row = rows.front();
	return ClaimedRun{std::stoll(*row.at(0)), std::stoll(*row.at(1)), *row.at(2), *row.at(3), *row.at(4), row.at(5),
	                  std::stoll(*row.at(6)), rate_of(row.at(8)), limit_of(row.at(9)), is_true(row.at(7))};
}

std::vector<std::string> unknown_pipelines(Connection &connection, const std::optional<std::vector<std::string>> &pipelines) {
	std::vector<std::string> unknown;
	for (Row &row : connection.query("SELECT backfill.unknown_pipelines($1::text[])", {array_or_null(pipelines)}))
		unknown.push_back(std::move(*row.at(0)));
	return unknown;
}

Page run_candidates(Connection &connection, const ClaimedRun &run, const Value &after, int most, bool count) {
	Page page;
	for (Row &row : connection.query("SELECT key, item_time, remaining FROM backfill.run_candidates($1, $2, $3, $4, $5)",
	                                 {number(run.id), number(run.token), after, number(most), count ? "true" : "false"})) {
		if (row.at(2))
			page.remaining = std::stoll(*row.at(2));
		if (!row.at(0)) {
			page.null_key = true;
			continue;
		}
		page.items.push_back({std::move(*row.at(0)), std::move(row.at(1))});
	}
	return page;
}

Checked check_batch(Connection &connection, const ClaimedRun &run, const std::vector<Candidate> &items) {
	const Row row = connection
						.query("SELECT first_steps, impure_step FROM backfill.check_batch($1, $2, $3::text[], $4::timestamptz[])",
	                           {number(run.id), number(run.token), keys_of(items), times_of(items)})
						.at(0);
	return {row.at(0) ? integers_of(*row.at(0)) : std::vector<int>(), row.at(1)};
}

BatchResult run_batch(Connection &connection, const ClaimedRun &run, const Value &after, const std::string &upto, long long done,
                      const std::vector<Candidate> &items, const std::vector<int> &first, const std::string &narrate) {
	const Row row =
		connection
			.query("SELECT result, fits, fell_back, impure_step, changed, unchanged, skipped, failed, newly_failed, step_counts,"
	               " attempts, events FROM backfill.run_batch($1, $2, $3, $4, $5, $6::text[], $7::timestamptz[], $8::integer[], $9)",
	               {number(run.id), number(run.token), after, upto, number(done), keys_of(items), times_of(items),
	                integers(first), narrate})
			.at(0);
	BatchResult result;
	result.too_large = row.at(0) == "too_large";
	result.fits = std::stoi(row.at(1).value());
	result.fell_back = is_true(row.at(2));
	result.impure_step = row.at(3);
	result.tally = tally_of(row, 4);
	add_step_counts(result.tally, row.at(9).value());
	for (const json &attempt : parsed(row.at(10).value())) {
		const std::string step = attempt.at("step");
		const std::string sqlstate = attempt.at("sqlstate");
		const long long count = attempt.at("items");
		if (sqlstate.empty())
			result.attempted.emplace_back(step, count);
		else
			result.failed.emplace_back(std::pair(step, sqlstate), count);
	}
	for (const json &event : parsed(row.at(11).value()))
		result.events.push_back({event.at("item"), event.at("step"), event.at("status"), event.at("reason"),
		                         event.at("ms")});
	return result;
}

Wish heartbeat_run(Connection &connection, const ClaimedRun &run, int lease_seconds, const Beat &beat,
                   const std::optional<std::vector<std::string>> &pipelines) {
	const RunSpeed speed = beat.speed.value_or(RunSpeed());
	const Row row = connection
						.query("SELECT state, rate, batch_limit, live_waits"
	                           " FROM backfill.heartbeat_run($1, $2, $3::interval, $4, $5::jsonb, $6::text[], $7, $8, $9)",
	                           {number(run.id), number(run.token), interval(lease_seconds),
	                            beat.candidates ? Value(number(*beat.candidates)) : Value(),
	                            beat.done.empty() ? Value() : Value(beat.done.json()), array_or_null(pipelines),
	                            number_or_null(speed.work_share), number_or_null(speed.look_ms), number_or_null(speed.work_ms)})
						.at(0);
	Wish wish;
	wish.state = row.at(0).value_or("lost");
	wish.rate = rate_of(row.at(1));
	wish.batch_limit = limit_of(row.at(2));
	wish.live_waits = is_true(row.at(3));
	return wish;
}

Tally finish_run(Connection &connection, const ClaimedRun &run, const Ending &ending, long long candidates, const DoneRanges &done) {
	const Row row =
		connection
			.query("SELECT changed, unchanged, skipped, failed, newly_failed, step_counts"
	               " FROM backfill.finish_run($1, $2, $3, $4, $5, $6, $7::jsonb, $8)",
	               {number(run.id), number(run.token), ending.state, ending.sqlstate, ending.error, number(candidates),
	                done.empty() ? Value() : Value(done.json()), ending.impure_step})
			.at(0);
	Tally tally = tally_of(row, 0);
	add_step_counts(tally, row.at(5).value());
	return tally;
}

bool release_run(Connection &connection, const ClaimedRun &run, const DoneRanges &done) {
	return is_true(connection.value("SELECT backfill.release_run($1, $2, $3::jsonb)",
	                                {number(run.id), number(run.token), done.empty() ? Value() : Value(done.json())}));
}

void keep_house(Connection &connection, const ClaimedRun &run) {
	connection.query("SELECT backfill.keep_house($1)", {run.pipeline});
}

Pressure pressure(Connection &connection) {
	const Row row = connection.query("SELECT replica_lag_seconds, lock_wait_seconds FROM backfill.pressure()").at(0);
	return {std::stod(row.at(0).value()), std::stod(row.at(1).value())};
}

} // namespace backfill::worker
