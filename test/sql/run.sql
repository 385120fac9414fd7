-- A run as its caller sees it: where it may be called, what it says, what it records, and how it ends.
CREATE SCHEMA runs;
SET search_path = runs;
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE TABLE item (id bigint PRIMARY KEY, arrived_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE output (id bigint PRIMARY KEY);
INSERT INTO item SELECT generate_series(1, 4);
SELECT backfill.create_pipeline('runs', 'SELECT id, arrived_at FROM item WHERE arrived_at >= $1 AND arrived_at < $2');
CREATE VIEW last_run AS SELECT r.* FROM backfill.run r JOIN backfill.pipeline p USING (pipeline_id) WHERE p.name = 'runs' ORDER BY run_id DESC LIMIT 1;

-- Before it starts: no such pipeline, no steps, disabled, no name. None of these leaves a run behind.
CALL backfill.run('nowhere');
CALL backfill.run(NULL);
CALL backfill.run('runs');
SELECT backfill.add_batch_step('runs', 'make', 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM output o WHERE o.id = k)',
	'INSERT INTO output SELECT k FROM unnest($1) k');
SELECT backfill.disable_pipeline('runs');
CALL backfill.run('runs');
SELECT backfill.enable_pipeline('runs');

-- It commits as it goes, so it needs its transactions to itself.
BEGIN;
CALL backfill.run('runs');
ROLLBACK;
CREATE FUNCTION call_run() RETURNS void LANGUAGE plpgsql AS $$ DECLARE id bigint; tally text; BEGIN CALL backfill.run('runs', id, tally); END $$;
SELECT call_run();
-- Also when there is nothing to drive, and before anything is done.
BEGIN;
CALL backfill.run_requested('runs');
ROLLBACK;
SELECT backfill.request_run('runs') AS asked \gset
BEGIN;
CALL backfill.run_requested('runs');
ROLLBACK;
DO $$ DECLARE runs bigint; BEGIN CALL backfill.run_requested('runs', runs); EXCEPTION WHEN division_by_zero THEN NULL; END $$;
SELECT state FROM backfill.run WHERE run_id = :asked;
SELECT backfill.cancel_run(:asked);
DELETE FROM backfill.run WHERE run_id = :asked;
DO $$ DECLARE id bigint; tally text; BEGIN CALL backfill.run('runs', id, tally); EXCEPTION WHEN division_by_zero THEN NULL; END $$;
SET default_transaction_read_only = on;
CALL backfill.run('runs');
RESET default_transaction_read_only;
SELECT count(*) AS runs FROM last_run;
SELECT count(*) AS outputs FROM output;
-- Whatever the session's default is, a check has to see what was committed before its item was locked.
CREATE TABLE level (isolation text);
SELECT backfill.add_step('runs', 'level', 'SELECT $1 <> 1 OR EXISTS (SELECT FROM level)',
	'INSERT INTO level SELECT current_setting(''transaction_isolation'') WHERE $1 = 1');
SET default_transaction_isolation = 'serializable';
CALL backfill.run('runs') \gset
\echo :tally
RESET default_transaction_isolation;
SELECT * FROM level;
SELECT backfill.drop_step('runs', 'level');
TRUNCATE output;
-- A DO block outside a transaction leaves them to it.
DO $$ DECLARE id bigint; tally text; BEGIN CALL backfill.run('runs', id, tally); RAISE WARNING '%, %', id > 0, tally; END $$;
TRUNCATE output;

