#include "worker/report/html_report.hpp"

#include <algorithm>

#include <kainjow/mustache.hpp>

namespace backfill::worker {

namespace {

using kainjow::mustache::data;
using kainjow::mustache::mustache;

constexpr const char *page = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>pg_backfill: {{database}}</title>
<style>
body { font: 14px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em; color: #222; }
h1 { font-size: 1.4em; } h2 { font-size: 1.1em; margin-top: 2em; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .2em .8em .2em 0; border-bottom: 1px solid #ddd; vertical-align: top; }
.bar { display: flex; width: 24em; height: 1em; background: #f3f3f3; }
.changed { background: #2a7; } .unchanged { background: #bcd; } .skipped { background: #dc8; } .failed { background: #c43; }
.key span { display: inline-block; padding: 0 .6em; margin-right: .6em; } .none { color: #777; }
</style>
</head>
<body>
<h1>pg_backfill, database {{database}}</h1>
<p>As of {{at}}.</p>
<h2>Live runs</h2>
<p class="key"><span class="changed">changed</span><span class="unchanged">unchanged</span><span class="skipped">skipped</span><span class="failed">failed</span></p>
{{#pipelines}}
<h3>{{name}}</h3>
<table>
<tr><th>run</th><th>window from</th><th>state</th><th></th><th>candidates</th><th>changed</th><th>failed</th></tr>
{{#runs}}
<tr><td>{{run}}</td><td>{{window}}</td><td>{{state}}</td><td><div class="bar">{{#parts}}<div class="{{result}}" style="width:{{percent}}%" title="{{items}} {{result}}"></div>{{/parts}}</div></td><td>{{candidates}}</td><td>{{changed}}</td><td>{{failed}}</td></tr>
{{/runs}}
</table>
{{/pipelines}}
{{^pipelines}}<p class="none">No live run yet.</p>{{/pipelines}}
{{#sections}}
<h2>{{title}}</h2>
{{#any}}
<table>
<tr>{{#columns}}<th>{{.}}</th>{{/columns}}</tr>
{{#rows}}
<tr>{{#fields}}<td>{{.}}</td>{{/fields}}</tr>
{{/rows}}
</table>
{{/any}}
{{^any}}<p class="none">None.</p>{{/any}}
{{/sections}}
</body>
</html>
)";

struct Section {
	const char *title;
	const char *sql;
};

constexpr Section sections[] = {
	{"Open alarms",
     "SELECT pipeline, alarm, opened_at FROM backfill.alarm_history WHERE closed_at IS NULL ORDER BY alarm_id"},
	{"Why items were skipped or failed, in each pipeline's latest live run",
     "SELECT c.pipeline, c.step, c.status, c.reason, c.items FROM backfill.run_step_count c"
     " JOIN (SELECT max(run_id) AS run_id FROM backfill.run_history WHERE mode = 'live' GROUP BY pipeline) l USING (run_id)"
     " WHERE c.status <> 'ok' AND c.reason <> 'done' ORDER BY c.pipeline, c.items DESC, c.step, c.reason"},
	{"Runs that ended badly or are still open (latest 20)",
     "SELECT run_id, pipeline, mode, state, started_at, sqlstate, error FROM backfill.run_history"
     " WHERE state <> 'succeeded' ORDER BY run_id DESC LIMIT 20"},
	{"Items that fail night after night (first 50)",
     "SELECT p.name AS pipeline, f.item, f.windows AS nights, f.first_window FROM backfill.item_failure f"
     " JOIN backfill.pipeline p USING (pipeline_id) WHERE f.windows > 1 ORDER BY f.windows DESC, p.name, f.item LIMIT 50"},
	{"Channels", "SELECT channel, pending, claimed, unknown, dead, oldest_pending_at FROM backfill.channel_status ORDER BY channel"},
};

// The widest bar is the pipeline's run with the most candidates.
data run_data(const Row &row, double widest) {
	data run;
	const char *const names[] = {"run", "window", "state", "candidates", "changed", "unchanged", "skipped", "failed"};
	for (std::size_t i = 0; i < std::size(names); ++i)
		run.set(names[i], row.at(i + 1).value_or(""));
	data parts(data::type::list);
	for (std::size_t i = 4; i < std::size(names); ++i) {
		data part;
		part.set("result", names[i]);
		part.set("items", row.at(i + 1).value_or(""));
		part.set("percent", std::to_string(100 * std::stod(row.at(i + 1).value_or("0")) / widest));
		parts << part;
	}
	run.set("parts", parts);
	return run;
}

data pipelines(Connection &connection) {
	const auto rows = connection.query(
		"SELECT pipeline, run_id, window_from, state, candidates, changed, unchanged, skipped, failed, most FROM ("
		" SELECT h.*, row_number() OVER (PARTITION BY pipeline ORDER BY run_id DESC) AS n,"
		"  max(candidates) OVER (PARTITION BY pipeline) AS most FROM backfill.run_history h WHERE mode = 'live') r"
		" WHERE n <= 30 ORDER BY pipeline, run_id DESC");
	data all(data::type::list);
	for (std::size_t from = 0; from < rows.size();) {
		data runs(data::type::list);
		std::size_t to = from;
		for (; to < rows.size() && rows[to].at(0) == rows[from].at(0); ++to)
			runs << run_data(rows[to], std::max(1.0, std::stod(rows[to].at(9).value_or("1"))));
		data pipeline;
		pipeline.set("name", rows[from].at(0).value_or(""));
		pipeline.set("runs", runs);
		all << pipeline;
		from = to;
	}
	return all;
}

data section_data(Connection &connection, const Section &section) {
	const Table table = connection.table(section.sql);
	data columns(data::type::list), rows(data::type::list), result;
	for (const std::string &column : table.columns)
		columns << data(column);
	for (const Row &row : table.rows) {
		data fields(data::type::list), line;
		for (const Value &value : row)
			fields << data(value.value_or(""));
		line.set("fields", fields);
		rows << line;
	}
	result.set("title", section.title);
	result.set("any", !table.rows.empty());
	result.set("columns", columns);
	result.set("rows", rows);
	return result;
}

} // namespace

std::string html_report(Connection &connection, const std::string &at) {
	data all;
	all.set("database", connection.database());
	all.set("at", at);
	all.set("pipelines", pipelines(connection));
	data list(data::type::list);
	for (const Section &section : sections)
		list << section_data(connection, section);
	all.set("sections", list);
	return mustache(page).render(all);
}

} // namespace backfill::worker
