#include "worker/connection.hpp"

#include <cerrno>
#include <system_error>
#include <thread>

#include <libpq-fe.h>
#include <poll.h>

#include "worker/configuration.hpp"
#include "worker/stop.hpp"

namespace backfill::worker {

namespace {

std::string trimmed(const char *text) {
	std::string result = text;
	while (!result.empty() && (result.back() == '\n' || result.back() == ' '))
		result.pop_back();
	return result;
}

struct Clear {
	void operator()(PGresult *result) const noexcept { PQclear(result); }
};
using Result = std::unique_ptr<PGresult, Clear>;

Table table_of(const PGresult *result) {
	Table table;
	for (int column = 0; column < PQnfields(result); ++column) {
		table.columns.emplace_back(PQfname(result, column));
		table.types.push_back(PQftype(result, column));
	}
	table.rows.resize(static_cast<size_t>(PQntuples(result)));
	for (int row = 0; row < PQntuples(result); ++row)
		for (int column = 0; column < PQnfields(result); ++column) {
			const bool null = PQgetisnull(result, row, column) != 0;
			table.rows[static_cast<size_t>(row)].push_back(null ? Value() : Value(PQgetvalue(result, row, column)));
		}
	return table;
}

std::string field(const PGresult *result, int code) {
	const char *const text = PQresultErrorField(result, code);
	return text == nullptr ? std::string() : text;
}

// Without DETAIL: it quotes data.
std::string message_of(const PGresult *result) {
	const std::string hint = field(result, PG_DIAG_MESSAGE_HINT);
	return field(result, PG_DIAG_MESSAGE_PRIMARY) + (hint.empty() ? "" : "\nHINT:  " + hint);
}

Result checked(pg_conn *handle, PGresult *raw) {
	Result result(raw);
	const ExecStatusType status = PQresultStatus(result.get());
	if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
		return result;
	if (PQstatus(handle) != CONNECTION_OK || result == nullptr)
		throw ConnectionError(trimmed(PQerrorMessage(handle)));
	const std::string state = field(result.get(), PG_DIAG_SQLSTATE);
	// An error that libpq made itself has no state; one of class 57P is the server's last word on this connection.
	if (state.empty())
		throw ConnectionError(trimmed(PQresultErrorMessage(result.get())));
	if (state.starts_with("57P"))
		throw ConnectionError(message_of(result.get()));
	throw QueryError(message_of(result.get()), state);
}

} // namespace

std::string explained(const std::exception &error) {
	const std::string text = error.what();
	const auto *const query = dynamic_cast<const QueryError *>(&error);
	const bool refused = query != nullptr && query->is_refusal() && text.find("HINT:") == std::string::npos;
	return text + (refused ? "\nHINT:  backfill_reader looks, backfill_operator runs, replays and decides, backfill_worker serves: have one of them granted." : "");
}

void Connection::Close::operator()(pg_conn *handle) const noexcept {
	PQfinish(handle);
}

Connection::Connection(const std::string &target) {
	// A value for dbname that is a connection string is taken apart; an empty one counts as not given, and what comes
	// later wins over what comes earlier.
	const char *const timeout = environment("PGCONNECT_TIMEOUT") ? "" : "10";
	// A server that went away without a word is noticed within a minute or so.
	const char *const keys[] = {"connect_timeout", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout",
	                            "dbname", "fallback_application_name", "client_encoding", nullptr};
	// What is sent on, and all JSON, is UTF-8, whatever the database's encoding or the role's setting is.
	const char *const values[] = {timeout, "30", "10", "3", "60000", target.c_str(), "pg_backfill", "UTF8", nullptr};
	handle_.reset(PQconnectdbParams(keys, values, 1));
	if (handle_ == nullptr)
		throw std::bad_alloc();
	if (PQstatus(handle_.get()) != CONNECTION_OK)
		throw ConnectionError(trimmed(PQerrorMessage(handle_.get())));
	on_notice([](const std::string &, const std::string &) {});
	needs_own_settings_ = value("SELECT pg_catalog.current_setting('default_transaction_isolation') <> 'read committed'"
	                            " OR NOT pg_catalog.current_setting('array_nulls')::boolean") == "t";
}

Table Connection::table(const std::string &sql, const std::vector<Value> &parameters) {
	std::vector<const char *> values;
	for (const Value &parameter : parameters)
		values.push_back(parameter ? parameter->c_str() : nullptr);
	const auto run = [&] {
		return table_of(checked(handle_.get(), PQexecParams(handle_.get(), sql.c_str(), static_cast<int>(values.size()), nullptr,
		                                                    values.data(), nullptr, nullptr, 0))
		                    .get());
	};
	if (!needs_own_settings_ || PQtransactionStatus(handle_.get()) != PQTRANS_IDLE || sql.starts_with("BEGIN"))
		return run();
	// For as long as the statement: a pooler's session is also others'.
	const auto tell = [&](const char *command) { checked(handle_.get(), PQexec(handle_.get(), command)); };
	tell("BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL array_nulls = on");
	try {
		Table result = run();
		tell("COMMIT");
		return result;
	} catch (const QueryError &) {
		tell("ROLLBACK");
		throw;
	}
}

std::vector<Row> Connection::query(const std::string &sql, const std::vector<Value> &parameters) {
	return table(sql, parameters).rows;
}

Value Connection::value(const std::string &sql, const std::vector<Value> &parameters) {
	return query(sql, parameters).at(0).at(0);
}

Table Connection::table_of_bytes(const std::string &sql, const std::string &bytes, const std::vector<Value> &parameters) {
	constexpr Oid bytea = 17;
	std::vector<const char *> values{bytes.data()};
	std::vector<int> lengths{static_cast<int>(bytes.size())}, formats{1};
	std::vector<Oid> types{bytea};
	for (const Value &parameter : parameters) {
		values.push_back(parameter ? parameter->c_str() : nullptr);
		lengths.push_back(0);
		formats.push_back(0);
		types.push_back(0);
	}
	return table_of(checked(handle_.get(), PQexecParams(handle_.get(), sql.c_str(), static_cast<int>(values.size()), types.data(),
	                                                    values.data(), lengths.data(), formats.data(), 0))
	                    .get());
}

void Connection::on_notice(Notice notice) {
	notice_ = std::make_unique<Notice>(std::move(notice));
	PQsetNoticeReceiver(
		handle_.get(),
		[](void *own, const PGresult *result) {
			(*static_cast<Notice *>(own))(field(result, PG_DIAG_SEVERITY_NONLOCALIZED), message_of(result));
		},
		notice_.get());
}

void Connection::cancel() noexcept {
	PGcancel *const cancel = PQgetCancel(handle_.get());
	if (cancel == nullptr)
		return;
	// libpq waits for the server to hang up, for ever if need be; whoever asks has other things to do.
	try {
		std::thread([cancel] {
			char error[256];
			PQcancel(cancel, error, sizeof error);
			PQfreeCancel(cancel);
		}).detach();
	} catch (const std::system_error &) {
		PQfreeCancel(cancel);
	}
}

bool Connection::take_notifications() {
	if (PQconsumeInput(handle_.get()) == 0)
		throw ConnectionError(trimmed(PQerrorMessage(handle_.get())));
	bool any = false;
	while (PGnotify *const notification = PQnotifies(handle_.get())) {
		PQfreemem(notification);
		any = true;
	}
	return any;
}

bool Connection::wait(std::chrono::milliseconds longest) {
	if (take_notifications())
		return true;
	pollfd files[] = {{PQsocket(handle_.get()), POLLIN, 0}, {stop::descriptor(), POLLIN, 0}};
	if (poll(files, 2, static_cast<int>(longest.count())) < 0 && errno != EINTR)
		throw ConnectionError("poll failed");
	return files[0].revents != 0 && take_notifications();
}

std::string Connection::database() const {
	return PQdb(handle_.get());
}

std::string array_literal(const std::vector<std::string> &texts) {
	std::string literal = "{";
	for (const std::string &text : texts) {
		literal += literal.size() == 1 ? "\"" : ",\"";
		for (const char c : text) {
			if (c == '"' || c == '\\')
				literal += '\\';
			literal += c;
		}
		literal += '"';
	}
	return literal + "}";
}

} // namespace backfill::worker
