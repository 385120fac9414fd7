#include "worker/delivery/outbox.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "worker/delivery/deadline.hpp"
#include "worker/failpoint.hpp"
#include "worker/log.hpp"

namespace backfill::worker {

namespace {

using std::chrono::milliseconds;

long long number(const Value &value) {
	long long result = 0;
	if (value)
		std::from_chars(value->data(), value->data() + value->size(), result);
	return result;
}

std::string interval(milliseconds time) {
	return std::to_string(time.count()) + " milliseconds";
}

std::string id_array(const std::vector<long long> &ids) {
	std::string literal = "{";
	for (const long long id : ids)
		literal.append(literal.size() == 1 ? "" : ",").append(std::to_string(id));
	return literal + "}";
}

// Times come as what is left of them, so that no clock is compared with another.
constexpr const char *claim_sql = R"(
	SELECT c.message_id, c.token, c.attempt, c.generation, c.receiver_key, c.recipient, c.message_type, c.pipeline,
		to_char(c.window_from AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
		to_char(c.window_to AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), c.payload,
		least(floor(extract(epoch FROM c.deliver_until - n.moment) * 1000), 1e15)::bigint,
		floor(extract(epoch FROM c.lease_until - n.moment) * 1000)::bigint
	FROM backfill.claim_deliveries($1, $2::integer, $3::interval, $4::bigint, $5, $6::integer, $7) c, backfill._clock() n (moment)
	ORDER BY c.message_id)";

struct Sentence {
	const char *name;
	const char *sql; // $1 messages, $2 token, $3 reason, $4 interval
};

const Sentence &sentence(Word::Kind kind) {
	static constexpr Sentence sentences[] = {
		{"sent", "SELECT backfill.mark_sent($1::bigint[], $2::bigint)"},
		{"inert", "SELECT backfill.mark_inert($1::bigint[], $2::bigint)"},
		{"dead", "SELECT backfill.mark_failed($1::bigint[], $2::bigint, $3, permanent => true)"},
		{"failed", "SELECT backfill.mark_failed($1::bigint[], $2::bigint, $3, backfill._clock() + $4::interval)"},
		{"unknown", "SELECT backfill.mark_unknown($1::bigint[], $2::bigint, $3)"},
		{"unknown", "SELECT backfill.mark_unknown($1::bigint[], $2::bigint, $3, backfill._clock() + $4::interval)"},
		{"given_back", "SELECT backfill.release($1::bigint[], $2::bigint, backfill._clock() + $4::interval, $3)"},
	};
	return sentences[static_cast<size_t>(kind)];
}

} // namespace

Claim Outbox::claim(int limit, long long after) {
	const milliseconds asked = deadline::now();
	std::vector<Row> rows;
	try {
		rows = connection_.query(claim_sql, {channel_.name, std::to_string(limit), interval(channel_.lease), std::to_string(after),
		                                     channel_.hold ? "hold" : "retry", std::to_string(channel_.max_attempts), bound_to_});
	} catch (const QueryError &error) {
		constexpr const char *not_in_prerequisite_state = "55000";
		if (error.sqlstate() == not_in_prerequisite_state)
			throw NotBound(error.what());
		throw;
	}
	Claim claim;
	for (Row &row : rows) {
		Claimed claimed;
		Message &message = claimed.message;
		message.id = number(row[0]);
		message.token = number(row[1]);
		message.attempt = static_cast<int>(number(row[2]));
		message.generation = static_cast<int>(number(row[3]));
		std::string *const texts[] = {&message.key, &message.recipient, &message.type, &message.pipeline, &message.window_from,
		                              &message.window_to, &message.payload};
		for (size_t i = 0; i < std::size(texts); ++i)
			*texts[i] = std::move(row[4 + i]).value_or("");
		claimed.expires = asked + milliseconds(number(row[11]));
		claim.lease_until = asked + milliseconds(number(row[12]));
		claim.messages.push_back(std::move(claimed));
	}
	if (!claim.messages.empty())
		failpoint::reach("claimed");
	return claim;
}

void Outbox::heartbeat(Claim &claim) {
	std::vector<long long> ids;
	for (const Claimed &claimed : claim.messages)
		ids.push_back(claimed.message.id);
	const milliseconds asked = deadline::now();
	std::set<long long> lost;
	for (const Row &row : connection_.query("SELECT backfill.heartbeat($1::bigint[], $2::bigint, $3::interval)",
	                                        {id_array(ids), std::to_string(claim.messages.front().message.token), interval(channel_.lease)}))
		lost.insert(number(row[0]));
	claim.lease_until = asked + channel_.lease;
	for (const long long id : lost)
		log::warning("claim_lost", {{"message", id}, {"channel", channel_.name}});
	std::erase_if(claim.messages, [&](const Claimed &claimed) { return lost.contains(claimed.message.id); });
	failpoint::reach("heartbeat");
}

void Outbox::say(const Word &word) {
	const Sentence &said = sentence(word.kind);
	std::vector<Value> parameters{id_array(word.messages), std::to_string(word.token)};
	const std::string sql = said.sql;
	if (sql.find("$4") != std::string::npos) {
		parameters.push_back(word.reason.empty() ? Value() : Value(word.reason));
		parameters.push_back(interval(word.retry_in));
	} else if (sql.find("$3") != std::string::npos) {
		parameters.push_back(word.reason);
	}
	failpoint::reach("marking");
	for (const Row &row : connection_.query(sql, parameters))
		log::warning("word_refused", {{"message", number(row[0])}, {"channel", channel_.name}, {"word", said.name},
		                              {"hint", "another worker has claimed it since, or it was decided by a person"}});
	failpoint::reach("marked");
}

} // namespace backfill::worker
