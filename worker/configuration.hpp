#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <toml++/toml.h>

namespace backfill::worker {

// The configuration cannot be used. The text names the file, the line and what to do.
class ConfigurationError final : public std::runtime_error {
	using std::runtime_error::runtime_error;
};

// A table of the configuration file. Whoever reads it asks for each key it knows, and finish() refuses what is left, so
// that a misspelt key is an error and not a default.
class Section {
public:
	Section(const toml::table &table, std::string path) : table_(&table), path_(std::move(path)) {}

	std::optional<std::string> text(const std::string &key);
	std::optional<bool> boolean(const std::string &key);
	std::optional<long long> integer(const std::string &key, long long least, long long most);
	std::optional<double> number(const std::string &key, double least, double most);
	std::optional<std::vector<std::string>> texts(const std::string &key); // an array, or one text
	std::optional<Section> section(const std::string &key);
	std::vector<std::pair<std::string, Section>> sections(); // every table in it
	void finish() const;

	const std::string &path() const noexcept { return path_; }
	[[noreturn]] void refuse(const std::string &key, const std::string &why) const;

private:
	const toml::node *take(const std::string &key);

	const toml::table *table_;
	std::string path_;
	std::set<std::string> known_;
};

// The TOML file; none has no sections. Lives as long as the program.
class Configuration {
public:
	Configuration() = default;
	static Configuration read(const std::string &file);

	// The table of that name, empty if the file has none.
	Section section(const std::string &name);
	// Refuses tables that nobody asked for.
	void finish() const;

private:
	std::shared_ptr<const toml::table> root_ = std::make_shared<const toml::table>();
	std::set<std::string> known_;
};

// The value of the environment variable, if it is set and not empty.
std::optional<std::string> environment(const char *name);

} // namespace backfill::worker
