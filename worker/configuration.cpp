#include "worker/configuration.hpp"

#include <cstdlib>
#include <filesystem>

namespace backfill::worker {

namespace {

std::string where(const toml::source_region &source) {
	const std::string file = source.path ? *source.path : "configuration";
	return file + ":" + std::to_string(source.begin.line);
}

const toml::table nothing;

} // namespace

std::optional<std::string> environment(const char *name) {
	const char *const value = std::getenv(name);
	return value != nullptr && *value != '\0' ? std::optional<std::string>(value) : std::nullopt;
}

const toml::node *Section::take(const std::string &key) {
	known_.insert(key);
	return table_->get(key);
}

void Section::refuse(const std::string &key, const std::string &why) const {
	const toml::node *const node = table_->get(key);
	const std::string name = path_.empty() ? key : path_ + "." + key;
	throw ConfigurationError(where(node != nullptr ? node->source() : table_->source()) + ": " + name + " " + why);
}

std::optional<std::string> Section::text(const std::string &key) {
	const toml::node *const node = take(key);
	if (node == nullptr)
		return std::nullopt;
	if (const auto value = node->value_exact<std::string>())
		return value;
	refuse(key, "has to be a text in quotes");
}

std::optional<bool> Section::boolean(const std::string &key) {
	const toml::node *const node = take(key);
	if (node == nullptr)
		return std::nullopt;
	if (const auto value = node->value_exact<bool>())
		return value;
	refuse(key, "has to be true or false");
}

std::optional<long long> Section::integer(const std::string &key, long long least, long long most) {
	const toml::node *const node = take(key);
	if (node == nullptr)
		return std::nullopt;
	const auto value = node->value_exact<int64_t>();
	if (value && *value >= least && *value <= most)
		return *value;
	refuse(key, "has to be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
}

std::optional<double> Section::number(const std::string &key, double least, double most) {
	const toml::node *const node = take(key);
	if (node == nullptr)
		return std::nullopt;
	const auto value = node->is_number() ? node->value<double>() : std::nullopt;
	if (value && *value >= least && *value <= most)
		return value;
	refuse(key, "has to be a number from " + std::to_string(least) + " to " + std::to_string(most));
}

std::optional<std::vector<std::string>> Section::texts(const std::string &key) {
	const toml::node *const node = take(key);
	if (node == nullptr)
		return std::nullopt;
	if (const auto one = node->value_exact<std::string>())
		return std::vector{*one};
	std::vector<std::string> values;
	if (const toml::array *const array = node->as_array()) {
		for (const toml::node &element : *array)
			if (const auto value = element.value_exact<std::string>())
				values.push_back(*value);
		if (values.size() == array->size())
			return values;
	}
	refuse(key, "has to be an array of texts");
}

std::optional<Section> Section::section(const std::string &key) {
	const toml::node *const node = take(key);
	if (node == nullptr)
		return std::nullopt;
	if (const toml::table *const table = node->as_table())
		return Section(*table, path_.empty() ? key : path_ + "." + key);
	refuse(key, "has to be a table");
}

std::vector<std::pair<std::string, Section>> Section::sections() {
	std::vector<std::pair<std::string, Section>> found;
	for (const auto &[key, node] : *table_)
		if (node.is_table())
			found.emplace_back(std::string(key.str()), *section(std::string(key.str())));
	return found;
}

void Section::finish() const {
	for (const auto &[key, node] : *table_)
		if (!known_.contains(std::string(key.str())))
			refuse(std::string(key.str()), "is not known; worker/pg_backfill.toml has every key with a comment");
}

Configuration Configuration::read(const std::string &file) {
	if (std::filesystem::is_directory(file))
		throw ConfigurationError(file + ": is a directory, and not a TOML file");
	Configuration configuration;
	try {
		configuration.root_ = std::make_shared<const toml::table>(toml::parse_file(file));
	} catch (const toml::parse_error &error) {
		// A file that cannot be opened has no position.
		const std::string at = error.source().begin.line > 0 ? where(error.source()) : file;
		const char *const hint = error.source().begin.line > 0 ? "" : "\nHINT:  --config, or PG_BACKFILL_CONFIG, names the file.";
		throw ConfigurationError(at + ": " + std::string(error.description()) + hint);
	}
	return configuration;
}

Section Configuration::section(const std::string &name) {
	known_.insert(name);
	return Section(*root_, "").section(name).value_or(Section(nothing, name));
}

void Configuration::finish() const {
	Section root(*root_, "");
	for (const auto &[key, node] : *root_)
		if (!known_.contains(std::string(key.str())))
			root.refuse(std::string(key.str()), "is not a section; worker/pg_backfill.toml has every section with a comment");
}

} // namespace backfill::worker
