-- What a run starts, and whom it tells: the pipelines after it once, if it changed something, and a summary of it once, if it
-- changed something or failed anew.
CREATE SCHEMA downstream;
SET search_path = downstream;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET client_min_messages = warning;
SET backfill.narrate = 'none';
\set SHOW_CONTEXT never
CREATE FUNCTION at_time(at timestamptz) RETURNS void LANGUAGE sql AS $$
	SELECT FROM set_config('backfill.test_clock_seconds', extract(epoch FROM at)::text, false) $$;
SELECT at_time('2026-11-03 10:00+00');
CREATE TABLE item (id bigint PRIMARY KEY, arrived_at timestamptz NOT NULL, body text NOT NULL DEFAULT 'a');
CREATE TABLE output (pipeline text, id bigint, PRIMARY KEY (pipeline, id));
CREATE FUNCTION make(pipeline text, keys bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT FROM item i WHERE i.id = ANY (keys) AND i.body = 'poison') THEN
		RAISE EXCEPTION 'poisoned' USING ERRCODE = 'data_exception';
	END IF;
	INSERT INTO output SELECT pipeline, k FROM unnest(keys) k;
END $$;
CREATE FUNCTION define(name text, after text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM backfill.create_pipeline(name, 'SELECT id, arrived_at FROM item WHERE arrived_at >= $1 AND arrived_at < $2', after => after);
	PERFORM backfill.add_batch_step(name, 'make', format('SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM output o WHERE o.pipeline = %L AND o.id = k)', name),
		format('SELECT make(%L, $1)', name), clear => format('DELETE FROM output WHERE pipeline = %L AND id = ANY ($1)', name));
END $$;
SELECT define('first', NULL), define('second', 'first'), define('also', 'first'), define('third', 'second'), define('aside', NULL);
CREATE VIEW waiting AS SELECT pipeline, mode, count(*) FROM backfill.run_history WHERE state = 'requested' GROUP BY 1, 2 ORDER BY 1, 2;
INSERT INTO item SELECT n, '2026-11-03 09:00+00' FROM generate_series(1, 3) n;

-- A live run that changed something starts each of them once, and only those right after it.
CALL backfill.run('first') \gset
\echo :tally
SELECT * FROM waiting;
SELECT p.name, r.requested_by = current_user AS by_the_same, r.run_time FROM backfill.run r JOIN backfill.pipeline p USING (pipeline_id) WHERE r.state = 'requested' ORDER BY 1;
-- Again while they wait: it is the same request. When nothing changed: none.
INSERT INTO item VALUES (4, '2026-11-03 09:00+00');
CALL backfill.run('first') \gset
SELECT * FROM waiting;
CALL backfill.run_requested('second');
SELECT * FROM waiting;
CALL backfill.run_requested('also');
CALL backfill.run_requested('third');
CALL backfill.run('first') \gset
\echo :tally
SELECT * FROM waiting;
-- A requested run starts them like any other; one that is disabled is left alone.
SELECT backfill.disable_pipeline('also');
INSERT INTO item VALUES (5, '2026-11-03 09:00+00');
SELECT count(backfill.request_run('first'));
CALL backfill.run_requested('first');
SELECT * FROM waiting;
CALL backfill.run_requested('second');
CALL backfill.run_requested('third');
SELECT backfill.enable_pipeline('also');

-- A replay starts none. Asked to, it starts them once, at its end, and only if something changed.
TRUNCATE output;
INSERT INTO item VALUES (6, '2026-11-01 09:00+00'), (7, '2026-11-02 09:00+00');
SELECT count(*) FROM backfill.replay('first', '2026-11-01', '2026-11-04');
CALL backfill.run_requested('first');
SELECT sum(changed) FROM backfill.replay_progress;
SELECT * FROM waiting;
SELECT count(*) FROM backfill.replay('first', '2026-11-01', '2026-11-04', downstream => true);
CALL backfill.run_requested('first');
SELECT * FROM waiting;
SELECT min(run_id) AS first_slot, max(run_id) AS last_slot FROM backfill.replay('first', '2026-11-01', '2026-11-04', redo => 'all', downstream => true) \gset
CALL backfill._run_requested('first', :first_slot) \gset
SELECT * FROM waiting;
SELECT backfill.pause_run(:last_slot);
CALL backfill.run_requested('first');
SELECT * FROM waiting;
SELECT backfill.resume_run(:last_slot);
CALL backfill.run_requested('first');
SELECT * FROM waiting;
CALL backfill.run_requested('second');
CALL backfill.run_requested('also');
CALL backfill.run_requested('third');
-- Its last slot may change nothing, or fail: what the others changed is told all the same.
DELETE FROM output WHERE id = 6;
SELECT count(*) FROM backfill.replay('first', '2026-11-01', '2026-11-03', downstream => true);
CALL backfill.run_requested('first');
SELECT * FROM waiting;
CALL backfill.run_requested('second');
CALL backfill.run_requested('also');
CALL backfill.run_requested('third');
DELETE FROM output WHERE id = 6;
CREATE VIEW fragile AS SELECT i.id, i.arrived_at, 4 / (i.id - 7) AS divided FROM item i;
SELECT backfill.alter_pipeline('first', candidates => 'SELECT id, arrived_at FROM fragile WHERE arrived_at >= $1 AND arrived_at < $2 AND divided IS NOT NULL');
SELECT count(*) FROM backfill.replay('first', '2026-11-01', '2026-11-03', downstream => true);
CALL backfill.run_requested('first');
SELECT slots, done, open, ended_early, changed FROM backfill.replay_progress ORDER BY replay_id DESC LIMIT 1;
SELECT * FROM waiting;
SELECT backfill.alter_pipeline('first', candidates => 'SELECT id, arrived_at FROM item WHERE arrived_at >= $1 AND arrived_at < $2');
CALL backfill.run_requested('second');
CALL backfill.run_requested('also');
CALL backfill.run_requested('third');

-- Or be cancelled, by itself or with all that is left; but not where nothing changed, or nobody asked for it.
DELETE FROM output WHERE id = 6;
SELECT min(run_id) AS first_slot, max(run_id) AS last_slot FROM backfill.replay('first', '2026-11-01', '2026-11-03', downstream => true) \gset
CALL backfill._run_requested('first', :first_slot) \gset
SELECT backfill.cancel_run(:last_slot);
SELECT * FROM waiting;
CALL backfill.run_requested('second');
CALL backfill.run_requested('also');
CALL backfill.run_requested('third');
DELETE FROM output WHERE id = 6;
SELECT min(run_id) AS first_slot, max(replay_id) AS replay FROM backfill.replay('first', '2026-11-01', '2026-11-04', downstream => true) \gset
CALL backfill._run_requested('first', :first_slot) \gset
SELECT backfill.cancel_replay(:replay);
SELECT * FROM waiting;
CALL backfill.run_requested('second');
CALL backfill.run_requested('also');
CALL backfill.run_requested('third');
SELECT max(replay_id) AS replay FROM backfill.replay('first', '2026-11-01', '2026-11-04', downstream => true) \gset
SELECT backfill.cancel_replay(:replay);
DELETE FROM output WHERE id = 6;
SELECT min(run_id) AS first_slot, max(run_id) AS last_slot FROM backfill.replay('first', '2026-11-01', '2026-11-03') \gset
CALL backfill._run_requested('first', :first_slot) \gset
SELECT backfill.cancel_run(:last_slot);
SELECT * FROM waiting;

-- No pipeline waits for itself, however far around.
SELECT backfill.alter_pipeline('first', after => 'first');
SELECT backfill.alter_pipeline('first', after => 'second');
SELECT backfill.alter_pipeline('first', after => 'third');
SELECT backfill.alter_pipeline('first', after => 'nowhere');
SELECT backfill.create_pipeline('fourth', 'SELECT id FROM item WHERE $1 < $2', after => 'fourth');
SELECT backfill.drop_pipeline('second');
SELECT backfill.alter_pipeline('third', after => 'aside'), backfill.alter_pipeline('first', after => 'third');
SELECT backfill.alter_pipeline('aside', after => 'first');
SELECT backfill.alter_pipeline('first', after => '');
SELECT name, (SELECT u.name FROM backfill.pipeline u WHERE u.pipeline_id = p.after) AS after FROM backfill.pipeline p WHERE name IN ('first', 'second', 'also', 'third', 'aside') ORDER BY 1;

-- A summary: of a run that changed something, and of one that failed anew; a night of no-ops is silent.
CREATE VIEW summary AS SELECT recipient, channel, message_type, window_from, state, payload - 'run_id' AS payload FROM backfill.outbox WHERE message_type LIKE 'run_summary%' ORDER BY message_id;
SELECT backfill.alter_pipeline('aside', summary_to => 'slack:#ops');
CALL backfill.run('aside') \gset
\echo :tally
SELECT * FROM summary;
CALL backfill.run('aside') \gset
SELECT count(*) FROM summary;
INSERT INTO item VALUES (8, '2026-11-03 09:00+00', 'poison');
CALL backfill.run('aside') \gset
SELECT message_type, payload -> 'changed' AS changed, payload -> 'newly_failed' AS newly_failed, payload -> 'reasons' AS reasons FROM summary;
-- It fails again, also on the next day: no news.
CALL backfill.run('aside') \gset
\echo :tally
SELECT at_time('2026-11-04 08:00+00');
CALL backfill.run('aside') \gset
\echo :tally
SELECT count(*) FROM summary;
-- It recovers, which is a change; the first run of the day said nothing, and the second is the second all the same.
UPDATE item SET body = 'a';
CALL backfill.run('aside') \gset
SELECT message_type, window_from, payload -> 'changed' AS changed FROM summary ORDER BY window_from DESC LIMIT 1;
-- An end that is repeated says nothing twice, and two runs that overlap are two, though they began at the same moment.
SELECT backfill._tell_summary(r) FROM backfill.run r WHERE r.run_id = :run_id;
SELECT count(*) FROM summary;
DELETE FROM output WHERE pipeline = 'aside' AND id = 8;
SELECT count(backfill.request_run('aside'));
CALL backfill.run('aside') \gset
DELETE FROM output WHERE pipeline = 'aside' AND id = 8;
CALL backfill.run_requested('aside');
SELECT message_type, window_from, payload -> 'changed' AS changed FROM summary;
-- A replay has none, whatever it changes and whether it delivers.
DELETE FROM output WHERE pipeline = 'aside' AND id = 8;
SELECT count(*) FROM backfill.replay('aside', '2026-11-03', '2026-11-04', deliver => true);
CALL backfill.run_requested('aside');
SELECT changed FROM backfill.run_history WHERE pipeline = 'aside' ORDER BY run_id DESC LIMIT 1;
SELECT count(*) FROM summary;
SELECT * FROM backfill.check_invariants();

RESET backfill.test_clock_seconds;
RESET backfill.narrate;
SELECT backfill.drop_pipeline('also'), backfill.drop_pipeline('second'), backfill.drop_pipeline('first'), backfill.drop_pipeline('third'), backfill.drop_pipeline('aside');
TRUNCATE backfill.emission, backfill.superseded, backfill.intervention, backfill.undelivered, backfill.delivery, backfill.message RESTART IDENTITY;
DROP SCHEMA downstream CASCADE;
