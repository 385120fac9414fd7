#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "worker/command/output.hpp"
#include "worker/command/open_session.hpp"

namespace backfill::worker {

namespace {

// As the server: bodies beyond it are no reports.
constexpr std::size_t largest_body = std::size_t{256} << 20;

struct Options {
	std::vector<std::string> files;
	std::string mobile, bureau;
	bool with_leads = false;
};

class NotPermitted final : public std::runtime_error {
	using std::runtime_error::runtime_error;
};

// The report's own mobile stands in for one that was not given. The same body for the same mobile is loaded once.
constexpr const char *load = R"(
	WITH reading AS (
		SELECT coalesce($2, r.mobile) AS mobile, r.bureau, r.outcome, r.reason, cardinality(r.tradelines) AS tradelines
		FROM bt.read_report($1) r),
	known AS (
		SELECT c.id FROM reading r JOIN bt.credit_report c ON bt.mobile_number(c.mobile) = bt.mobile_number(r.mobile)
		WHERE c.sha256 = sha256($1) ORDER BY c.id LIMIT 1),
	loaded AS (
		INSERT INTO bt.credit_report (mobile, bureau, body)
		SELECT r.mobile, $3, $1 FROM reading r WHERE bt.mobile_number(r.mobile) IS NOT NULL AND NOT EXISTS (SELECT FROM known)
		RETURNING id),
	lead AS (
		INSERT INTO bt.lead (mobile)
		SELECT r.mobile FROM reading r
		WHERE $4::boolean AND bt.mobile_number(r.mobile) IS NOT NULL
			AND NOT EXISTS (SELECT FROM bt.lead l WHERE bt.mobile_number(l.mobile) = bt.mobile_number(r.mobile))
		RETURNING id)
	SELECT $5::text AS file, coalesce(l.id, k.id) AS report_id,
		CASE WHEN l.id IS NOT NULL THEN 'loaded' WHEN k.id IS NOT NULL THEN 'already there'
			WHEN r.outcome = 'failed' THEN 'unreadable' ELSE 'no mobile' END AS result,
		r.bureau, r.outcome, r.reason, r.tradelines, d.id AS lead
	FROM reading r LEFT JOIN loaded l ON true LEFT JOIN known k ON true LEFT JOIN lead d ON true)";

std::string read_all(const std::string &file) {
	std::ifstream opened;
	if (file != "-") {
		if (std::filesystem::is_directory(file))
			throw std::runtime_error(file + ": " + std::strerror(EISDIR));
		opened.open(file, std::ios::binary);
		if (!opened)
			throw std::runtime_error(file + ": " + std::strerror(errno));
	}
	std::istream &in = file == "-" ? std::cin : opened;
	std::string body{std::istreambuf_iterator<char>(in), {}};
	if (in.bad() || (body.empty() && in.fail() && !in.eof()))
		throw std::runtime_error(file + ": it cannot be read");
	if (body.size() > largest_body)
		throw std::runtime_error(file + ": larger than 256 MB, so not a report");
	return body;
}

void require_leads(Connection &connection) {
	if (connection.query("SELECT FROM pg_catalog.pg_extension WHERE extname = 'bt_leads'").empty())
		throw std::runtime_error("extension bt_leads is not installed in database \"" + connection.database() +
		                         "\"\nHINT:  Run CREATE EXTENSION bt_leads CASCADE there, then SELECT bt.install_pipeline().");
}

// What it takes is lacking for every file.
Table load_body(Connection &connection, const Options &options, const std::string &file, const std::string &body) {
	try {
		return connection.table_of_bytes(load, body, {given(options.mobile), given(options.bureau), options.with_leads ? "true" : "false", file});
	} catch (const QueryError &error) {
		if (error.is_refusal())
			throw NotPermitted(std::string(error.what()) + "\nHINT:  It takes GRANT SELECT, INSERT ON bt.credit_report, bt.lead TO " +
			                   connection.value("SELECT pg_catalog.quote_ident(current_user)").value_or("") + ".");
		throw;
	}
}

void complain(const std::string &what) {
	std::fprintf(stderr, "pg_backfill: %s\n", what.c_str());
}

// A row of the table, or nothing: told why.
std::optional<Table> load_file(Connection &connection, const Options &options, const std::string &file) {
	try {
		return load_body(connection, options, file, read_all(file));
	} catch (const ConnectionError &) {
		throw;
	} catch (const NotPermitted &) {
		throw;
	} catch (const std::runtime_error &error) {
		complain(error.what());
		return std::nullopt;
	}
}

// Whether the report is in the database now; if not, told why.
bool is_stored(const std::string &file, const Row &row) {
	enum Column { report_id = 1, outcome = 4, reason = 5 };
	if (row.at(report_id))
		return true;
	if (row.at(outcome) == "failed")
		complain(file + ": not a report that can be read: " + row.at(reason).value_or(""));
	else
		complain(file + ": the report has no mobile of its own\nHINT:  Say whose it is with --mobile.");
	return false;
}

ExitCode load_reports(const Invocation &invocation, const Options &options) {
	Connection connection = open_session(invocation);
	require_leads(connection);
	if (!options.mobile.empty() && !connection.value("SELECT bt.mobile_number($1)", {options.mobile})) {
		complain("--mobile is not an Indian mobile number\nHINT:  Ten digits, with or without +91.");
		return ExitCode::usage;
	}
	Table all;
	bool every = true;
	for (const std::string &file : options.files) {
		std::optional<Table> one = load_file(connection, options, file);
		every = one && is_stored(file, one->rows.at(0)) && every;
		if (!one)
			continue;
		all.columns = std::move(one->columns);
		all.types = std::move(one->types);
		all.rows.push_back(std::move(one->rows.at(0)));
	}
	if (!all.rows.empty())
		print_table(invocation, all);
	return every ? ExitCode::done : ExitCode::some_failed;
}

} // namespace

void add_load_reports(CLI::App &app, Invocation &invocation) {
	CLI::App *const command = app.add_subcommand("load-reports", "Load credit reports into bt.credit_report, byte for byte, and say how they read");
	const auto options = std::make_shared<Options>();
	command->add_option("files", options->files, "Report files, in any form and wrapper; - is standard input")->required();
	command->add_option("--mobile", options->mobile, "Whose the reports are (default: the mobile in each report)");
	command->add_option("--bureau", options->bureau, "What the sender says (the reader decides by the body)");
	command->add_flag("--with-leads", options->with_leads, "Also create a lead for each mobile that has none");
	command->callback([&invocation, options] { invocation.action = [&invocation, options] { return load_reports(invocation, *options); }; });
	command->footer("Examples:\n  pg_backfill load-reports --with-leads reports/*.json\n"
	                "  curl -s https://bureau.example/report | pg_backfill load-reports --mobile 6000000001 -");
}

} // namespace backfill::worker
