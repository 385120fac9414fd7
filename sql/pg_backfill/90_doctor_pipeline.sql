
-- What may be wrong with the pipelines: definitions, privileges, plans and runs.

CREATE FUNCTION backfill._command_plans(pipeline text) RETURNS TABLE (step text, command text, sqlstate text, message text, lacking json, plan json)
	LANGUAGE c AS 'MODULE_PATHNAME', 'pg_backfill__command_plans';
COMMENT ON FUNCTION backfill._command_plans(text) IS
	'plans each command of a pipeline as its owner, by index wherever one serves, runs none, and rolls back what planning did; a command that fails has sqlstate and message; lacking: [{relation, role, privilege}]';

CREATE FUNCTION backfill._large_table() RETURNS bigint
	LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 8 * 1024 * 1024;
COMMENT ON FUNCTION backfill._large_table() IS 'bytes from which on a table should not be read from end to end in each batch';

-- The schemas that a search path names, whether or not anybody may look into them.
CREATE FUNCTION backfill._path_schemas(search_path text, owner name) RETURNS SETOF name
	LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE s.name WHEN '$user' THEN owner ELSE s.name::name END
	FROM regexp_matches(search_path, '"((?:[^"]|"")*)"|([^\s,"]+)', 'g') AS m(part),
		LATERAL (SELECT coalesce(replace(m.part[1], '""', '"'), lower(m.part[2]))) s(name)
$$;
COMMENT ON FUNCTION backfill._path_schemas(text, name) IS 'names of the schemas in a search path';

-- The server's message names no schema: which relation it is, and whose privilege, is what the plan says. Of functions and
-- sequences it says nothing, so that there may be several.
CREATE FUNCTION backfill._doctor_grant(owner name, search_path text, lacking json, message text) RETURNS text
	LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE m.said[1]
		-- What lies in a schema that the owner may not look into does not exist for him.
		WHEN 'absent' THEN (
			SELECT format('GRANT USAGE ON SCHEMA %I TO %I;', n.nspname, owner)
			FROM backfill._path_schemas(search_path, owner) s JOIN pg_namespace n ON n.nspname = s
			WHERE NOT has_schema_privilege(owner, n.oid, 'USAGE') AND EXISTS (
				SELECT FROM pg_class c WHERE c.relnamespace = n.oid AND c.relname = m.said[2]
				UNION ALL SELECT FROM pg_proc f WHERE f.pronamespace = n.oid AND f.proname = m.said[2])
			ORDER BY n.nspname LIMIT 1)
		WHEN 'schema' THEN format('GRANT USAGE ON SCHEMA %I TO %I;', m.said[2], owner)
		WHEN 'function' THEN (
			SELECT CASE WHEN count(*) = 1 THEN min(format('GRANT EXECUTE ON FUNCTION %s TO %I;', f.oid::regprocedure, owner)) END
			FROM pg_proc f WHERE f.proname = m.said[2] AND NOT has_function_privilege(owner, f.oid, 'EXECUTE'))
		WHEN 'sequence' THEN (
			SELECT CASE WHEN count(*) = 1 THEN min(format('GRANT USAGE ON SEQUENCE %s TO %I;', c.oid::regclass, owner)) END
			FROM pg_class c WHERE c.relname = m.said[2] AND c.relkind = 'S' AND NOT has_sequence_privilege(owner, c.oid, 'USAGE'))
		-- A view is refused before there is a plan that names it.
		WHEN 'view' THEN (
			SELECT CASE WHEN count(*) = 1 THEN min(format('GRANT %s ON %s TO %I;', CASE WHEN has_table_privilege(owner, c.oid, 'SELECT') THEN 'INSERT, UPDATE, DELETE' ELSE 'SELECT' END,
				c.oid::regclass, owner)) END
			FROM pg_class c WHERE c.relname = m.said[2] AND c.relkind = 'v')
		ELSE (
			SELECT string_agg(g.statement, ' ' ORDER BY g.statement)
			FROM (
				SELECT format('GRANT %s ON %s TO %I;', string_agg(DISTINCT l.privilege, ', '), c.oid::regclass, r.rolname) AS statement
				FROM json_to_recordset(lacking) AS l(relation oid, role oid, privilege text) JOIN pg_class c ON c.oid = l.relation JOIN pg_roles r ON r.oid = l.role
				WHERE c.relname = m.said[2] GROUP BY c.oid, r.rolname) g) END
	FROM regexp_match(message, '^(?:relation "(.+)"|function (.+?)\(.*\)) does not exist$') AS a(name),
		coalesce(regexp_match(message, '^permission denied for (\w+) (.+)$'), ARRAY['absent', coalesce(a.name[1], a.name[2])]) AS m(said)