-- What it tells: lines of what changed and of failures, and the tally. Identities are set so that they can be shown.
SET client_min_messages = notice;
CREATE FUNCTION grumble(k bigint) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN IF k = 2 THEN RAISE 'no' USING ERRCODE = 'P0002'; END IF; RETURN k; END $$;
SELECT backfill.alter_step('runs', 'make', work => 'INSERT INTO output SELECT grumble(k) FROM unnest($1) k WHERE k <> 4');
ALTER TABLE backfill.run ALTER run_id RESTART WITH 900001;
SHOW backfill.narrate;
SHOW backfill.keep_events;
CALL backfill.run('runs');
SET backfill.narrate = 'all';
CALL backfill.run('runs');
SET backfill.narrate = 'none';
CALL backfill.run('runs');
SET backfill.narrate = 'loudly';
SET backfill.keep_events = 'none';
RESET backfill.narrate;
SET client_min_messages = warning;
SELECT run_id, item, step, status, reason, sqlstate, message FROM backfill.step_event WHERE run_id BETWEEN 900001 AND 900003 ORDER BY step_event_id;
SELECT * FROM backfill.run_step_count WHERE run_id BETWEEN 900001 AND 900003 ORDER BY 1, 2, 3, 4, 5;
SELECT run_id, mode, state, candidates, changed, unchanged, skipped, failed, sqlstate, error, requested_by = current_user AS mine, lease_until IS NULL AS closed,
	started_at <= finished_at AS took_time, run_time = scan_to AS frozen, scan_to - scan_from AS scanned,
	(run_time >= window_from AND run_time < window_to) AS in_window
FROM backfill.run WHERE run_id BETWEEN 900001 AND 900003 ORDER BY run_id;
SET backfill.narrate = 'none';
SET client_min_messages = error;

-- Failing again in a later window is told; in the same window it is not news.
UPDATE backfill.item_failure SET first_window = first_window - interval '1 day', last_window = last_window - interval '1 day';
CALL backfill.run('runs') \gset
\echo :tally
SELECT f.item, f.windows, f.first_window < f.last_window AS earlier FROM backfill.item_failure f JOIN backfill.pipeline p USING (pipeline_id) WHERE p.name = 'runs' ORDER BY item;
-- An item that recovers is forgotten.
SELECT backfill.alter_step('runs', 'make', work => 'INSERT INTO output SELECT k FROM unnest($1) k');
CALL backfill.run('runs') \gset
\echo :tally
SELECT count(*) FROM backfill.item_failure;

-- A second run on unchanged data changes nothing: versions and places of the outputs stay.
CREATE TABLE before AS SELECT id, xmin::text AS version, ctid::text AS place FROM output;
CALL backfill.run('runs') \gset
\echo :tally
SELECT count(*) AS rows, count(b.id) AS kept FROM output o LEFT JOIN before b ON (b.id, b.version, b.place) = (o.id, o.xmin::text, o.ctid::text);
-- The run sees the time and window that it was created with.
CREATE TABLE frame (id bigint PRIMARY KEY, mode text, is_replay boolean, run_time timestamptz, window_from timestamptz, window_to timestamptz);
SELECT backfill.add_batch_step('runs', 'frame', 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM frame f WHERE f.id = k)',
	'INSERT INTO frame SELECT k, backfill.mode(), backfill.is_replay(), backfill.run_time(), w.* FROM unnest($1) k, backfill.run_window() w');
CALL backfill.run('runs') \gset
SELECT DISTINCT f.mode, is_replay, f.run_time = r.run_time, f.window_from = r.window_from, f.window_to = r.window_to FROM frame f, last_run r;
SELECT backfill.mode(), backfill.is_replay(), backfill.run_time() = now() AS now, backfill.run_window();
SELECT backfill.drop_step('runs', 'frame');
-- Nothing to do, and nothing asked for.
TRUNCATE item;
CALL backfill.run('runs') \gset
\echo :tally
SELECT state, candidates FROM last_run;
SELECT count(*) FROM backfill.run_step_count WHERE run_id = :run_id;

