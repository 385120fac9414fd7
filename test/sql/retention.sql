-- Retention: what goes, what stays, and that nothing is told twice when its key has gone.
CREATE SCHEMA kept;
SET search_path = kept;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET client_min_messages = warning;
SET backfill.narrate = 'none';
\set SHOW_CONTEXT never
CREATE FUNCTION at_time(at timestamptz) RETURNS void LANGUAGE sql AS $$
	SELECT FROM set_config('backfill.test_clock_seconds', extract(epoch FROM at)::text, false) $$;
CREATE TABLE item (id bigint PRIMARY KEY, arrived_at timestamptz NOT NULL);
CREATE TABLE output (id bigint PRIMARY KEY);
CREATE FUNCTION make(keys bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO output SELECT k FROM unnest(keys) k ORDER BY k;
	PERFORM backfill.emit('slack:#' || k, 'made', to_jsonb(k), key => k), backfill.count('made', key => k::text) FROM unnest(keys) k ORDER BY k;
END $$;
SELECT backfill.create_pipeline('kept', 'SELECT id, arrived_at FROM item WHERE arrived_at >= $1 AND arrived_at < $2');
SELECT backfill.add_batch_step('kept', 'make', 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM output o WHERE o.id = k)', 'SELECT make($1)',
	clear => 'DELETE FROM output WHERE id = ANY ($1)');
CREATE FUNCTION send(but bigint DEFAULT 0) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	claim record;
	sent bigint := 0;
BEGIN
	FOR claim IN SELECT * FROM backfill.claim_deliveries('slack') LOOP
		IF claim.recipient = 'slack:#' || but THEN
			PERFORM backfill.mark_unknown(ARRAY[claim.message_id], claim.token, 'timeout');
		ELSE
			PERFORM backfill.mark_sent(ARRAY[claim.message_id], claim.token);
			sent := sent + 1;
		END IF;
	END LOOP;
	RETURN sent;
END $$;
-- Ten days, an item each; what is sent is counted by its receiver. Of the fourth nobody knows, the fifth is never sent.
CREATE PROCEDURE ten_days() LANGUAGE plpgsql AS $$
DECLARE
	run bigint;
	tally text;
BEGIN
	FOR day IN 1..10 LOOP
		INSERT INTO kept.item VALUES (day, '2026-01-01 12:00+00'::timestamptz + day * interval '1 day');
		PERFORM kept.at_time('2026-01-01 20:00+00'::timestamptz + day * interval '1 day');
		COMMIT;
		CALL backfill.run('kept', run, tally);
		IF day <> 5 THEN
			PERFORM kept.send(4);
		END IF;
		COMMIT;
	END LOOP;
END $$;
CALL ten_days();
CREATE VIEW left_over AS SELECT (SELECT count(*) FROM backfill.decision) AS decisions, (SELECT count(*) FROM backfill.run r JOIN backfill.pipeline USING (pipeline_id) WHERE name = 'kept') AS runs,
	(SELECT count(*) FROM backfill.emission) AS emissions, count(*) AS messages, count(payload) AS payloads, (SELECT count(*) FROM backfill.delivery) AS deliveries,
	(SELECT count(*) FROM backfill.counter WHERE pipeline = 'kept') AS counters, (SELECT count(*) FROM backfill.skip_shape WHERE pipeline = 'kept') AS shapes
FROM backfill.message WHERE pipeline = 'kept';
SELECT state, reason, count(*) FROM backfill.outbox WHERE pipeline = 'kept' GROUP BY 1, 2 ORDER BY 1;
SELECT * FROM left_over;

