#include "worker/metrics.hpp"

#include <mutex>
#include <stdexcept>

#include <spdlog/fmt/fmt.h>

namespace backfill::worker::metrics {

namespace {

struct Declaration {
	std::string_view name;
	std::string_view type;
	std::string_view help;
};

constexpr Declaration declarations[] = {
	{"pg_backfill_deliveries_total", "counter", "Attempts to deliver, by channel and what they came to."},
	{"pg_backfill_channel_paused", "gauge", "1 while a channel's provider is taken for down and only tried now and then."},
	{"pg_backfill_runs_total", "counter", "Runs this worker ended, by pipeline and state."},
	{"pg_backfill_items_total", "counter", "Items this worker took through a run, by pipeline and result."},
	{"pg_backfill_outbox_messages", "gauge", "Messages that are not done with, by channel and state: pending, claimed, unknown (for a person) or dead."},
	{"pg_backfill_database_up", "gauge", "1 while the worker reaches its database."},
};

struct Registry {
	std::mutex mutex;
	std::map<std::string_view, Values> values; // by declared name
};

Registry &registry() {
	static Registry instance;
	return instance;
}

std::string_view declared(std::string_view name) {
	for (const Declaration &declaration : declarations)
		if (declaration.name == name)
			return declaration.name;
	throw std::logic_error("metric " + std::string(name) + " is not declared");
}

} // namespace

void count(std::string_view name, std::string_view labels, double amount) {
	Registry &own = registry();
	const std::scoped_lock lock(own.mutex);
	own.values[declared(name)][std::string(labels)] += amount;
}

void set(std::string_view name, std::string_view labels, double value) {
	Registry &own = registry();
	const std::scoped_lock lock(own.mutex);
	own.values[declared(name)][std::string(labels)] = value;
}

void replace(std::string_view name, Values values) {
	Registry &own = registry();
	const std::scoped_lock lock(own.mutex);
	own.values[declared(name)] = std::move(values);
}

std::string exposition() {
	Registry &own = registry();
	const std::scoped_lock lock(own.mutex);
	std::string text;
	for (const Declaration &declaration : declarations) {
		text += fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", declaration.name, declaration.type, declaration.help);
		for (const auto &[labels, value] : own.values[declaration.name])
			text += labels.empty() ? fmt::format("{} {}\n", declaration.name, value)
			                       : fmt::format("{}{{{}}} {}\n", declaration.name, labels, value);
	}
	return text;
}

} // namespace backfill::worker::metrics
