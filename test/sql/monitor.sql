-- What a member of pg_monitor, and of nothing else, sees; and that looking costs the same however much has been told and run.
CREATE SCHEMA monitor;
SET search_path = monitor;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET client_min_messages = warning;
SET backfill.narrate = 'none';
\set SHOW_CONTEXT never
ALTER TABLE backfill.run ALTER run_id RESTART WITH 940001;
SELECT backfill.create_roles();
CREATE ROLE monitor_eye IN ROLE pg_monitor;
CREATE ROLE monitor_stranger;
CREATE FUNCTION at_time(at timestamptz) RETURNS void LANGUAGE sql AS $$
	SELECT FROM set_config('backfill.test_clock_seconds', extract(epoch FROM at)::text, false) $$;
CREATE TABLE item (id bigint PRIMARY KEY, at timestamptz NOT NULL, amount text);
CREATE TABLE output (id bigint PRIMARY KEY, amount numeric);
SELECT backfill.create_pipeline('seen', 'SELECT id, at FROM item WHERE at >= $1 AND at < $2');
SELECT backfill.add_step('seen', 'make', 'SELECT EXISTS (SELECT FROM output o WHERE o.id = $1)', 'INSERT INTO output SELECT id, amount::numeric FROM item WHERE id = $1');
INSERT INTO item SELECT n, '2026-11-02 12:00+00', CASE n WHEN 3 THEN 'a secret' ELSE '10' END FROM generate_series(1, 4) n;
SELECT at_time('2026-11-02 20:00+00');
CALL backfill.run('seen') \gset
SELECT backfill.request_run('seen') AS waiting \gset
UPDATE backfill.run SET state = 'running', started_at = '2026-11-02 20:00+00', lease_until = '2026-11-02 20:10+00', counted_at = '2026-11-02 20:00+00', candidates = 100, changed = 20, work_share = 0.5, check_ms = 1, work_ms = 99
WHERE run_id = :waiting;

SET ROLE monitor_eye;
SELECT pipeline, last_run, last_state, last_change, open_runs, watermark_lag, open_alarms, waiting, unknown, dead FROM backfill.pipeline_status WHERE pipeline = 'seen';
SELECT state, candidates, done, remaining, eta, eta_latest FROM backfill.run_progress WHERE pipeline = 'seen';
SELECT run_id, state, candidates, changed, failed FROM backfill.run_history WHERE pipeline = 'seen' ORDER BY run_id;
SELECT run_id, step, status, reason, items FROM backfill.run_step_count WHERE pipeline = 'seen' ORDER BY 1, 2, 3, 4;
SELECT run_id, candidates, asked_again, changed, failed, reasons FROM backfill.skip_shape WHERE pipeline = 'seen';
SELECT count(*) FROM backfill.alarm_history WHERE pipeline = 'seen';
SELECT line FROM backfill.narration(:run_id);
SELECT count(*) > 10 AS told, bool_and(status IN ('ok', 'warn', 'fail')) AS known FROM backfill.doctor();
SELECT count(*) AS channels FROM backfill.channel_status;
SELECT * FROM backfill.check_invariants();
-- Not what quotes data, and nothing that changes anything.
SELECT c.relname AS closed FROM pg_class c
WHERE c.relnamespace = 'backfill'::regnamespace AND c.relkind = 'v' AND NOT has_table_privilege('monitor_eye', c.oid, 'SELECT') ORDER BY 1;
SELECT p.proname AS open FROM pg_proc p
WHERE p.pronamespace = 'backfill'::regnamespace AND p.proname !~ '^_' AND has_function_privilege('monitor_eye', p.oid, 'EXECUTE') ORDER BY 1;
SELECT message FROM backfill.step_event;
SELECT payload FROM backfill.outbox;
SELECT backfill.request_run('seen');
RESET ROLE;
SELECT line FROM backfill.narration(:run_id) WHERE line ~ 'secret';
SET ROLE monitor_stranger;
SELECT * FROM backfill.pipeline_status;
SELECT * FROM backfill.narration(1);
SELECT * FROM backfill.doctor();
RESET ROLE;