-- Nothing is old: a purge writes nothing.
SELECT * FROM backfill.purge('kept');
SELECT count(*) FROM backfill.retention WHERE pipeline = 'kept';
-- A day past the details' time of the first five. What is unknown or waits keeps its payload; the sixth is younger.
SELECT at_time('2026-01-06 20:30+00'::timestamptz + interval '90 days');
-- So does what was claimed and then suppressed: a replay may still send it, as its receiver may have seen it.
BEGIN;
UPDATE backfill.delivery d SET state = 'suppressed', reason = 'inert' FROM backfill.message m WHERE m.message_id = d.message_id AND m.pipeline = 'kept' AND m.item = '5';
SELECT what, purged FROM backfill.purge('kept');
SELECT item, state, reason, payload FROM backfill.outbox WHERE pipeline = 'kept' AND item = '5';
ROLLBACK;
SELECT * FROM backfill.purge('kept');
SELECT * FROM backfill.purge('kept');
SELECT item, state, payload FROM backfill.outbox WHERE pipeline = 'kept' ORDER BY message_id;
SELECT * FROM left_over;
SELECT * FROM backfill.check_invariants();
-- What was sent and has no payload any more is still known to be sent, and what would differ from it.
SELECT count(*) AS slots FROM backfill.replay('kept', '2026-01-02', '2026-01-04', redo => 'all', deliver => true);
CALL backfill.run_requested('kept');
SELECT e.state, e.reason, count(*) FROM backfill.emission e JOIN backfill.run r USING (run_id) WHERE r.mode = 'replay' GROUP BY 1, 2;
SELECT backfill.resend(min(message_id), 'the customer lost it') FROM backfill.message WHERE pipeline = 'kept';
UPDATE backfill.message SET payload = '1' WHERE message_id = (SELECT min(message_id) FROM backfill.message WHERE pipeline = 'kept');
-- What was suppressed is emptied too, and filled again by a replay that may deliver.
INSERT INTO item VALUES (11, '2026-01-02 13:00+00');
SELECT count(*) AS slots FROM backfill.replay('kept', '2026-01-02', '2026-01-03');
CALL backfill.run_requested('kept');
SELECT at_time('2026-01-06 20:30+00'::timestamptz + interval '185 days');
SELECT * FROM backfill.purge('kept');
SELECT item, state, reason, payload FROM backfill.outbox WHERE item = '11';
SELECT backfill.requeue(message_id, 'why not') FROM backfill.message WHERE item = '11';
SELECT count(*) AS slots FROM backfill.replay('kept', '2026-01-02', '2026-01-03', redo => 'all', deliver => true);
CALL backfill.run_requested('kept');
SELECT item, state, reason, payload FROM backfill.outbox WHERE item = '11';
SELECT send() AS sent;
SELECT * FROM backfill.check_invariants();

-- A live run purges at its end, a slice, without being asked; in a transaction of its own. After a leap of the clock it is
-- the next one that does: a clock that is wrong for one run must not purge what is of now.
SELECT at_time('2026-01-06 20:30+00'::timestamptz + interval '400 days');
SELECT what, purged FROM backfill.purge('kept') ORDER BY what COLLATE "C";
SELECT at_time('2026-01-06 20:30+00'::timestamptz + interval '408 days');
CALL backfill.run('kept') \gset
SELECT item, state FROM backfill.outbox WHERE pipeline = 'kept' AND item::integer <= 3 ORDER BY message_id;
SELECT at_time('2026-01-06 20:30+00'::timestamptz + interval '409 days');
CALL backfill.run('kept') \gset
\echo :tally
SELECT * FROM left_over;
SELECT item, state FROM backfill.outbox WHERE pipeline = 'kept' ORDER BY message_id;
SELECT messages_before FROM backfill.retention WHERE pipeline = 'kept';
SELECT * FROM backfill.check_invariants();
-- The keys of the first three are gone. They were sent, and no replay sends them again, nor one after it, nor one when the
-- retention was made longer; the sixth is as it was.
SELECT count(*) AS slots FROM backfill.replay('kept', '2026-01-02', '2026-01-12', redo => 'all', deliver => true);
SELECT part, name, would, reason, items FROM backfill.rehearse('kept', '2026-01-02', '2026-01-12', redo => 'all', deliver => true) WHERE part = 'message';
CALL backfill.run_requested('kept');
SELECT backfill.set_retention('kept', history => '1000 days');
SELECT count(*) AS slots FROM backfill.replay('kept', '2026-01-02', '2026-01-12', redo => 'all', deliver => true);
CALL backfill.run_requested('kept');
SELECT item, state, reason FROM backfill.outbox WHERE pipeline = 'kept' ORDER BY item::integer, message_id;
SELECT send() AS sent;
SELECT * FROM backfill.check_invariants();
-- Nor does a live run for which old has become recent.
SELECT backfill.alter_pipeline('kept', delivery_max_age => '1000 days', lookback => '500 days', max_catchup => '500 days');
DELETE FROM backfill.emission e USING backfill.message m WHERE m.message_id = e.message_id AND m.item IN ('1', '2', '3');
DELETE FROM backfill.delivery d USING backfill.message m WHERE m.message_id = d.message_id AND m.item IN ('1', '2', '3');
DELETE FROM backfill.message WHERE item IN ('1', '2', '3');
TRUNCATE output;
CALL backfill.run('kept') \gset
SELECT item, state, reason FROM backfill.outbox WHERE item IN ('1', '2', '3') ORDER BY 1;
SELECT * FROM backfill.check_invariants();

