-- What the mode of a run decides: what is told again, what is too old to be told, and what a step can ask about its run.
CREATE SCHEMA modes;
SET search_path = modes;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET client_min_messages = warning;
SET backfill.narrate = 'none';
\set SHOW_CONTEXT never
CREATE FUNCTION at_time(at timestamptz) RETURNS void LANGUAGE sql AS $$
	SELECT FROM set_config('backfill.test_clock_seconds', extract(epoch FROM at)::text, false) $$;
SELECT backfill.mode(), backfill.is_replay(), backfill.run_time() = now() AS run_time, backfill.run_window();

-- One order a day from 1 October, of which each tells its customer; a trigger of the user's own keeps what it sees.
CREATE TABLE item (id bigint PRIMARY KEY, arrived_at timestamptz NOT NULL);
CREATE TABLE output (id bigint PRIMARY KEY);
CREATE TABLE seen (id bigint, mode text, is_replay boolean, run_time timestamptz, window_from timestamptz, window_to timestamptz);
CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO seen SELECT new.id, backfill.mode(), backfill.is_replay(), backfill.run_time(), w.window_from, w.window_to FROM backfill.run_window() w;
	RETURN new;
END $$;
CREATE TRIGGER see AFTER INSERT ON output FOR EACH ROW EXECUTE FUNCTION see();
CREATE FUNCTION make(keys bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO output SELECT k FROM unnest(keys) k ORDER BY k;
	PERFORM backfill.emit('slack:#' || k, 'made', to_jsonb(k), key => k) FROM unnest(keys) k ORDER BY k;
END $$;
SELECT backfill.create_pipeline('told',
	'SELECT id, arrived_at FROM item i WHERE arrived_at >= $1 AND arrived_at < $2
		AND (backfill.is_replay() OR NOT EXISTS (SELECT FROM output o WHERE o.id = i.id))', timezone => 'Asia/Kolkata');
SELECT backfill.add_batch_step('told', 'make', 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM output o WHERE o.id = k)', 'SELECT make($1)',
	clear => 'DELETE FROM output WHERE id = ANY ($1)');
INSERT INTO item SELECT n, (date '2026-10-01' + n - 1 + time '09:00') AT TIME ZONE 'Asia/Kolkata' FROM generate_series(1, 31) n WHERE n NOT IN (13, 14);
CREATE FUNCTION send() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	claim record;
	sent bigint := 0;
BEGIN
	FOR claim IN SELECT * FROM backfill.claim_deliveries('slack') LOOP
		PERFORM backfill.mark_sent(ARRAY[claim.message_id], claim.token);
		sent := sent + 1;
	END LOOP;
	RETURN sent;
END $$;
CREATE PROCEDURE work_off(days integer) LANGUAGE plpgsql AS $$
DECLARE
	run bigint;
	tally text;
BEGIN
	FOR day IN 1..days LOOP
		PERFORM modes.at_time((date '2026-10-01' + day - 1 + time '10:00') AT TIME ZONE 'Asia/Kolkata');
		CALL backfill.run('told', run, tally);
		PERFORM modes.send();
		COMMIT;
	END LOOP;
END $$;

-- Last month is worked off live, and told day by day. Two orders come to light when it is over.
CALL work_off(31);
INSERT INTO item SELECT n, (date '2026-10-01' + n - 1 + time '09:00') AT TIME ZONE 'Asia/Kolkata' FROM generate_series(13, 14) n;
SELECT state, reason, count(*), min(item::integer), max(item::integer) FROM backfill.outbox GROUP BY 1, 2 ORDER BY 3;
SELECT id FROM item EXCEPT SELECT id FROM output ORDER BY 1;
-- Run again, all of it: nothing is told a second time, what was never told is suppressed, and says why.
SELECT at_time('2026-11-03 10:00+05:30');
SELECT count(*) AS slots FROM backfill.replay('told', '2026-10-01', '2026-11-01', redo => 'all');
CALL backfill.run_requested('told');
SELECT slots, done, candidates, changed, failed FROM backfill.replay_progress;
SELECT count(*) FROM output;
SELECT state, reason, count(*) FROM backfill.outbox GROUP BY 1, 2 ORDER BY 3;
SELECT e.state, e.reason, count(*) FROM backfill.emission e JOIN backfill.run r USING (run_id) WHERE r.mode = 'replay' GROUP BY 1, 2 ORDER BY 3;
SELECT count(*) AS waiting FROM backfill.undelivered;
-- Opted in: what was sent stays as it was sent, and only what was never sent waits.
SELECT count(*) AS slots FROM backfill.replay('told', '2026-10-01', '2026-11-01', redo => 'all', deliver => true);
SELECT part, name, would, reason, items FROM backfill.rehearse('told', '2026-10-01', '2026-11-01', redo => 'all', deliver => true);
CALL backfill.run_requested('told');
SELECT state, reason, count(*), min(item::integer), max(item::integer) FROM backfill.outbox GROUP BY 1, 2 ORDER BY 3;
SELECT recipient, window_from FROM backfill.claim_deliveries('slack') ORDER BY 1;
SELECT * FROM backfill.check_invariants();

-- What steps and triggers see: the mode, and the frame of their own run.
SELECT DISTINCT s.mode, s.is_replay, r.mode, s.run_time = r.run_time AS its_time
FROM seen s JOIN backfill.run r USING (window_from, window_to) WHERE s.run_time = r.run_time AND s.mode = r.mode ORDER BY 1;
SELECT count(*) AS of_no_run FROM seen s WHERE NOT EXISTS (SELECT FROM backfill.run r WHERE (r.mode, r.run_time, r.window_from, r.window_to) = (s.mode, s.run_time, s.window_from, s.window_to));

-- A report that arrives on one day and is worked off on the next belongs to the day it arrived on: to the same window, so to the
-- same message, in its live run and in every replay, of either day. Also when its run began at midnight, or sat in a queue.
TRUNCATE item, output, seen, backfill.emission, backfill.superseded, backfill.intervention, backfill.undelivered, backfill.delivery, backfill.message RESTART IDENTITY;
DELETE FROM backfill.run;
SELECT backfill.alter_pipeline('told', delivery_max_age => '36 hours');
INSERT INTO item VALUES (1, '2026-11-01 23:59:59.999999+05:30'), (2, '2026-11-02 00:00+05:30'), (3, '2026-11-01 08:00+05:30');
SELECT at_time('2026-11-02 04:00+05:30');
CALL backfill.run('told') \gset
SELECT item, recipient, window_from AT TIME ZONE 'Asia/Kolkata' AS day, state, run_id = :run_id AS its_run FROM backfill.outbox ORDER BY item;
SELECT window_from AT TIME ZONE 'Asia/Kolkata' AS day_of_run FROM backfill.run WHERE run_id = :run_id;
SELECT send();
SELECT count(*) AS slots FROM backfill.replay('told', '2026-11-01', '2026-11-03', redo => 'all', deliver => true);
CALL backfill.run_requested('told');
SELECT count(*) AS slots FROM backfill.replay('told', '2026-11-01', '2026-11-02', redo => 'all');
CALL backfill.run_requested('told');
SELECT sum(changed) FROM backfill.run WHERE mode = 'replay';
SELECT item, state FROM backfill.outbox ORDER BY item;
SELECT count(*) AS waiting FROM backfill.undelivered;
-- An item without a time of its own belongs to the window of its run.
SELECT backfill.alter_pipeline('told', candidates => 'SELECT id FROM item WHERE $1 < $2');
TRUNCATE output;
CALL backfill.run('told') \gset
SELECT item, window_from AT TIME ZONE 'Asia/Kolkata' AS day FROM backfill.outbox ORDER BY item, 2;
SELECT backfill.alter_pipeline('told', candidates => 'SELECT id, arrived_at FROM item WHERE arrived_at >= $1 AND arrived_at < $2');

-- A run that sat in a queue for two days: what it tells is stale, and nobody set a flag.
TRUNCATE item, output, seen, backfill.emission, backfill.superseded, backfill.intervention, backfill.undelivered, backfill.delivery, backfill.message RESTART IDENTITY;
SELECT backfill.alter_pipeline('told', delivery_max_age => '24 hours');
SELECT at_time('2026-11-01 10:00+05:30');
INSERT INTO item VALUES (1, '2026-11-01 09:00+05:30');
SELECT count(backfill.request_run('told'));
SELECT at_time('2026-11-03 00:00:01+05:30');
CALL backfill.run_requested('told');
SELECT item, state, reason FROM backfill.outbox;
SELECT mode, state, changed, window_from AT TIME ZONE 'Asia/Kolkata' AS day, run_time AT TIME ZONE 'Asia/Kolkata' AS frozen FROM backfill.run WHERE run_time > '2026-11-01 10:00+05:30'::timestamptz - interval '1 second' AND run_time < '2026-11-01 11:00+05:30';
SELECT run_time AT TIME ZONE 'Asia/Kolkata' AS frozen, mode FROM seen;
-- A second less, and it is told in time; in the queue of the outbox it grows old all the same.
TRUNCATE output, backfill.emission, backfill.superseded, backfill.intervention, backfill.undelivered, backfill.delivery, backfill.message RESTART IDENTITY;
SELECT at_time('2026-11-01 10:00+05:30');
SELECT count(backfill.request_run('told'));
SELECT at_time('2026-11-02 23:59:59+05:30');
CALL backfill.run_requested('told');
SELECT item, state, reason FROM backfill.outbox;
SELECT at_time('2026-11-03 00:00:01+05:30');
SELECT count(*) FROM backfill.claim_deliveries('slack');
SELECT item, state, reason FROM backfill.outbox;
SELECT * FROM backfill.check_invariants();

-- Outside a run nobody is told.
SELECT backfill.emit('slack:#a', 'made', '1');
SELECT backfill.count('made');

RESET backfill.test_clock_seconds;
RESET backfill.narrate;
SELECT backfill.drop_pipeline('told');
TRUNCATE backfill.emission, backfill.superseded, backfill.intervention, backfill.undelivered, backfill.delivery, backfill.message RESTART IDENTITY;
DROP SCHEMA modes CASCADE;