-- Ten thousand messages that were sent, and as many runs of last years.
BEGIN;
INSERT INTO backfill.run (pipeline_id, mode, state, window_from, window_to, scan_from, scan_to, run_time, requested_by, requested_at, started_at, finished_at)
SELECT p.pipeline_id, 'live', 'succeeded', d, d + interval '1 hour', d, d, d, 'x', d, d, d
FROM backfill.pipeline p, generate_series(1, 10000) n, LATERAL (SELECT '2026-11-01 00:00+00'::timestamptz - n * interval '1 hour') t (d) WHERE p.name = 'seen';
INSERT INTO backfill.run_shape (pipeline_id, run_id, window_from, run_time, data_at, state, judged, watermark_moved, candidates, changed, unchanged, skipped, failed, reasons)
SELECT r.pipeline_id, r.run_id, r.window_from, r.run_time, r.run_time, r.state, true, true, 1, 0, 1, 0, 0, '{}' FROM backfill.run r WHERE r.run_id > :waiting;
INSERT INTO backfill.message (pipeline, recipient, window_from, window_to, message_type, receiver_key, deliver_until, channel, payload, content_hash, run_id, created_at)
SELECT 'seen', 'email:x' || n || '@example.com', '2026-11-01', '2026-11-02', 'hello', gen_random_uuid(), now(), 'smtp', '{}', '', 0, now() FROM generate_series(1, 10000) n;
INSERT INTO backfill.delivery (message_id, at, state, attempt) SELECT m.message_id, now(), CASE WHEN m.message_id % 5000 = 0 THEN 'unknown' ELSE 'sent' END, 1 FROM backfill.message m;
INSERT INTO backfill.item_failure (pipeline_id, item, windows, first_window, last_window) SELECT p.pipeline_id, (n + 100)::text, 1, '2026-11-01', '2026-11-01' FROM backfill.pipeline p, generate_series(1, 10000) n WHERE p.name = 'seen';
ANALYZE backfill.run, backfill.run_shape, backfill.message, backfill.delivery, backfill.undelivered, backfill.item_failure;
-- Each table that a view reads more rows of than a few, when it is asked.
CREATE FUNCTION rows_read(query text) RETURNS TABLE (relation text, rows bigint) LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, TIMING off, FORMAT json) ' || query INTO plan;
	RETURN QUERY SELECT n ->> 'Relation Name', sum((coalesce((n ->> 'Actual Rows')::bigint, 0) + coalesce((n ->> 'Rows Removed by Filter')::bigint, 0)) * (n ->> 'Actual Loops')::bigint)::bigint
		FROM jsonb_path_query(plan, 'strict $.** ? (exists (@."Relation Name"))') n GROUP BY 1 HAVING sum((coalesce((n ->> 'Actual Rows')::bigint, 0) + coalesce((n ->> 'Rows Removed by Filter')::bigint, 0)) * (n ->> 'Actual Loops')::bigint) > 100 ORDER BY 1;
END $$;
SELECT 'pipeline_status' AS of, r.* FROM rows_read('SELECT * FROM backfill.pipeline_status') r;
SELECT 'run_progress' AS of, r.* FROM rows_read('SELECT * FROM backfill.run_progress') r;
SELECT 'channel_status' AS of, r.* FROM rows_read('SELECT * FROM backfill.channel_status') r;
SELECT 'run_step_count' AS of, r.* FROM rows_read('SELECT * FROM backfill.run_step_count WHERE run_id = 940001') r;
SELECT 'run_history' AS of, r.* FROM rows_read('SELECT * FROM backfill.run_history ORDER BY run_id DESC LIMIT 20') r;
-- It would be told, too.
SELECT 'outbox' AS of, r.* FROM rows_read('SELECT count(*) FROM backfill.message WHERE payload IS NOT NULL') r;
ROLLBACK;
DELETE FROM backfill.run WHERE run_id = :waiting;

-- What ends a run may quote data too: this candidate query stumbles over a row, and says over which.
SELECT backfill.create_pipeline('spoilt', $$ SELECT id, at FROM item WHERE at >= $1 AND at < $2 AND amount::numeric > 0 $$);
SELECT backfill.add_step('spoilt', 'make', 'SELECT $1 > 0', 'SELECT $1');
CALL backfill.run('spoilt');
SELECT max(run_id) AS spoilt FROM backfill.run \gset
SELECT error FROM backfill.run_history WHERE run_id = :spoilt;
SELECT line FROM backfill.narration(:spoilt) WHERE line ~ 'it failed';
SET ROLE monitor_eye;
SELECT sqlstate, error FROM backfill.run_history WHERE run_id = :spoilt;
SELECT line FROM backfill.narration(:spoilt) WHERE line ~ 'it failed';
SELECT error FROM backfill.run;
RESET ROLE;
SELECT * FROM backfill.check_invariants();

RESET backfill.test_clock_seconds;
RESET backfill.narrate;
SELECT backfill.drop_pipeline('seen'), backfill.drop_pipeline('spoilt');
DROP ROLE monitor_eye, monitor_stranger;
DROP SCHEMA monitor CASCADE;