$$;
COMMENT ON FUNCTION backfill._doctor_grant(name, text, json, text) IS 'the statement that gives an owner what a message says he lacks; null if that cannot be told';

CREATE FUNCTION backfill._as_pattern(words text) RETURNS text
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN pg_catalog.regexp_replace(words, '([][{}()*+?.^$|\\-])', '\\\1', 'g');
COMMENT ON FUNCTION backfill._as_pattern(text) IS 'regular expression that matches just these words';

-- Nodes of a plan that read a table from end to end: there was no index to take.
CREATE FUNCTION backfill._whole_reads(plan json) RETURNS TABLE (relation oid, column_name text)
	LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
	WITH node AS (
		SELECT n.node, c.oid AS relation, concat_ws(' ', n.node ->> 'Filter', j.filters) AS conditions
		FROM jsonb_path_query(plan::jsonb, 'strict $.** ? (exists (@."Relation Name"))') AS n(node)
		JOIN pg_namespace s ON s.nspname = n.node ->> 'Schema'
		JOIN pg_class c ON c.relnamespace = s.oid AND c.relname = n.node ->> 'Relation Name'
		CROSS JOIN LATERAL (SELECT string_agg(f #>> '{}', ' ') FROM jsonb_path_query(plan::jsonb, 'strict $.**."Join Filter"') f) j(filters)
		WHERE n.node ->> 'Node Type' = 'Seq Scan' OR (n.node ->> 'Node Type' IN ('Index Scan', 'Index Only Scan') AND n.node -> 'Index Cond' IS NULL)
	)
	SELECT n.relation, min(a.attname::text)
	FROM node n
	-- As the plan has it: with quotes, where it needs them, and not as a part of a longer name.
	LEFT JOIN pg_attribute a ON a.attrelid = n.relation AND a.attnum > 0 AND NOT a.attisdropped
		AND n.conditions ~ replace('((?<![\w"])COLUMN(?![\w"$])\)?(::\w+)? (=|>=|<|>|<=) )|( (=|>=|<|>|<=) \(?COLUMN(?![\w"$]))',
			'COLUMN', backfill._as_pattern(concat(quote_ident(n.node ->> 'Alias'), '.', quote_ident(a.attname))))
	GROUP BY n.relation
$$;
COMMENT ON FUNCTION backfill._whole_reads(json) IS 'tables that a plan reads from end to end, and a column that an index on would serve it, where that can be told';

CREATE FUNCTION backfill._doctor_commands(p backfill.pipeline) RETURNS TABLE ("check" text, status text, detail text, hint text)
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = p.owner) THEN
		RETURN QUERY SELECT 'commands', 'fail', format('Owner %s of pipeline %s does not exist.', p.owner, p.name),
			format('SELECT backfill.alter_pipeline(%L, owner => %L);', p.name, current_user);
		RETURN;
	END IF;
	RETURN QUERY
	WITH planned AS MATERIALIZED (
		SELECT CASE q.command WHEN 'candidates' THEN 'candidate query' ELSE concat_ws(' ', q.step, q.command) END AS what, q.* FROM backfill._command_plans(p.name) q
	), whole AS (
		SELECT q.what, q.command, w.relation, w.column_name FROM planned q, backfill._whole_reads(q.plan) w
		WHERE q.command IN ('candidates', 'check') AND pg_relation_size(w.relation) > backfill._large_table()
	)
	-- A right that several commands lack is given once.
	SELECT 'commands', 'fail', format('%s of pipeline %s fails for its owner %s: %s', min(q.what) || CASE WHEN count(*) > 1 THEN format(' (and %s more)', count(*) - 1) ELSE '' END,
			p.name, p.owner, backfill._readable_error(p.owner, q.sqlstate, q.message)),
		coalesce(g.statement, '-- mend what the message names, or the command with backfill.' || CASE min(q.command) WHEN 'candidates' THEN 'alter_pipeline' ELSE 'alter_step' END)
	FROM planned q, backfill._doctor_grant(p.owner, p.search_path, q.lacking, q.message) g (statement)
	WHERE q.sqlstate IS NOT NULL
	GROUP BY q.sqlstate, q.message, g.statement, CASE WHEN g.statement IS NULL THEN q.what END
	UNION ALL
	SELECT 'indexes', 'warn', format('%s of pipeline %s reads %s (%s) from end to end.', w.what, p.name, w.relation::regclass, pg_size_pretty(pg_relation_size(w.relation))),
		CASE WHEN w.column_name IS NULL THEN format('-- give %s an index that serves it', w.relation::regclass)
			ELSE format('CREATE INDEX CONCURRENTLY ON %s (%I);', w.relation::regclass, w.column_name) END
	FROM whole w;
END $$;
COMMENT ON FUNCTION backfill._doctor_commands(backfill.pipeline) IS 'whether a pipeline''s owner may run its commands, and with which plans';

CREATE FUNCTION backfill._doctor_runs(p backfill.pipeline) RETURNS TABLE ("check" text, status text, detail text, hint text)
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	moment CONSTANT timestamptz := backfill._clock();
BEGIN
	RETURN QUERY
	SELECT 'overdue', 'warn', format('Pipeline %s: %s.', p.name, backfill._alarm_text('overdue', '', o.evidence)), format('CALL backfill.run(%L);', p.name)
	FROM backfill._overdue_run(p) o WHERE o.evidence IS NOT NULL;
	RETURN QUERY
	SELECT 'overdue', 'warn', format('Pipeline %s has never run.', p.name), format('CALL backfill.run(%L);', p.name)
	WHERE p.enabled AND p.after IS NULL AND p.created_at < moment - p.lookback
		AND NOT EXISTS (SELECT FROM backfill.run r WHERE r.pipeline_id = p.pipeline_id);
	RETURN QUERY
	SELECT 'runs', 'fail', format('Run %s of pipeline %s has been silent since its lease ended at %s.', r.run_id, p.name, date_trunc('second', r.lease_until)),
		format('CALL backfill.run_requested(%L);', p.name)
	FROM backfill.run r WHERE r.pipeline_id = p.pipeline_id AND r.state = 'running' AND backfill._has_lapsed(r.lease_until);
	RETURN QUERY
	SELECT 'runs', 'warn', format('%s runs of pipeline %s have been waiting since %s and nobody takes them.', count(*), p.name, date_trunc('second', min(r.requested_at))),
		format('CALL backfill.run_requested(%L);', p.name)
	FROM backfill.run r
	WHERE r.pipeline_id = p.pipeline_id AND r.state = 'requested' AND r.requested_at < moment - interval '1 hour'
		AND NOT EXISTS (SELECT FROM backfill.run o WHERE o.pipeline_id = r.pipeline_id AND o.state = 'running' AND NOT backfill._has_lapsed(o.lease_until))
	HAVING count(*) > 0;
	RETURN QUERY
	SELECT 'runs', 'fail', format('The last run of pipeline %s, %s, is %s.', p.name, r.run_id, r.state), format('CALL backfill.run(%L);%s', p.name, CASE WHEN r.state <> 'crashed' THEN format(' -- when this is mended: SELECT error FROM backfill.run_history WHERE run_id = %s', r.run_id) END)
	FROM (SELECT q.run_id, q.state FROM backfill.run q WHERE q.pipeline_id = p.pipeline_id AND q.mode = 'live' AND q.finished_at IS NOT NULL ORDER BY q.run_id DESC LIMIT 1) r
	WHERE r.state IN ('failed', 'broken', 'crashed') AND p.enabled;
	-- Once may be on purpose.
	RETURN QUERY
	SELECT 'runs', 'warn', format('The last %s runs of pipeline %s were cancelled, and none has succeeded since %s.', count(*), p.name, date_trunc('second', min(r.finished_at))),
		format('CALL backfill.run(%L);', p.name)
	FROM backfill.run r
	WHERE r.pipeline_id = p.pipeline_id AND r.mode = 'live' AND r.state = 'cancelled' AND p.enabled AND r.run_id > coalesce((
		SELECT q.run_id FROM backfill.run q
		WHERE q.pipeline_id = p.pipeline_id AND q.mode = 'live' AND q.finished_at IS NOT NULL AND q.state <> 'cancelled' ORDER BY q.run_id DESC LIMIT 1), 0)
	HAVING count(*) > 1;
	-- What holds it back is named before it is an alarm.
	RETURN QUERY
	SELECT 'watermark', 'warn', format('Pipeline %s: %s.', p.name, CASE WHEN w.evidence IS NOT NULL THEN backfill._alarm_text('watermark_stuck', '', w.evidence)
			ELSE format('the watermark stands at %s, held back by %s', date_trunc('second', p.watermark), r.held_by) END),
		coalesce(backfill._end_holder(r.held_by, r.run_time), format('CALL backfill.run(%L);', p.name))
	FROM backfill._stuck_watermark(p) w(evidence) LEFT JOIN LATERAL (
		SELECT q.held_by, q.run_time FROM backfill.run q WHERE q.pipeline_id = p.pipeline_id AND q.mode = 'live' ORDER BY q.run_id DESC LIMIT 1) r ON true
	WHERE p.enabled AND (w.evidence IS NOT NULL OR r.held_by IS NOT NULL);
	-- The others are found above and below, also before they are alarms.
	RETURN QUERY
	SELECT 'alarms', 'warn', format('Pipeline %s since %s: %s.', p.name, date_trunc('second', a.opened_at), backfill._alarm_text(a.kind, a.subject, a.evidence)),
		format('SELECT line FROM backfill.narration(%s); -- or, if this is the new usual, SELECT backfill.accept_alarm(%s, ''...'');', a.opened_by_run, a.alarm_id)
	FROM backfill.alarm a WHERE a.pipeline_id = p.pipeline_id AND a.closed_at IS NULL AND a.kind IN ('silence', 'few_candidates', 'flood');
	RETURN QUERY
	SELECT 'left_out', 'warn', format('Run %s of pipeline %s did not look at what arrived between %s and %s: more than max_catchup.', r.run_id, p.name,
			date_trunc('second', r.left_out_from), date_trunc('second', r.scan_from)),
		format('SELECT * FROM backfill.replay(%L, %L, %L); CALL backfill.run_requested(%L);', p.name,
			(backfill._slot_of(r.left_out_from, p.slot, p.timezone)).window_from AT TIME ZONE p.timezone,
			(backfill._slot_of(r.scan_from, p.slot, p.timezone)).window_to AT TIME ZONE p.timezone, p.name)
	FROM backfill.run r
	WHERE r.pipeline_id = p.pipeline_id AND r.left_out_from IS NOT NULL AND r.state = 'succeeded' AND NOT EXISTS (
		SELECT FROM backfill.replay y WHERE y.pipeline_id = r.pipeline_id AND y.replay_from <= r.left_out_from AND y.replay_to >= r.scan_from
			AND NOT EXISTS (SELECT FROM backfill.run o WHERE o.replay_id = y.replay_id AND o.state <> 'succeeded'));
	RETURN QUERY
	SELECT 'items', 'warn', format('Pipeline %s: %s.', p.name, backfill._alarm_text('same_items_failing', '', f.evidence)),
		format('SELECT * FROM backfill.explain_item(%L, %L);', p.name, f.evidence #>> '{some,0}')
	FROM (
		SELECT q.window_from FROM backfill.run q WHERE q.pipeline_id = p.pipeline_id AND q.mode = 'live' AND q.finished_at IS NOT NULL ORDER BY q.run_id DESC LIMIT 1) r
	CROSS JOIN LATERAL backfill._failing_items(p, r.window_from) f(evidence) WHERE f.evidence IS NOT NULL;
END $$;
COMMENT ON FUNCTION backfill._doctor_runs(backfill.pipeline) IS 'runs of a pipeline that did not come, did not end, or left something out';

-- A type or a time zone that is gone, and whatever else nobody has thought of.
CREATE FUNCTION backfill._doctor_pipeline(p backfill.pipeline, part text) RETURNS TABLE ("check" text, status text, detail text, hint text)
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF part = 'commands' THEN
		RETURN QUERY SELECT * FROM backfill._doctor_commands(p);
	ELSE
		RETURN QUERY SELECT * FROM backfill._doctor_runs(p);
	END IF;
EXCEPTION WHEN OTHERS THEN
	RETURN QUERY SELECT part, 'fail', format('The %s of pipeline %s cannot be looked at: %s', part, p.name, backfill._readable_error(p.owner, SQLSTATE, SQLERRM)),
		'-- mend what the message names, or the pipeline with backfill.alter_pipeline';
END $$;
COMMENT ON FUNCTION backfill._doctor_pipeline(backfill.pipeline, text) IS
	'what the doctor says of the commands or the runs of one pipeline; an error on the way there is a line about it, and costs the other pipelines nothing';

CREATE FUNCTION backfill._doctor_definitions() RETURNS TABLE ("check" text, status text, detail text, hint text)
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- An abbreviation such as IST is good for AT TIME ZONE, and a session cannot have it.
	zones text[] := '{utc,gmt}';
BEGIN
	-- The server reads a file for each. A name with a slash is no abbreviation.
	IF EXISTS (SELECT FROM backfill.pipeline p WHERE p.timezone !~ '[0-9/]' AND lower(p.timezone) <> ALL (zones)) THEN
		zones := ARRAY(SELECT lower(z.name) FROM pg_timezone_names z);
	END IF;
	RETURN QUERY
	SELECT 'pipelines', 'warn', format('Pipeline %s is disabled.', p.name), format('SELECT backfill.enable_pipeline(%L);', p.name)
	FROM backfill.pipeline p WHERE NOT p.enabled ORDER BY p.name;
	RETURN QUERY
	SELECT 'pipelines', 'warn', format('Pipeline %s has no steps.', p.name), format('-- give it steps with backfill.add_step, or SELECT backfill.drop_pipeline(%L);', p.name)
	FROM backfill.pipeline p WHERE NOT EXISTS (SELECT FROM backfill.step s WHERE s.pipeline_id = p.pipeline_id) ORDER BY p.name;
	RETURN QUERY
	SELECT 'time_zones', CASE WHEN z.is_known THEN 'warn' ELSE 'fail' END,
		format(CASE WHEN z.is_known THEN 'Time zone %s of pipeline %s is an offset and not a place: it has no summer time, and a sign in it is read the other way round.'
			ELSE 'Time zone %s of pipeline %s is not one that a session can have.' END, p.timezone, p.name),
		format('SELECT backfill.alter_pipeline(%L, timezone => ''Asia/Kolkata''); -- or where its days begin', p.name)
	FROM backfill.pipeline p CROSS JOIN LATERAL (SELECT p.timezone ~ '[0-9/]' OR lower(p.timezone) = ANY (zones)) z(is_known)
	WHERE NOT z.is_known OR p.timezone ~ '[0-9]' AND p.timezone !~ '^Etc/' ORDER BY p.name;
	RETURN QUERY
	SELECT c.* FROM backfill.pipeline p, backfill._doctor_pipeline(p, 'commands') c
	WHERE p.enabled AND (p.timezone ~ '[0-9/]' OR lower(p.timezone) = ANY (zones)) AND EXISTS (SELECT FROM backfill.step s WHERE s.pipeline_id = p.pipeline_id)
	ORDER BY p.name;
END $$;
COMMENT ON FUNCTION backfill._doctor_definitions() IS 'pipelines that do not run, or not well';
