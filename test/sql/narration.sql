-- The story of a run, as a person reads it.
CREATE SCHEMA story;
SET search_path = story;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET client_min_messages = error;
SET backfill.narrate = 'none';
\set SHOW_CONTEXT never
ALTER TABLE backfill.alarm ALTER alarm_id RESTART WITH 201;
ALTER TABLE backfill.run ALTER run_id RESTART WITH 2001;
ALTER TABLE backfill.replay ALTER replay_id RESTART WITH 201;
CREATE FUNCTION at_time(at timestamptz) RETURNS void LANGUAGE sql AS $$
	SELECT FROM set_config('backfill.test_clock_seconds', extract(epoch FROM at)::text, false) $$;
CREATE TABLE lead (id bigint PRIMARY KEY, arrived_at timestamptz NOT NULL, report text);
CREATE TABLE reading (id bigint PRIMARY KEY, amount integer NOT NULL);
CREATE TABLE offer (id bigint PRIMARY KEY);
CREATE FUNCTION read(k bigint) RETURNS backfill.outcome LANGUAGE plpgsql AS $$
DECLARE
	body text := (SELECT l.report FROM lead l WHERE l.id = k);
BEGIN
	IF body IS NULL THEN
		RETURN backfill.stop('no_report');
	END IF;
	INSERT INTO reading VALUES (k, body::integer);
	RETURN backfill.ok();
END $$;
CREATE FUNCTION make_offer(k bigint) RETURNS backfill.outcome LANGUAGE plpgsql AS $$
BEGIN
	IF (SELECT r.amount FROM reading r WHERE r.id = k) = 0 THEN
		RETURN backfill.skip('no_loan');
	END IF;
	INSERT INTO offer VALUES (k);
	PERFORM backfill.emit('email:a' || k || '@example.com', 'offer_ready', to_jsonb(k));
	RETURN backfill.ok();
END $$;
SELECT backfill.create_pipeline('story', 'SELECT id, arrived_at FROM lead WHERE arrived_at >= $1 AND arrived_at < $2', timezone => 'Asia/Kolkata', summary_to => 'slack:#ops');
SELECT backfill.add_step('story', 'read_report', 'SELECT EXISTS (SELECT FROM reading r WHERE r.id = $1)', 'SELECT read($1)', clear => 'DELETE FROM reading WHERE id = $1');
SELECT backfill.add_step('story', 'make_offer', 'SELECT EXISTS (SELECT FROM offer o WHERE o.id = $1)', 'SELECT make_offer($1)');

INSERT INTO lead SELECT n, '2026-11-01 12:00+05:30', CASE WHEN n = 3 THEN 'twelve' WHEN n = 4 THEN '0' WHEN n < 5 THEN '12' END FROM generate_series(1, 6) n;
SELECT at_time('2026-11-02 04:00+05:30');
CALL backfill.run('story') \gset
\echo :tally
SELECT line FROM backfill.narration(:run_id);
-- A second pass: nothing but counts.
CALL backfill.run('story') \gset
SELECT line FROM backfill.narration(:run_id);
-- A replay of the day, silent; and one that waits.
SELECT run_id FROM backfill.replay('story', '2026-11-01', '2026-11-02', redo => 'all') \gset
SELECT line FROM backfill.narration(:run_id);
CALL backfill.run_requested('story') \gset
SELECT line FROM backfill.narration(:run_id);
-- A server that was down for longer than it may catch up with.
SELECT at_time('2026-11-15 04:00+05:30');
CALL backfill.run('story') \gset
SELECT line FROM backfill.narration(:run_id);
-- What holds the watermark back is named.
BEGIN;
INSERT INTO offer VALUES (1000);
PREPARE TRANSACTION 'story_held';
CALL backfill.run('story') \gset
SELECT regexp_replace(line, '\d\d\d\d-\d\d-\d\d \d\d:\d\d:\d\d\+00', 'then') AS line FROM backfill.narration(:run_id) WHERE line ~ 'held';
ROLLBACK PREPARED 'story_held';
-- One that failed, and one that was called off before it began.
SELECT backfill.alter_pipeline('story', candidates => 'SELECT id, arrived_at FROM lead WHERE arrived_at >= $1 - interval ''1 year'' AND arrived_at < $2 AND 1 / (id - 1) > 0');
CALL backfill.run('story');
SELECT max(run_id) AS run_id FROM backfill.run_history WHERE pipeline = 'story' \gset
SELECT line FROM backfill.narration(:run_id);
SELECT backfill.request_run('story') AS run_id \gset
SELECT line FROM backfill.narration(:run_id);
SELECT backfill.cancel_run(:run_id);
SELECT line FROM backfill.narration(:run_id);
-- What was unusual. Its history is made up.
SELECT backfill.alter_pipeline('story', candidates => 'SELECT id, arrived_at FROM lead WHERE arrived_at >= $1 AND arrived_at < $2');
INSERT INTO backfill.run_shape (pipeline_id, run_id, window_from, run_time, data_at, state, judged, watermark_moved, candidates, changed, unchanged, skipped, failed, reasons)
SELECT p.pipeline_id, n, d, d + interval '4 hours', d - interval '8 hours', 'succeeded', true, true, 40, 0, 40, 0, 0, '{}'
FROM backfill.pipeline p, generate_series(1, 28) n, LATERAL (SELECT '2026-10-17 00:00+05:30'::timestamptz + n * interval '1 day') d (d) WHERE p.name = 'story';
SELECT at_time('2026-11-17 04:00+05:30');
CALL backfill.run('story') \gset
SELECT line FROM backfill.narration(:run_id);
INSERT INTO lead SELECT n, '2026-11-17 12:00+05:30', '12' FROM generate_series(101, 140) n;
SELECT at_time('2026-11-18 04:00+05:30');
CALL backfill.run('story') \gset
SELECT line FROM backfill.narration(:run_id) WHERE line !~ ' item=';
-- When the items' part has been purged, the rest is still told.
SELECT at_time('2027-03-01 04:00+05:30');
SELECT what, purged FROM backfill.purge('story');
SELECT line FROM backfill.narration(:run_id);
SELECT * FROM backfill.narration(0);
SELECT * FROM backfill.check_invariants();

RESET backfill.test_clock_seconds;
RESET backfill.narrate;
SELECT backfill.drop_pipeline('story');
DELETE FROM backfill.retention;
TRUNCATE backfill.emission, backfill.superseded, backfill.intervention, backfill.undelivered, backfill.delivery, backfill.message RESTART IDENTITY;
DROP SCHEMA story CASCADE;
