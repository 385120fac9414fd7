#include "worker/connection.hpp"

#include <libpq-fe.h>

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

std::vector<Row> rows_of(const PGresult *result) {
	std::vector<Row> rows(static_cast<size_t>(PQntuples(result)));
	for (int row = 0; row < PQntuples(result); ++row)
		for (int column = 0; column < PQnfields(result); ++column) {
			const bool null = PQgetisnull(result, row, column) != 0;
			rows[static_cast<size_t>(row)].push_back(null ? Value() : Value(PQgetvalue(result, row, column)));
		}
	return rows;
}

} // namespace

void Connection::Close::operator()(pg_conn *handle) const noexcept {
	PQfinish(handle);
}

Connection::Connection(const std::string &target) {
	// A value for dbname that is a connection string is taken apart; an empty one counts as not given.
	const char *const keys[] = {"dbname", "fallback_application_name", nullptr};
	const char *const values[] = {target.c_str(), "pg_backfill", nullptr};
	handle_.reset(PQconnectdbParams(keys, values, 1));
	if (handle_ == nullptr)
		throw std::bad_alloc();
	if (PQstatus(handle_.get()) != CONNECTION_OK)
		throw ConnectionError(trimmed(PQerrorMessage(handle_.get())));
}

std::vector<Row> Connection::query(const std::string &sql, const std::vector<Value> &parameters) {
	std::vector<const char *> values;
	for (const Value &parameter : parameters)
		values.push_back(parameter ? parameter->c_str() : nullptr);
	const Result result(PQexecParams(handle_.get(), sql.c_str(), static_cast<int>(values.size()), nullptr,
	                                 values.data(), nullptr, nullptr, 0));
	const ExecStatusType status = PQresultStatus(result.get());
	if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
		return rows_of(result.get());
	const std::string message = trimmed(PQerrorMessage(handle_.get()));
	if (PQstatus(handle_.get()) != CONNECTION_OK)
		throw ConnectionError(message);
	throw QueryError(message);
}

std::string Connection::database() const {
	return PQdb(handle_.get());
}

} // namespace backfill::worker
