-- A check is planned once and kept. It goes by index whatever the tables held then, and it, and the work on leads that
-- will never be done, write nothing.
\getenv test_folder PG_ABS_SRCDIR
\set helper :test_folder '/data/leads.psql'
\set ECHO none
\i :helper
CREATE TEMPORARY TABLE step AS SELECT name, position FROM unnest('{fetch_report,normalize_report,unify_reports,group_loans,update_web_status}'::text[])
	WITH ORDINALITY AS s(name, position);
-- As the engine plans them.
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET jit = off;
DO $$ DECLARE s record; BEGIN
	FOR s IN SELECT name FROM step LOOP
		EXECUTE format('PREPARE %I (bigint[]) AS SELECT k FROM bt.%I($1) k', s.name, s.name || '_lacking');
		EXECUTE format('EXECUTE %I (''{1,2,3}'')', s.name);
	END LOOP;
END $$;
CREATE FUNCTION pg_temp.explain(step text, keys bigint[]) RETURNS json LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
	EXECUTE format('EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) EXECUTE %I (%L)', step, keys) INTO plan;
	RETURN plan -> 0;
END $$;
\set ECHO all

-- Planned over empty tables, then the tables grow: three reports a lead, and leads that are done, stopped and failed.
INSERT INTO bt.lead (id, mobile) SELECT n, 7000000000 + n FROM generate_series(1, 600) n;
INSERT INTO bt.credit_report (mobile, body)
SELECT 7000000000 + n, pg_temp.report('202611' || d, pg_temp.one(pg_temp.loan(balance => CASE n % 2 WHEN 0 THEN '0' ELSE '200' END)))
FROM generate_series(1, 600) n, generate_series(10, 12) d;
INSERT INTO bt.lead (id, mobile) VALUES (1001, '7000009001'), (1002, '7000009002'), (1003, '7000009003'), (1004, 'none');
INSERT INTO bt.credit_report (mobile, body) VALUES ('7000009001', pg_temp.sample('s06_no_record_102.json')), ('7000009002', 'rubbish');
CALL backfill.run('bt_leads') \g /dev/null
SELECT status, count(*) FROM bt.lead GROUP BY status ORDER BY status;

-- Twenty leads that are done, some here and some there.
CREATE TEMPORARY VIEW way AS
SELECT s.position, s.name, x.plan -> 'Plan' -> 'Actual Rows' AS lacking, node.kinds,
	(x.plan -> 'Plan' ->> 'Shared Hit Blocks')::int + (x.plan -> 'Plan' ->> 'Shared Read Blocks')::int < 20 * 40 AS little
FROM step s
CROSS JOIN LATERAL pg_temp.explain(s.name, ARRAY(SELECT 1 + 29 * n FROM generate_series(0, 19) n)) AS x(plan)
CROSS JOIN LATERAL (
	SELECT string_agg(DISTINCT kind #>> '{}', ', ') FILTER (WHERE kind #>> '{}' ~ 'Scan' AND kind #>> '{}' !~ '^(Index|Index Only|Bitmap Heap|Bitmap Index|Function|Subquery) Scan$'
		OR kind #>> '{}' ~ 'Hash|Merge') AS kinds
	FROM jsonb_path_query(x.plan::jsonb, 'strict $.**."Node Type"') kind) node;
SELECT name, lacking, kinds, little FROM way ORDER BY position;

-- Planned anew for tables whose size is known and nothing else, as after a restore: the right index, and not just any.
VACUUM bt.lead, bt.credit_report, bt.normalized_report;
DISCARD PLANS;
SELECT name, lacking, kinds, little FROM way ORDER BY position;

-- No transaction id: done leads are checked, stopped and failed ones worked on once more.
BEGIN;
SELECT k AS fetch_report FROM bt.fetch_report_lacking(ARRAY(SELECT id FROM bt.lead)) k ORDER BY 1;
SELECT k AS normalize_report FROM bt.normalize_report_lacking(ARRAY(SELECT id FROM bt.lead)) k ORDER BY 1;
SELECT count(*) AS unify_reports FROM bt.unify_reports_lacking(ARRAY(SELECT id FROM bt.lead WHERE id <= 600));
SELECT count(*) AS group_loans FROM bt.group_loans_lacking(ARRAY(SELECT id FROM bt.lead WHERE id <= 600));
SELECT count(*) AS update_web_status FROM bt.update_web_status_lacking(ARRAY(SELECT id FROM bt.lead WHERE id <= 600));
SELECT * FROM bt.fetch_report('{1001,1002,1003,1004}') ORDER BY key;
SELECT * FROM bt.normalize_report('{1001,1002}') ORDER BY key;
-- Work that is asked for what is there already makes nothing again.
SELECT count(*) FROM bt.unify_reports(ARRAY(SELECT id FROM bt.lead WHERE id <= 600));
SELECT count(*) FROM bt.group_loans(ARRAY(SELECT id FROM bt.lead WHERE id <= 600));
SELECT count(*) FROM bt.update_web_status(ARRAY(SELECT id FROM bt.lead WHERE id <= 600));
SELECT pg_current_xact_id_if_assigned() IS NULL AS nothing_written;
COMMIT;

SELECT backfill.drop_pipeline('bt_leads');
