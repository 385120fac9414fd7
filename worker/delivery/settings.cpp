#include "worker/delivery/settings.hpp"

#include <optional>

namespace backfill::worker {

namespace {

using std::chrono::milliseconds;

milliseconds seconds(Section &section, const std::string &key, double least, double most, milliseconds otherwise) {
	const auto value = section.number(key, least, most);
	return value ? milliseconds(static_cast<milliseconds::rep>(*value * 1000)) : otherwise;
}

constexpr double day = 24 * 3600;

void read_retry(Section &section, ChannelSettings &channel) {
	channel.max_attempts = static_cast<int>(section.integer("max_attempts", 1, 100).value_or(channel.max_attempts));
	channel.retry.base = seconds(section, "retry_seconds", 0.001, day, channel.retry.base);
	channel.retry.cap = seconds(section, "retry_longest_seconds", 0.001, day, channel.retry.cap);
	channel.breaker.threshold = static_cast<int>(section.integer("breaker_failures", 1, 1000).value_or(channel.breaker.threshold));
	channel.breaker.first_pause = seconds(section, "breaker_seconds", 0.001, day, channel.breaker.first_pause);
	channel.breaker.longest_pause = seconds(section, "breaker_longest_seconds", 0.001, day, channel.breaker.longest_pause);
}

void add_template(Section &section, const ChannelKind &kind, const std::string &type, rule::Templates &templates) {
	const std::string all = kind.template_parts;
	bool any = false;
	for (size_t begin = 0; begin < all.size();) {
		const size_t end = std::min(all.find(' ', begin), all.size());
		const std::string part = all.substr(begin, end - begin);
		begin = end + 1;
		const auto text = section.text(part);
		if (!text)
			continue;
		try {
			templates.add(type, part, *text);
		} catch (const rule::TemplateInvalid &invalid) {
			section.refuse(part, std::string("cannot be read as a template: ") + invalid.what());
		}
		any = true;
	}
	section.finish();
	if (!any)
		section.refuse(all.empty() ? "text" : all.substr(0, all.find(' ')),
		               all.empty() ? "is of no use: channels of kind " + std::string(kind.name) + " send the payload as it is" : "is missing");
}

// [template.CHANNEL.TYPE]; a type's templates replace what is built in for it.
rule::Templates read_templates(std::optional<Section> section, const ChannelKind &kind) {
	rule::Templates templates;
	if (kind.add_templates != nullptr)
		kind.add_templates(templates);
	if (section)
		for (auto &[type, parts] : section->sections()) {
			templates.forget(type);
			add_template(parts, kind, type, templates);
		}
	if (section)
		section->finish();
	return templates;
}

ChannelSettings read_channel(const std::string &name, Section &section, std::optional<Section> own_templates, const DeliverySettings &delivery) {
	const auto kind_name = section.text("kind");
	if (!kind_name)
		section.refuse("kind", "is missing; it is one of " + channel_kind_names());
	const ChannelKind *const kind = channel_kind(*kind_name);
	if (kind == nullptr)
		section.refuse("kind", "has to be one of " + channel_kind_names());

	ChannelSettings channel;
	channel.name = name;
	channel.kind = *kind_name;
	channel.inert = section.boolean("inert").value_or(false) || delivery.inert || channel.kind == "inert";
	const std::string when_unknown = section.text("when_unknown").value_or(kind->drops_duplicates ? "retry" : "hold");
	if (when_unknown != "hold" && when_unknown != "retry")
		section.refuse("when_unknown", "has to be \"hold\" or \"retry\"");
	channel.hold = when_unknown == "hold";
	channel.batch = static_cast<int>(section.integer("batch", 1, 10000).value_or(channel.hold ? 1 : kind->batch));
	channel.senders = static_cast<int>(section.integer("senders", 1, 64).value_or(1));
	channel.per_second = section.number("per_second", 0, 100000).value_or(kind->per_second);
	channel.timeout = seconds(section, "timeout_seconds", 0.1, 3600, channel.timeout);
	channel.lease = seconds(section, "lease_seconds", 1, day, channel.lease);
	if (channel.lease < channel.timeout * 3)
		section.refuse("lease_seconds", "has to be at least three times timeout_seconds");
	read_retry(section, channel);

	ChannelContext context;
	context.name = name;
	context.inert = channel.inert;
	context.timeout = channel.timeout;
	context.connect_timeout = seconds(section, "connect_timeout_seconds", 0.1, 3600, context.connect_timeout);
	context.shutdown = delivery.shutdown;
	context.templates = read_templates(std::move(own_templates), *kind);
	context.duplicates_harm = channel.hold;
	channel.open = kind->open(section, std::move(context));
	section.finish();
	return channel;
}

} // namespace

DeliverySettings DeliverySettings::read(Configuration &configuration, bool inert) {
	DeliverySettings settings;
	Section delivery = configuration.section("delivery");
	settings.enabled = delivery.boolean("enabled").value_or(true);
	settings.inert = delivery.boolean("inert").value_or(false) || inert;
	const std::string state = environment("STATE_DIRECTORY").value_or("/var/lib/pg_backfill");
	settings.binding_file = delivery.text("binding_file").value_or(state + "/binding");
	settings.poll = seconds(delivery, "poll_seconds", 0.01, 3600, settings.poll);
	settings.rescan = seconds(delivery, "rescan_seconds", 0.01, 3600, settings.rescan);
	settings.shutdown = seconds(delivery, "shutdown_seconds", 0, 3600, settings.shutdown);
	delivery.finish();

	Section channels = configuration.section("channel");
	Section templates = configuration.section("template");
	for (auto &[name, section] : channels.sections())
		settings.channels.emplace(name, read_channel(name, section, templates.section(name), settings));
	channels.finish();
	templates.finish();
	return settings;
}

ChannelSettings DeliverySettings::inert_channel(const std::string &name) {
	ChannelSettings channel;
	channel.name = name;
	channel.kind = "inert";
	channel.inert = true;
	channel.hold = true; // what another worker was sending when it died stays for a person
	channel.batch = 100;
	Configuration none;
	Section section = none.section("channel");
	channel.open = open_inert(section, {});
	return channel;
}

bool DeliverySettings::can_send() const noexcept {
	for (const auto &[name, channel] : channels)
		if (!channel.inert)
			return true;
	return false;
}

} // namespace backfill::worker
