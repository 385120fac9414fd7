#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

namespace backfill::worker::log {

enum class Level { debug, info, warning, error };
enum class Format { automatic, text, json }; // automatic: text on a terminal, JSON lines otherwise

// Everything goes to standard error through one place. To be called once; before it, and in commands that print a
// result, only warnings and errors are written.
void open(Format format, Level least);

void least(Level level); // to be written, from now on

// A number or a text. Never a payload, a body or a secret.
struct Field {
	std::string_view name;
	std::variant<long long, double, std::string> value;

	Field(std::string_view field, std::integral auto number) : name(field), value(static_cast<long long>(number)) {}
	Field(std::string_view field, double number) : name(field), value(number) {}
	Field(std::string_view field, std::string text) : name(field), value(std::move(text)) {}
	Field(std::string_view field, std::string_view text) : name(field), value(std::string(text)) {}
	Field(std::string_view field, const char *text) : name(field), value(std::string(text)) {}
};

// One line: when, level, event (snake_case), fields. Text quotes what is not a plain word.
void write(Level level, std::string_view event, std::initializer_list<Field> fields = {});

inline void debug(std::string_view event, std::initializer_list<Field> fields = {}) { write(Level::debug, event, fields); }
inline void info(std::string_view event, std::initializer_list<Field> fields = {}) { write(Level::info, event, fields); }
inline void warning(std::string_view event, std::initializer_list<Field> fields = {}) { write(Level::warning, event, fields); }
inline void error(std::string_view event, std::initializer_list<Field> fields = {}) { write(Level::error, event, fields); }

// What a run decided about an item, or a tally: the narration of a run.
struct Step {
	long long run;
	std::string_view pipeline;
	std::string_view item;
	std::string_view stage;
	std::string_view status;
	std::string_view reason;
	double milliseconds;
};
void step(const Step &step);

} // namespace backfill::worker::log
