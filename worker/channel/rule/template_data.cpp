#include "worker/channel/rule/template_data.hpp"

#include <vector>

#include <nlohmann/json.hpp>

#include "worker/channel/rule/template.hpp"

namespace backfill::worker::rule {

namespace {

using kainjow::mustache::data;
using kainjow::mustache::list;
using kainjow::mustache::object;

// Builds mustache's values as the payload is read, so that a number stays the text it is: jsonb's may have more digits
// than a double.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
public:
	data take() { return std::move(root_); }

	bool null() override { return add(data(data::type::list)); }
	bool boolean(bool value) override { return add(data(value), value ? "true" : "false"); }
	bool number_integer(number_integer_t value) override { return add_text(std::to_string(value)); }
	bool number_unsigned(number_unsigned_t value) override { return add_text(std::to_string(value)); }
	bool number_float(number_float_t, const string_t &text) override { return add_text(text); }
	bool string(string_t &value) override { return add_text(value); }
	bool binary(binary_t &) override { return false; }

	bool start_object(std::size_t) override { return open(data(data::type::object)); }
	bool start_array(std::size_t) override { return open(data(data::type::list)); }
	bool key(string_t &name) override {
		open_.back().key = name;
		return true;
	}
	bool end_object() override {
		Open &done = open_.back();
		if (done.value.get("entries") == nullptr)
			done.value.set("entries", data(std::move(done.entries)));
		return close();
	}
	bool end_array() override { return close(); }
	bool parse_error(std::size_t, const std::string &, const nlohmann::detail::exception &) override { return false; }

private:
	struct Open {
		data value;
		std::string key;
		list entries; // an object's
	};

	bool open(data value) {
		open_.push_back({std::move(value), {}, {}});
		return true;
	}
	bool close() {
		data value = std::move(open_.back().value);
		open_.pop_back();
		return add(std::move(value));
	}
	bool add_text(const std::string &text) { return add(data(text), text); }
	// text: of what can be an entry.
	bool add(data value, const std::string &text) {
		if (!open_.empty() && open_.back().value.is_object())
			open_.back().entries.push_back(object{{"name", open_.back().key}, {"value", text}});
		return add(std::move(value));
	}
	bool add(data value) {
		if (open_.empty())
			root_ = std::move(value);
		else if (open_.back().value.is_object())
			open_.back().value.set(open_.back().key, std::move(value));
		else
			open_.back().value << std::move(value);
		return true;
	}

	std::vector<Open> open_;
	data root_;
};

std::string title_of(const std::string &type) {
	std::string title = type;
	for (char &c : title)
		if (c == '_')
			c = ' ';
	if (!title.empty() && title.front() >= 'a' && title.front() <= 'z')
		title.front() = static_cast<char>(title.front() - 'a' + 'A');
	return title;
}

} // namespace

data template_data(const Message &message) {
	Builder builder;
	if (!nlohmann::json::sax_parse(message.payload, &builder))
		throw TemplateFailed("the payload cannot be read", "template_payload_unreadable");
	data fields = builder.take();
	if (!fields.is_object()) {
		const list only = fields.is_string() ? list{object{{"name", "value"}, {"value", fields}}} : list{};
		fields = object{{"value", std::move(fields)}, {"entries", only}};
	}
	const data *const entries = fields.get("entries");
	const data listed = entries != nullptr && entries->is_list() ? *entries : data(data::type::list);
	fields.set("message", object{{"fields", listed},
	                             {"id", std::to_string(message.id)},
	                             {"type", message.type},
	                             {"title", title_of(message.type)},
	                             {"pipeline", message.pipeline},
	                             {"recipient", message.recipient},
	                             {"key", message.key},
	                             {"window_from", message.window_from},
	                             {"window_to", message.window_to},
	                             {"generation", std::to_string(message.generation)},
	                             {"payload", message.payload}});
	return fields;
}

} // namespace backfill::worker::rule