-- What ends a run early is in its row, and the error is the caller's too.
INSERT INTO item SELECT generate_series(1, 4);
CREATE VIEW fragile AS SELECT id, arrived_at, 4 / (id - 2) AS divided FROM item;
SELECT backfill.alter_pipeline('runs', candidates => 'SELECT id, arrived_at FROM fragile WHERE arrived_at >= $1 AND arrived_at < $2 AND divided <> 0');
CALL backfill.run('runs');
SELECT state, sqlstate, error, candidates, lease_until IS NULL AS closed FROM last_run;
DROP VIEW fragile;
CALL backfill.run('runs');
SELECT state, sqlstate, error FROM last_run;
SELECT backfill.alter_pipeline('runs', candidates => 'SELECT id, arrived_at FROM item WHERE arrived_at >= $1 AND arrived_at < $2');
-- A check that cannot answer is nobody's outcome.
SELECT backfill.alter_step('runs', 'make', lacking => 'SELECT k FROM unnest($1) k WHERE 1 / (k - 2) IS NOT NULL');
CALL backfill.run('runs');
SELECT state, sqlstate, error FROM last_run;
-- A check that writes breaks its contract; what it wrote is rolled back.
CREATE FUNCTION check_and_write(k bigint) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN INSERT INTO output VALUES (k + 100); RETURN true; END $$;
SELECT backfill.alter_step('runs', 'make', lacking => 'SELECT k FROM unnest($1) k WHERE check_and_write(k)');
CALL backfill.run('runs');
SELECT state, sqlstate, error FROM last_run;
SELECT step, status, reason, items FROM backfill.run_step_count c JOIN last_run USING (run_id);
SELECT count(*) FROM output WHERE id > 100;
SELECT backfill.alter_step('runs', 'make', lacking => 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM output o WHERE o.id = k)');

-- Nearly all items fail alike: the run is broken, and does not grind through the rest. Below 20 items it is not told.
TRUNCATE item, output;
INSERT INTO item SELECT generate_series(1, 1000);
CREATE FUNCTION disk_full(k bigint) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN IF k % 20 > 0 THEN RAISE 'disk full' USING ERRCODE = '53100'; END IF; RETURN k; END $$;
SELECT backfill.alter_step('runs', 'make', work => 'INSERT INTO output SELECT disk_full(k) FROM unnest($1) k');
CALL backfill.run('runs');
SELECT state, sqlstate, error, candidates, changed + failed AS taken, changed FROM last_run;
SELECT r.failed = c.items AS counts_agree FROM last_run r JOIN backfill.run_step_count c USING (run_id) WHERE c.status = 'failed';
SELECT count(*) AS kept FROM output;
DELETE FROM item WHERE id > 19;
CALL backfill.run('runs') \gset
\echo :tally
SELECT state FROM last_run;
-- Alike means one SQLSTATE: half and half is not a database in trouble.
TRUNCATE item, output;
INSERT INTO item SELECT generate_series(1, 100);
CREATE FUNCTION two_troubles(k bigint) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RAISE 'trouble' USING ERRCODE = CASE k % 2 WHEN 0 THEN '53100' ELSE 'P0001' END; END $$;
SELECT backfill.alter_step('runs', 'make', work => 'INSERT INTO output SELECT two_troubles(k) FROM unnest($1) k');
CALL backfill.run('runs') \gset
\echo :tally

-- A run whose session died is closed by the next one, once its lease is over.
SELECT backfill.alter_step('runs', 'make', work => 'INSERT INTO output SELECT k FROM unnest($1) k');
UPDATE backfill.run SET state = 'running', finished_at = NULL, lease_until = now() - interval '1 second' WHERE run_id = :run_id;
SELECT :run_id AS dead \gset
CALL backfill.run('runs') \gset
\echo :tally
SELECT state, finished_at IS NOT NULL AS closed FROM backfill.run WHERE run_id = :dead;
-- An owner who is gone.
CREATE ROLE regress_runs_owner;
SELECT backfill.alter_pipeline('runs', owner => 'regress_runs_owner');
DROP ROLE regress_runs_owner;
CALL backfill.run('runs');
SELECT backfill.alter_pipeline('runs', owner => current_user);

-- Dropped with everything that is only about it.
SELECT backfill.drop_pipeline('runs');
SELECT count(*) FROM backfill.run WHERE run_id >= 900001;
DROP SCHEMA runs CASCADE;
