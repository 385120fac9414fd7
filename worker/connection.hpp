#pragma once

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

// The server refused a statement.
class QueryError final : public std::runtime_error {
	using std::runtime_error::runtime_error;
};

using Value = std::optional<std::string>; // empty: SQL null
using Row = std::vector<Value>;

// A session with a server. What the caller leaves open, libpq decides: environment, service file, password file.
class Connection {
public:
	// target: a database name, key=value pairs or a URI; may be empty.
	explicit Connection(const std::string &target);

	std::vector<Row> query(const std::string &sql, const std::vector<Value> &parameters = {});
	std::string database() const;

private:
	struct Close {
		void operator()(pg_conn *handle) const noexcept;
	};
	std::unique_ptr<pg_conn, Close> handle_;
};

} // namespace backfill::worker
