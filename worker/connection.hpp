#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

struct pg_conn;

namespace backfill::worker {

// The server could not be reached, or went away. The text is libpq's.
class ConnectionError final : public std::runtime_error {
	using std::runtime_error::runtime_error;
};

// The server refused a statement. The text is the server's, with its hint.
class QueryError final : public std::runtime_error {
public:
	QueryError(const std::string &text, std::string state) : std::runtime_error(text), state_(std::move(state)) {}
	const std::string &sqlstate() const noexcept { return state_; }
	bool is_refusal() const noexcept { return state_ == "42501"; } // a right is lacking

private:
	std::string state_;
};

// What an error says to people. Where the server refuses a function or a table it does not say which right is lacking.
std::string explained(const std::exception &error);

using Value = std::optional<std::string>; // empty: SQL null
using Row = std::vector<Value>;

struct Table {
	std::vector<std::string> columns;
	std::vector<unsigned> types; // OIDs of the columns' types
	std::vector<Row> rows;
};

// A session with a server, used by one thread at a time. What the caller leaves open, libpq decides: environment,
// service file, password file.
class Connection {
public:
	// target: a database name, key=value pairs or a URI; may be empty. Connecting is tried for ten seconds, unless the
	// target or the environment says otherwise.
	explicit Connection(const std::string &target);

	// Each statement is its own transaction unless BEGIN came before.
	std::vector<Row> query(const std::string &sql, const std::vector<Value> &parameters = {});
	Table table(const std::string &sql, const std::vector<Value> &parameters = {});
	// One field, of one row.
	Value value(const std::string &sql, const std::vector<Value> &parameters = {});

	// A file's bytes as a parameter, without the detour of bytea's text form: $1 is the bytes, the texts follow.
	Table table_of_bytes(const std::string &sql, const std::string &bytes, const std::vector<Value> &parameters = {});

	// What a WARNING or NOTICE says, as it comes.
	using Notice = std::function<void(const std::string &severity, const std::string &text)>;
	void on_notice(Notice notice);

	// Asks the server to cancel what this session is at, and does not wait for it; from any thread.
	void cancel() noexcept;

	// Waits until a notification has come, `longest` has passed, or the program is asked to stop. True: notified. What
	// was notified is consumed.
	bool wait(std::chrono::milliseconds longest);

	std::string database() const;

private:
	struct Close {
		void operator()(pg_conn *handle) const noexcept;
	};
	bool take_notifications();

	// The role's or database's defaults would make claims fail, items be done twice, or {NULL} mean a text.
	bool needs_own_settings_ = false;

	std::unique_ptr<Notice> notice_;
	std::unique_ptr<pg_conn, Close> handle_;
};

// SQL's array literal of the texts: a parameter for text[] and whatever it casts to.
std::string array_literal(const std::vector<std::string> &texts);

} // namespace backfill::worker
