-- Errors on their way through C++: SQLSTATE, detail and hint are kept, nothing leaks, and the session goes on.
CREATE SCHEMA boundary;
SET search_path = boundary;
SET client_min_messages = error;
SET backfill.narrate = none;
\set SHOW_CONTEXT never
CREATE TABLE item (id bigint PRIMARY KEY, arrived_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE output (id bigint PRIMARY KEY);
INSERT INTO item SELECT generate_series(1, 3);
CREATE FUNCTION hurt(command text, k bigint) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN IF k = 2 THEN EXECUTE command; END IF; RETURN k; END $$;
CREATE FUNCTION complain() RETURNS void LANGUAGE plpgsql AS $$
BEGIN RAISE 'complaint' USING ERRCODE = 'P4711', DETAIL = 'The detail.', HINT = 'The hint.'; END $$;
SELECT backfill.create_pipeline('boundary', 'SELECT hurt(''SELECT'', id), arrived_at FROM item WHERE arrived_at >= $1 AND arrived_at < $2');
SELECT backfill.add_batch_step('boundary', 'make', 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM output o WHERE o.id = k)',
	'INSERT INTO output SELECT k FROM unnest($1) k');
CREATE VIEW last_run AS SELECT r.* FROM backfill.run r JOIN backfill.pipeline p USING (pipeline_id) WHERE p.name = 'boundary' ORDER BY run_id DESC LIMIT 1;
-- What a step is given to do to item 2, in its work or in its check.
CREATE FUNCTION hurt_work(command text) RETURNS void LANGUAGE sql AS $$
	DELETE FROM output;
	SELECT backfill.alter_step('boundary', 'make', lacking => 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM output o WHERE o.id = k)',
		work => format('INSERT INTO output SELECT hurt(%L, k) FROM unnest($1) k', command)) $$;
CREATE FUNCTION hurt_check(command text) RETURNS void LANGUAGE sql AS $$
	SELECT backfill.alter_step('boundary', 'make', lacking => format('SELECT k FROM unnest($1) k WHERE hurt(%L, k) > 0', command)) $$;

-- An error that ends the run reaches the caller whole.
SELECT hurt_check('SELECT complain()');
CALL backfill.run('boundary');
\echo :SQLSTATE
SELECT state, sqlstate, error FROM last_run;
-- The session's role, settings and search path are its own again.
SELECT current_user = session_user AS same_user, current_setting('search_path') AS search_path, current_setting('TimeZone') = (SELECT reset_val FROM pg_settings WHERE name = 'TimeZone') AS same_zone;
SELECT backfill.mode() IS NULL AS outside;
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';

-- Errors of C++ become errors of SQL, with a hint.
SELECT hurt_check('SELECT backfill.run_window(1)');
CALL backfill.run('boundary');
\echo :SQLSTATE
SELECT backfill.alter_step('boundary', 'make', lacking => 'SELECT k + 10 FROM unnest($1) k');
CALL backfill.run('boundary');
\echo :SQLSTATE
SELECT state, error FROM last_run;

-- In the work they cost the item. Long texts are cut between two characters, and nothing of DETAIL is kept.
SELECT hurt_work('SELECT complain()');
CALL backfill.run('boundary') \gset
\echo :tally
SELECT item, reason, sqlstate, message FROM backfill.step_event WHERE run_id = :run_id AND status = 'failed';
SELECT hurt_work($$ DO 'BEGIN RAISE ''%'', repeat(''ä'', 300); END' $$);
CALL backfill.run('boundary') \gset
SELECT sqlstate, octet_length(message), ltrim(message, 'ä') FROM backfill.step_event WHERE run_id = :run_id AND status = 'failed';
-- A stack that runs out, and an error raised while one is handled.
CREATE FUNCTION deep(n integer) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN deep(n + 1); END $$;
SELECT hurt_work('SELECT deep(1)');
CALL backfill.run('boundary') \gset
\echo :tally
SELECT hurt_work($$ DO 'BEGIN PERFORM 1 / 0; EXCEPTION WHEN others THEN PERFORM ''x''::integer; END' $$);
CALL backfill.run('boundary') \gset
\echo :tally

-- A statement timeout is somebody's wish to stop: it ends the run, wherever it comes, and not the item.
SELECT hurt_work('SELECT pg_sleep(60)');
SET statement_timeout = '500ms';
CALL backfill.run('boundary');
\echo :SQLSTATE
RESET statement_timeout;
SELECT state, sqlstate, error FROM last_run;
SELECT count(*) FROM output;
SELECT hurt_check('SELECT pg_sleep(60)');
SET statement_timeout = '500ms';
CALL backfill.run('boundary');
RESET statement_timeout;
SELECT state, sqlstate FROM last_run;
SELECT backfill.alter_pipeline('boundary', candidates => 'SELECT hurt(''SELECT pg_sleep(60)'', id), arrived_at FROM item WHERE arrived_at >= $1 AND arrived_at < $2');
SET statement_timeout = '500ms';
CALL backfill.run('boundary');
RESET statement_timeout;
SELECT state, sqlstate FROM last_run;
SELECT backfill.alter_pipeline('boundary', candidates => 'SELECT id, arrived_at FROM item WHERE arrived_at >= $1 AND arrived_at < $2');
-- The limits that a step sets for itself are its own: a lock timeout is the item's failure.
SELECT hurt_work($$ DO 'BEGIN RAISE ''no lock'' USING ERRCODE = ''lock_not_available''; END' $$);
CALL backfill.run('boundary') \gset
\echo :tally

-- After all this the same session runs it to its end.
SELECT hurt_work('SELECT');
CALL backfill.run('boundary') \gset
\echo :tally
CALL backfill.run('boundary') \gset
\echo :tally

-- A step cannot start a run, nor end the transaction that it is a part of.
SELECT hurt_work('CALL backfill.run(''boundary'')');
CALL backfill.run('boundary') \gset
SELECT sqlstate, message FROM backfill.step_event WHERE run_id = :run_id AND status = 'failed';
SELECT hurt_work('COMMIT');
CALL backfill.run('boundary') \gset
SELECT sqlstate, message FROM backfill.step_event WHERE run_id = :run_id AND status = 'failed';
-- A definition that is changed or dropped by its own step takes effect in the next run.
SELECT hurt_work('SELECT backfill.disable_pipeline(''boundary'')');
CALL backfill.run('boundary') \gset
\echo :tally
CALL backfill.run('boundary') \gset
SELECT backfill.enable_pipeline('boundary');
SELECT hurt_work('SELECT backfill.drop_pipeline(''boundary'')');
CALL backfill.run('boundary') \gset
SELECT sqlstate, message FROM backfill.step_event WHERE run_id = :run_id AND status = 'failed';
SELECT backfill.drop_pipeline('boundary');
DROP SCHEMA boundary CASCADE;
