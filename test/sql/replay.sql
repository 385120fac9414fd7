-- Going over past slots again: which slots, in which order, for whom, and how it is stopped and goes on.
CREATE SCHEMA replay;
SET search_path = replay;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET client_min_messages = warning;
\set SHOW_CONTEXT never
ALTER TABLE backfill.run ALTER run_id RESTART WITH 5001;
ALTER TABLE backfill.replay ALTER replay_id RESTART WITH 501;
SELECT backfill.create_roles();
CREATE FUNCTION at_time(at timestamptz) RETURNS void LANGUAGE sql AS $$
	SELECT FROM set_config('backfill.test_clock_seconds', extract(epoch FROM at)::text, false) $$;
SELECT at_time('2026-11-10 12:00+01');

-- Live runs see what is stuck, replays see what arrived.
CREATE TABLE item (id bigint PRIMARY KEY, arrived_at timestamptz NOT NULL, body text NOT NULL DEFAULT 'a');
CREATE TABLE output (id bigint PRIMARY KEY, body text NOT NULL, made_by text NOT NULL);
CREATE FUNCTION make(keys bigint[]) RETURNS TABLE (k bigint, outcome backfill.outcome) LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT FROM item i WHERE i.id = ANY (keys) AND i.body = 'poison') THEN
		RAISE EXCEPTION 'poisoned' USING ERRCODE = 'data_exception';
	END IF;
	INSERT INTO output AS o SELECT i.id, i.body, backfill.mode() FROM item i WHERE i.id = ANY (keys) AND i.body NOT IN ('absent', 'refused')
	ON CONFLICT (id) DO UPDATE SET body = excluded.body, made_by = excluded.made_by;
	PERFORM backfill.emit('slack:#' || i.id, 'made', to_jsonb(i.body), key => i.id) FROM item i WHERE i.id = ANY (keys) ORDER BY i.id;
	RETURN QUERY SELECT i.id, backfill.fail('refused') FROM item i WHERE i.id = ANY (keys) AND i.body = 'refused';