-- In slices: with room for two rows each, until there is nothing more.
SELECT backfill.alter_pipeline('kept', delivery_max_age => '1 day');
SELECT backfill.set_retention('kept', details => '1 day', history => '7 days');
SELECT at_time('2028-01-01 12:00+00');
CREATE PROCEDURE purge_all(slice integer, INOUT passes integer DEFAULT 0, INOUT most bigint DEFAULT 0) LANGUAGE plpgsql AS $$
DECLARE
	purged record;
BEGIN
	LOOP
		SELECT count(*) AS rows, max(p.purged) AS most INTO purged FROM backfill.purge('kept', slice) p;
		EXIT WHEN purged.rows = 0;
		passes := passes + 1;
		most := greatest(most, purged.most);
		COMMIT;
	END LOOP;
END $$;
CALL purge_all(2) \gset
SELECT :most AS most, :passes > 10 AS many;
SELECT * FROM left_over;
SELECT item, state FROM backfill.outbox WHERE pipeline = 'kept' ORDER BY message_id;
SELECT * FROM backfill.check_invariants();

-- A long replay that waits for somebody stands in the way of nothing that is younger, nor does what of it was cancelled today.
SELECT at_time('2028-01-01 12:00+00');
SELECT count(*), max(replay_id) AS replay FROM backfill.replay('kept', '2027-05-01', '2027-08-29') \gset
SELECT :count AS slots, backfill.pause_replay(:replay) AS paused;
INSERT INTO item SELECT n, '2028-01-01 00:00+00'::timestamptz + n * interval '1 hour' FROM generate_series(21, 26) n;
CREATE PROCEDURE three_days() LANGUAGE plpgsql AS $$
DECLARE
	run bigint;
	tally text;
BEGIN
	FOR day IN 2..4 LOOP
		PERFORM kept.at_time('2028-01-01 12:00+00'::timestamptz + day * interval '1 day');
		COMMIT;
		CALL backfill.run('kept', run, tally);
		COMMIT;
	END LOOP;
END $$;
CALL three_days();
SELECT at_time('2028-03-01 12:00+00');
SELECT count(*) FROM (SELECT run_id FROM backfill.run WHERE replay_id = :replay ORDER BY run_id LIMIT 110) r, LATERAL backfill.cancel_run(r.run_id);
CALL purge_all(100);
SELECT count(*) FILTER (WHERE mode = 'live') AS live, count(*) FILTER (WHERE state = 'paused') AS paused, count(*) FILTER (WHERE state = 'cancelled') AS cancelled,
	(SELECT count(*) FROM backfill.decision) AS decisions
FROM backfill.run JOIN backfill.pipeline USING (pipeline_id) WHERE name = 'kept';
-- What was cancelled goes in its turn, and with it what is left of the slots.
SELECT backfill.cancel_replay(:replay);
SELECT at_time('2028-06-01 12:00+00');
CALL purge_all(100);
SELECT * FROM left_over;
SELECT * FROM backfill.check_invariants();

-- Whose pipeline is gone: its messages stay for their time, and go.
SELECT backfill.drop_pipeline('kept');
SELECT backfill.purge('kept');
SELECT backfill.purge("limit" => 0);
SELECT backfill.set_retention('kept', '1 day');
SELECT pipeline_name, what, purged FROM backfill.purge() WHERE pipeline_name = 'kept';
SELECT count(*) FROM backfill.message WHERE pipeline = 'kept';
SELECT backfill.create_pipeline('kept', 'SELECT id, arrived_at FROM item WHERE arrived_at >= $1 AND arrived_at < $2');
SELECT backfill.set_retention('kept', '2 days', '1 day');
SELECT backfill.set_retention('kept', '1 hour');
SELECT backfill.drop_pipeline('kept');
RESET backfill.test_clock_seconds;
RESET backfill.narrate;
DELETE FROM backfill.retention;
TRUNCATE backfill.counter, backfill.emission, backfill.superseded, backfill.intervention, backfill.undelivered, backfill.delivery, backfill.message RESTART IDENTITY;
DROP SCHEMA kept CASCADE;
