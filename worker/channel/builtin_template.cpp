#include "worker/channel/builtin_template.hpp"

namespace backfill::worker {

void add_slack_templates(rule::Templates &templates) {
	templates.add("run_summary", "text",
	              "*{{pipeline}}*, {{window}}: {{changed}} changed, {{failed}} failed ({{newly_failed}} new), {{skipped}} skipped, "
	              "{{unchanged}} unchanged of {{candidates}}\n"
	              "{{#reasons.entries}}• {{name}}: {{value}}\n{{/reasons.entries}}"
	              "`pg_backfill runs show {{run_id}}` tells the story");
	templates.add("run_summary", "fallback", "{{pipeline}}, {{window}}: {{changed}} changed, {{failed}} failed of {{candidates}}");
	const char *const fields = "{{#message.fields}}• {{name}}: {{value}}\n{{/message.fields}}";
	templates.add("alarm", "text",
	              ":rotating_light: *{{pipeline}}*: {{text}}\n"
	              "`SELECT * FROM backfill.alarm_history WHERE alarm_id = {{alarm_id}}` has the numbers, `pg_backfill doctor` what else is not well");
	templates.add("alarm", "fallback", "{{pipeline}}: {{text}}");
	templates.add("recovered", "text", ":white_check_mark: *{{pipeline}}*: {{text}}");
	templates.add("recovered", "fallback", "{{pipeline}}: {{text}}");
	templates.add("default", "text", std::string("*{{message.title}}* · {{message.pipeline}}\n") + fields);
	templates.add("default", "fallback", "{{message.title}}: {{message.pipeline}}");
}

void add_mail_templates(rule::Templates &templates) {
	templates.add("run_summary", "subject", "{{pipeline}}, {{window}}: {{changed}} changed, {{failed}} failed");
	templates.add("run_summary", "text",
	              "Run {{run_id}} of {{pipeline}} for {{window}}\n\n"
	              "{{changed}} changed, {{unchanged}} unchanged, {{skipped}} skipped, {{failed}} failed ({{newly_failed}} new) "
	              "of {{candidates}}\n"
	              "{{#reasons.entries}}  {{name}}: {{value}}\n{{/reasons.entries}}\n"
	              "pg_backfill runs show {{run_id}} tells the story\n");
	for (const char *const type : {"alarm", "recovered"}) {
		templates.add(type, "subject", "{{pipeline}}: {{text}}");
		templates.add(type, "text", "{{pipeline}}: {{text}}\n\nSELECT * FROM backfill.alarm_history WHERE alarm_id = {{alarm_id}};\n");
	}
	templates.add("default", "subject", "{{message.title}}");
	templates.add("default", "text",
	              "{{message.title}}\n\n{{#message.fields}}{{name}}: {{value}}\n{{/message.fields}}");
}

} // namespace backfill::worker
