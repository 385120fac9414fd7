#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <string>

#include "worker/command/command.hpp"
#include "worker/connection.hpp"
#include "worker/delivery/outbox.hpp"
#include "worker/delivery/settings.hpp"
#include "worker/driver/settings.hpp"
#include "worker/log.hpp"
#include "worker/service/http_server.hpp"
#include "worker/stop.hpp"
#include "worker/version.hpp"

namespace {

using namespace backfill::worker;

// Flags, then the environment, then the file, each for what the one before leaves open.
struct Options {
	std::string file;
	std::string format, level; // empty: not given
};

const std::map<std::string, log::Format> formats{
	{"auto", log::Format::automatic}, {"text", log::Format::text}, {"json", log::Format::json}};
const std::map<std::string, log::Level> levels{
	{"debug", log::Level::debug}, {"info", log::Level::info}, {"warning", log::Level::warning}, {"error", log::Level::error}};

void add_options(CLI::App &app, Options &options, Invocation &invocation) {
	app.add_option("-d,--dbname", invocation.target, "Database name, key=value pairs or URI; else libpq's environment decides")
		->type_name("CONNINFO");
	app.add_option("-c,--config", options.file, "Configuration file (TOML)")
		->envname("PG_BACKFILL_CONFIG")->type_name("FILE");
	app.add_option("-o,--output", invocation.output, "How results are printed: table, json or csv")
		->envname("PG_BACKFILL_OUTPUT")->type_name("FORMAT")->check(CLI::IsMember({"table", "json", "csv"}));
	app.add_option("--log-format", options.format, "auto (text on a terminal, JSON lines otherwise), text or json")
		->envname("PG_BACKFILL_LOG_FORMAT")->type_name("FORMAT")->check(CLI::IsMember(&formats));
	app.add_option("--log-level", options.level, "debug, info, warning or error")
		->envname("PG_BACKFILL_LOG_LEVEL")->type_name("LEVEL")->check(CLI::IsMember(&levels))
		->each([&invocation](const std::string &) { invocation.log_level_given = true; });
}

ExitCode complain(ExitCode code, const std::string &message) {
	std::fprintf(stderr, "pg_backfill: %s\n", message.c_str());
	return code;
}

// A name, a key or a time that was typed means nothing to the database.
ExitCode code_of(const QueryError &error) {
	constexpr const char *undefined_object = "42704";
	const bool mistyped = error.sqlstate() == undefined_object || std::string_view(error.sqlstate()).starts_with("22");
	return mistyped ? ExitCode::usage : ExitCode::some_failed;
}

// [log]: what neither a flag nor the environment says.
template <class Word>
Word word_of(Section &section, const std::string &key, const std::map<std::string, Word> &words, const std::string &given, Word otherwise) {
	const auto text = section.text(key);
	if (text && !words.contains(*text))
		section.refuse(key, "has to be one of those that --log-" + key + " takes");
	return !given.empty() ? words.at(given) : text ? words.at(*text) : otherwise;
}

void open_log(Invocation &invocation, const Options &options) {
	Section section = invocation.configuration.section("log");
	const log::Format format = word_of(section, "format", formats, options.format, log::Format::automatic);
	const log::Level level = word_of(section, "level", levels, options.level, log::Level::info);
	section.finish();
	log::open(format, level);
}

// Whatever the command needs of it: a misspelt key is found when the file is looked at, and not when serve is started.
// Secrets are for those who send, and not asked for here.
void refuse_unknown(Configuration &configuration) {
	read_driver_settings(configuration);
	read_http_settings(configuration);
	DeliverySettings::read(configuration, true);
	configuration.finish();
}

ExitCode run(Invocation &invocation, const Options &options) {
	if (!options.file.empty())
		invocation.configuration = Configuration::read(options.file);
	open_log(invocation, options);
	refuse_unknown(invocation.configuration);
	stop::catch_signals();
	return invocation.action();
}

// What can stand behind a command.
std::string continuations(const CLI::App &command, const std::string &path) {
	std::string names;
	for (const CLI::App *const one : command.get_subcommands([](const CLI::App *) { return true; }))
		names.append(names.empty() ? "" : ", ").append(one->get_name());
	return names.empty() ? path + " --help says what it takes." : path + " has " + names + "; --help says more.";
}

// The parser names what is missing before it has looked at what is too much, which is often the same word misspelt.
ExitCode refuse(const CLI::App &app, const CLI::ParseError &error) {
	const std::vector<std::string> unknown = app.remaining(true);
	if (unknown.empty() || dynamic_cast<const CLI::RequiredError *>(&error) == nullptr)
		return app.exit(error) == 0 ? ExitCode::done : ExitCode::usage;
	const CLI::App *command = &app;
	std::string path = app.get_name();
	while (!command->get_subcommands().empty()) {
		command = command->get_subcommands().front();
		path += " " + command->get_name();
	}
	return complain(ExitCode::usage, "\"" + unknown.front() + "\" is not known\nHINT:  " + continuations(*command, path));
}

ExitCode start(int argc, char **argv) {
	CLI::App app("Drives the runs of pg_backfill, delivers their messages and shows what is going on.", "pg_backfill");
	app.require_subcommand(1);
	app.footer("Exit codes: 0 done, 1 some items failed, or an error, 2 usage, 3 cannot connect,\n"
	           "4 version mismatch, 5 nothing sent because it was suppressed");
	app.fallthrough();
	Options options;
	Invocation invocation;
	add_options(app, options, invocation);
	for (const auto add : {add_serve, add_run, add_replay, add_rehearse, add_deliver, add_channel, add_bind, add_status, add_runs, add_outbox, add_explain,
	                       add_prove, add_doctor, add_load_reports, add_report, add_completion, add_version})
		add(app, invocation);
	try {
		app.parse(argc, argv);
		return run(invocation, options);
	} catch (const CLI::ParseError &e) {
		return refuse(app, e);
	} catch (const ConfigurationError &e) {
		return complain(ExitCode::usage, e.what());
	} catch (const ConnectionError &e) {
		return complain(ExitCode::cannot_connect, std::string(e.what()) + "\nHINT:  --dbname, or PGHOST, PGPORT, PGDATABASE and PGUSER, say where the database is.");
	} catch (const QueryError &e) {
		return complain(code_of(e), explained(e));
	} catch (const VersionMismatch &e) {
		return complain(ExitCode::version_mismatch, e.what());
	} catch (const NotBound &e) {
		return complain(ExitCode::suppressed, e.what());
	} catch (const std::exception &e) {
		return complain(ExitCode::some_failed, e.what());
	}
}

} // namespace

int main(int argc, char **argv) {
	// Times that go out and come back, possibly by another session, mean the same whatever a server's setting is. libpq
	// sends it when it connects, and a pooler knows it.
	setenv("PGDATESTYLE", "ISO", 1);
	return static_cast<int>(start(argc, argv));
}