END $$;
SELECT backfill.create_pipeline('again',
	'SELECT id, arrived_at FROM item i WHERE arrived_at >= $1 AND arrived_at < $2
		AND (backfill.is_replay() OR NOT EXISTS (SELECT FROM output o WHERE o.id = i.id))', timezone => 'Europe/Berlin');
SELECT backfill.add_batch_step('again', 'make',
	'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM output o JOIN item i USING (id, body) WHERE o.id = k)', 'SELECT * FROM make($1)');
CREATE VIEW tally AS SELECT run_id, mode, state, candidates AS items, changed, unchanged AS same, skipped AS skip, failed FROM backfill.run_history WHERE pipeline = 'again' ORDER BY run_id;
CREATE VIEW slot AS SELECT run_id, window_from AT TIME ZONE 'Europe/Berlin' AS local_from, window_to - window_from AS length,
	scan_from = window_from AND scan_to = window_to AS whole, state FROM backfill.run_history WHERE pipeline = 'again' ORDER BY run_id;

-- Days of 23 and 25 hours.
SELECT run_id, window_from AT TIME ZONE 'Europe/Berlin' AS local_from, window_to - window_from AS length, state FROM backfill.replay('again', '2026-10-24', '2026-10-27');
SELECT * FROM slot;
SELECT backfill.cancel_replay(501);
SELECT count(*) AS slots, sum(window_to - window_from) AS length FROM backfill.replay('again', '2026-03-28', '2026-03-31');
SELECT * FROM slot WHERE run_id > 5003;
SELECT backfill.cancel_replay(502);
-- Weeks begin on Monday; months are calendar months.
SELECT backfill.alter_pipeline('again', slot => 'week');
SELECT count(*) FROM backfill.replay('again', '2026-10-19', '2026-11-02');
SELECT * FROM slot WHERE run_id > 5006;
SELECT backfill.cancel_replay(503);
SELECT count(*) FROM backfill.replay('again', '2026-10-20', '2026-11-02');
SELECT backfill.alter_pipeline('again', slot => 'month');
SELECT count(*) FROM backfill.replay('again', '2026-01-01', '2026-04-01');
SELECT * FROM slot WHERE run_id > 5008;
SELECT backfill.cancel_replay(504);
-- The hour that happens twice is two slots, each of an hour; the one that does not happen is none.
SELECT backfill.alter_pipeline('again', slot => 'hour');
SELECT window_from, window_to - window_from AS length FROM backfill.replay('again', '2026-10-25 01:00', '2026-10-25 04:00');
SELECT window_from, window_to - window_from AS length FROM backfill.replay('again', '2026-03-29 01:00', '2026-03-29 04:00');
SELECT backfill.cancel_replay(505), backfill.cancel_replay(506);
-- Where midnight happens twice, or not at all, the days still follow each other without gap or overlap.
SELECT backfill.alter_pipeline('again', slot => 'day', timezone => 'Atlantic/Azores');
SELECT window_from, window_to - window_from AS length, window_from = lag(window_to, 1, window_from) OVER (ORDER BY window_from) AS follows
FROM backfill.replay('again', '2026-10-24', '2026-10-27');
SELECT window_from, window_to - window_from AS length, window_from = lag(window_to, 1, window_from) OVER (ORDER BY window_from) AS follows
FROM backfill.replay('again', '2026-03-28', '2026-03-31');
SELECT backfill.cancel_replay(507), backfill.cancel_replay(508);
SELECT count(*) FILTER (WHERE at < w.window_from OR at >= w.window_to) AS outside, count(DISTINCT w) AS slots
FROM generate_series('2026-10-24 00:00-00'::timestamptz, '2026-10-26 23:30-00', '30 minutes') at, backfill._slot_of(at, 'day', 'Atlantic/Azores') w;
SELECT backfill.alter_pipeline('again', timezone => 'Europe/Berlin');
DELETE FROM backfill.replay;

-- Bounds that are none: not on a slot, backwards, empty, missing, endless, in the future; no such pipeline; no such redo.
SELECT backfill.replay('again', '2026-10-01 06:00', '2026-10-02');
SELECT backfill.replay('again', '2026-10-01', '2026-10-02 12:34:56');
SELECT backfill.replay('again', '2026-10-02', '2026-10-01');
SELECT backfill.replay('again', '2026-10-02', '2026-10-02');
SELECT backfill.replay('again', NULL, '2026-10-02');
SELECT backfill.replay('again', '-infinity', '2026-10-02');
SELECT backfill.replay('again', '2026-10-02', 'infinity');
SELECT backfill.replay('again', '2026-11-11', '2026-11-12');
SELECT backfill.replay('again', '1026-10-01', '2026-10-02');
SELECT backfill.replay('nowhere', '2026-10-01', '2026-10-02');
SELECT backfill.replay(NULL, '2026-10-01', '2026-10-02');
SELECT backfill.replay('again', '2026-10-01', '2026-10-02', redo => 'some');
SELECT backfill.replay('again', '2026-10-01', '2026-10-02', redo => NULL);
SELECT backfill.replay('again', '2026-10-01', '2026-10-02', deliver => NULL);
SELECT backfill.replay('again', '2026-10-01', '2026-10-02', downstream => NULL);
SELECT backfill.replay('again', '2026-10-01', '2026-10-02', redo => 'all');
SELECT count(*) FROM slot;
-- Today may be replayed as far as it has come; slots that have not begun are left out.
SELECT window_from, state FROM backfill.replay('again', '2026-11-09', '2026-12-01');
SELECT backfill.cancel_replay(replay_id) FROM backfill.replay_progress;
DELETE FROM backfill.replay;

-- Whose it is: the owner's, or an operator's. Delivery asks for more.
CREATE ROLE replay_other;
CREATE ROLE replay_operator IN ROLE backfill_operator;
CREATE ROLE replay_deliverer IN ROLE backfill_operator, backfill_deliver;
SET ROLE replay_other;
SELECT backfill.replay('again', '2026-10-01', '2026-10-02');
RESET ROLE;
GRANT EXECUTE ON FUNCTION backfill.replay, backfill.pause_replay, backfill.resume_run TO replay_other;
SET ROLE replay_other;
SELECT backfill.replay('again', '2026-10-01', '2026-10-02');
SET ROLE replay_operator;
SELECT count(*) FROM backfill.replay('again', '2026-10-01', '2026-10-02');
SELECT backfill.replay('again', '2026-10-01', '2026-10-02', deliver => true);
SET ROLE replay_other;
SELECT backfill.pause_replay(510);
SET ROLE replay_deliverer;
SELECT count(*) FROM backfill.replay('again', '2026-10-01', '2026-10-02', deliver => true);
RESET ROLE;
SELECT replay_id, requested_by, deliver, slots, open FROM backfill.replay_progress ORDER BY 1;
DELETE FROM backfill.replay;
SELECT backfill.pause_replay(999), backfill.resume_replay(999);
SELECT backfill.pause_run(999);

-- Twice while open is once; with other wishes, or when it is over, it is another one.
ALTER TABLE backfill.run ALTER run_id RESTART WITH 5101;
ALTER TABLE backfill.replay ALTER replay_id RESTART WITH 521;
INSERT INTO item VALUES (1, '2026-10-01 10:00+02'), (2, '2026-10-01 23:59:59.999999+02'), (3, '2026-10-02 00:00+02'), (4, '2026-10-03 10:00+02'), (5, '2026-10-04 00:00+02');
SELECT run_id, window_from FROM backfill.replay('again', '2026-10-01', '2026-10-04');
SELECT run_id, window_from FROM backfill.replay('again', '2026-10-01', '2026-10-04');
SELECT run_id, window_from FROM backfill.replay('again', '2026-10-01', '2026-10-02');
SELECT backfill.cancel_run(5104);
SELECT backfill.cancel_run(5104);

-- Oldest slot first, after the live run that waits; each item in its own slot, and only once.
SELECT backfill.request_run('again');
SELECT backfill._next_requested('again');
SET backfill.narrate = 'none';
CALL backfill.run_requested('again');
SELECT * FROM tally WHERE run_id > 5100;
SELECT run_id, item FROM backfill.step_event WHERE run_id > 5100 ORDER BY step_event_id;
SELECT id, made_by FROM output ORDER BY id;
SELECT replay_id, slots, done, open, ended_early, candidates, changed, failed FROM backfill.replay_progress ORDER BY 1;
CALL backfill.run_requested('again');
-- A live run has nothing to do where a replay sees all that arrived.
SELECT at_time('2026-10-04 12:00+02');
SELECT backfill.alter_pipeline('again', lookback => '7 days');
CALL backfill.run('again') \gset
\echo :tally
CALL backfill.run('again') \gset
\echo :tally
SELECT at_time('2026-11-10 12:00+01');
SELECT count(*) FROM backfill.replay('again', '2026-10-01', '2026-10-05');
CALL backfill.run_requested('again');
SELECT items, changed, same FROM tally WHERE run_id > 5107 AND mode = 'replay';

-- redo: what is lacking is made, what is stale is made again; with all, everything. A redo that fails leaves what there was,
-- whether it raised an error, said so, or made nothing.
SELECT backfill.alter_step('again', 'make', clear => 'DELETE FROM output WHERE id = ANY ($1)');
TRUNCATE output;
INSERT INTO output SELECT id, CASE id WHEN 2 THEN 'old' ELSE body END, 'before' FROM item WHERE id > 1;
SELECT count(*) FROM backfill.replay('again', '2026-10-01', '2026-10-05');
CALL backfill.run_requested('again');
SELECT * FROM output ORDER BY id;
UPDATE output SET made_by = 'before';
SELECT count(*) FROM backfill.replay('again', '2026-10-01', '2026-10-05', redo => 'all');
CALL backfill.run_requested('again');
SELECT * FROM output ORDER BY id;
UPDATE output SET made_by = 'before';
INSERT INTO item VALUES (6, '2026-10-01 11:00+02'), (7, '2026-10-01 11:00+02');
INSERT INTO output VALUES (6, 'a', 'before'), (7, 'a', 'before');
UPDATE item SET body = CASE id WHEN 1 THEN 'poison' WHEN 2 THEN 'absent' WHEN 6 THEN 'refused' ELSE 'b' END;
SELECT count(*) FROM backfill.replay('again', '2026-10-01', '2026-10-02', redo => 'all');
CALL backfill.run_requested('again');
SELECT items, changed, same, failed FROM tally ORDER BY run_id DESC LIMIT 1;
SELECT item, status, reason FROM backfill.step_event WHERE run_id = (SELECT max(run_id) FROM tally) ORDER BY item;
SELECT * FROM output WHERE id IN (1, 2, 6, 7) ORDER BY id;
SELECT item FROM backfill.item_failure WHERE pipeline_id = (SELECT pipeline_id FROM backfill.pipeline WHERE name = 'again');
-- Nobody was told of what failed.
SELECT o.item, o.state, o.reason, o.payload FROM backfill.outbox o WHERE o.pipeline = 'again' AND o.window_from = '2026-10-01 00:00+02' ORDER BY 1;
UPDATE item SET body = 'a';

-- Paused, resumed and cancelled, a slot and a whole replay.
ALTER TABLE backfill.run ALTER run_id RESTART WITH 5301;
ALTER TABLE backfill.replay ALTER replay_id RESTART WITH 541;
SELECT run_id, window_from, state FROM backfill.replay('again', '2026-10-01', '2026-10-05');
SELECT backfill.pause_run(5302);
SELECT backfill.pause_run(5302);
CALL backfill.run_requested('again');
SELECT run_id, state FROM slot WHERE run_id > 5300;
SELECT slots, done, open, ended_early FROM backfill.replay_progress WHERE replay_id = 541;
SELECT backfill.resume_run(5301);
SELECT backfill.resume_run(5302);
SELECT backfill.resume_run(5302);
SELECT backfill.pause_replay(541), backfill.pause_replay(541);
SELECT backfill.resume_replay(541), backfill.resume_replay(541);
SELECT backfill.cancel_run(5302);
SELECT backfill.cancel_replay(541);
SELECT run_id, state, finished_at IS NOT NULL AS ended FROM backfill.run WHERE run_id > 5300 ORDER BY 1;
SELECT slots, done, open, ended_early FROM backfill.replay_progress WHERE replay_id = 541;
-- A live run that was paused before it began, and another that was asked for since: one waits, the other is told so.
SELECT backfill.request_run('again'), backfill.request_run('again');
SELECT backfill.pause_run(5305);
SELECT backfill.request_run('again');
SELECT backfill.resume_run(5305);
SELECT backfill.cancel_run(5306);
SELECT backfill.resume_run(5305);
SELECT backfill.cancel_run(5305);
-- Another pipeline's run is not this one's.
SELECT backfill.create_pipeline('other', 'SELECT id FROM item WHERE $1 < $2');
SELECT backfill.add_batch_step('other', 'make', 'SELECT k FROM unnest($1) k WHERE false', 'SELECT 1 FROM unnest($1)');
SELECT backfill.request_run('other');
CALL backfill._run_requested('again', 5307);
SELECT state FROM backfill.run WHERE run_id = 5307;

-- A session that died in a slot: the slot goes on where it was, once its lease has passed.
SELECT count(*) FROM backfill.replay('again', '2026-10-01', '2026-10-02');
SELECT state, lease_token FROM backfill._claim_run((SELECT max(run_id) FROM tally), (SELECT pipeline_id FROM backfill.pipeline WHERE name = 'again'));
CALL backfill.run_requested('again');
SELECT state FROM tally ORDER BY run_id DESC LIMIT 1;
SELECT at_time('2026-11-10 12:11+01');
CALL backfill.run_requested('again');
SELECT state, items, same FROM tally ORDER BY run_id DESC LIMIT 1;
SELECT * FROM backfill.check_invariants();

-- No setting of the session that asks moves a slot.
SET timezone = 'Asia/Tokyo';
SET datestyle = 'German';
SELECT window_from AT TIME ZONE 'Europe/Berlin' AS local_from, window_to AT TIME ZONE 'Europe/Berlin' AS local_to FROM backfill.replay('again', '2026-10-25', '2026-10-26');
SET datestyle = 'ISO';
SET timezone = 'UTC';

RESET backfill.test_clock_seconds;
RESET backfill.narrate;
SELECT backfill.drop_pipeline('again'), backfill.drop_pipeline('other');
TRUNCATE backfill.emission, backfill.superseded, backfill.intervention, backfill.undelivered, backfill.delivery, backfill.message RESTART IDENTITY;
DROP OWNED BY replay_other, replay_operator, replay_deliverer;
DROP ROLE replay_other, replay_operator, replay_deliverer;
DROP SCHEMA replay CASCADE;
