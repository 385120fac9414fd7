-- A run that waits while time passes: it looks as far as the moment at which it begins, and belongs to the slot it was asked for in.
CREATE SCHEMA waiting;
SET search_path = waiting;
SET client_min_messages = error;
SET backfill.narrate = none;
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
CREATE TABLE item (id bigint PRIMARY KEY, arrived_at timestamptz NOT NULL);
INSERT INTO item VALUES (1, '2026-11-09 09:00'), (2, '2026-11-10 09:00'), (3, '2026-11-10 20:00'), (4, '2026-11-11 09:00');
CREATE TABLE output (pipeline text, id bigint, PRIMARY KEY (pipeline, id));
CREATE FUNCTION at_time(at timestamptz) RETURNS timestamptz LANGUAGE sql AS
	$$ SELECT at FROM set_config('backfill.test_clock_seconds', extract(epoch FROM at)::text, false) $$;
CREATE FUNCTION define(name text, catch_up text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM backfill.create_pipeline(name, 'SELECT id, arrived_at FROM item WHERE arrived_at >= $1 AND arrived_at < $2', timezone => 'UTC', catch_up => catch_up);
	PERFORM backfill.add_batch_step(name, 'make', format('SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM output o WHERE o.pipeline = %L AND o.id = k)', name),
		format('INSERT INTO output SELECT %L, k FROM unnest($1) k', name));
END $$;
CREATE VIEW seen AS
	SELECT p.name, r.window_from::date AS day, r.scan_to, r.catches_up, r.changed FROM backfill.run r JOIN backfill.pipeline p USING (pipeline_id) ORDER BY p.name, r.run_id;
SELECT define('at_once', 'coalesce'), define('slot_by_slot', 'each');

SELECT at_time('2026-11-09 10:00');
CALL backfill.run('at_once') \gset
CALL backfill.run('slot_by_slot') \gset
-- Asked for on one day, asked for again on the next, and nobody came before.
SELECT at_time('2026-11-10 10:00');
SELECT backfill.request_run(name) > 0 AS asked FROM unnest('{at_once,slot_by_slot}'::text[]) name;
SELECT at_time('2026-11-11 10:00');
SELECT backfill.request_run(name) > 0 AS asked FROM unnest('{at_once,slot_by_slot}'::text[]) name;
CALL backfill.run_requested('at_once');
CALL backfill.run_requested('slot_by_slot');
SELECT * FROM seen;
SELECT pipeline, array_agg(id ORDER BY id) AS made FROM output GROUP BY pipeline ORDER BY pipeline;
SELECT name, watermark FROM backfill.pipeline ORDER BY name;
-- One that waited for longer than can be caught up with leaves out what a run that is asked for now would, and says so; also
-- where none has run before.
SELECT backfill.request_run('at_once') > 0 AS asked, define('never_run', 'coalesce'), backfill.request_run('never_run') > 0 AS asked_too;
SELECT at_time('2026-12-20 10:00');
CALL backfill.run_requested('at_once');
CALL backfill.run_requested('never_run');
SELECT p.name, r.scan_from, r.scan_to, r.left_out_from FROM backfill.run r JOIN backfill.pipeline p USING (pipeline_id)
WHERE r.scan_to > '2026-12-01' ORDER BY p.name;
SELECT * FROM backfill.check_invariants();

RESET backfill.test_clock_seconds;
SELECT backfill.drop_pipeline(name) FROM unnest('{at_once,slot_by_slot,never_run}'::text[]) name;
DROP SCHEMA waiting CASCADE;
