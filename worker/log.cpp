#include "worker/log.hpp"

#include <cmath>
#include <memory>

#include <nlohmann/json.hpp>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <unistd.h>

namespace backfill::worker::log {

namespace {

spdlog::level::level_enum level_of(Level level) {
	switch (level) {
	case Level::debug: return spdlog::level::debug;
	case Level::info: return spdlog::level::info;
	case Level::warning: return spdlog::level::warn;
	case Level::error: return spdlog::level::err;
	}
	return spdlog::level::err;
}

struct Writer {
	Writer() : logger("pg_backfill", std::make_shared<spdlog::sinks::stderr_sink_mt>()) {
		logger.set_pattern("%Y-%m-%d %H:%M:%S.%e %l %v", spdlog::pattern_time_type::utc);
		logger.set_level(spdlog::level::warn);
	}
	spdlog::logger logger;
	bool json = false;
};

Writer &writer() {
	static Writer instance;
	return instance;
}

using Json = nlohmann::ordered_json;

// A text is not always UTF-8.
std::string dump(const Json &value) {
	return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json json_of(const Field &field) {
	return std::visit([](const auto &value) { return Json(value); }, field.value);
}

bool is_plain(const std::string &text) {
	return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:/@+#") ==
	                            std::string::npos;
}

std::string text_of(const Field &field) {
	const auto *const text = std::get_if<std::string>(&field.value);
	return text != nullptr && is_plain(*text) ? *text : dump(json_of(field));
}

} // namespace

void open(Format format, Level least) {
	Writer &own = writer();
	own.json = format == Format::json || (format == Format::automatic && isatty(STDERR_FILENO) == 0);
	if (own.json)
		own.logger.set_pattern("{\"at\":\"%Y-%m-%dT%H:%M:%S.%eZ\",\"level\":\"%l\",%v}", spdlog::pattern_time_type::utc);
	own.logger.set_level(level_of(least));
}

void least(Level level) {
	writer().logger.set_level(level_of(level));
}

void write(Level level, std::string_view event, std::initializer_list<Field> fields) {
	Writer &own = writer();
	const spdlog::level::level_enum how = level_of(level);
	if (!own.logger.should_log(how))
		return;
	std::string line;
	if (own.json) {
		Json object{{"event", event}};
		for (const Field &field : fields)
			object[std::string(field.name)] = json_of(field);
		line = dump(object);
		line = line.substr(1, line.size() - 2);
	} else {
		line = event;
		for (const Field &field : fields)
			line.append(" ").append(field.name).append("=").append(text_of(field));
	}
	own.logger.log(how, spdlog::string_view_t(line));
}

void step(const Step &step) {
	const Level level = step.status == "failed" ? Level::warning : Level::info;
	write(level, "step",
	      {{"run", step.run}, {"pipeline", step.pipeline}, {"item", step.item}, {"stage", step.stage}, {"status", step.status},
	       {"reason", step.reason}, {"ms", std::round(step.milliseconds * 1000) / 1000}});
}

} // namespace backfill::worker::log
