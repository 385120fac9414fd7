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
-- What has become of what was to be sent.
SELECT backfill.create_pipeline('fates', 'SELECT id, arrived_at FROM lead WHERE arrived_at >= $1 AND arrived_at < $2');
SELECT backfill.add_step('fates', 'tell', 'SELECT EXISTS (SELECT FROM backfill.message m WHERE m.pipeline = ''fates'' AND m.item = $1::text)',
	'SELECT backfill.emit(''email:fate'' || $1 || ''@example.com'', ''fate'', ''{}'')');
INSERT INTO lead SELECT n, '2027-03-02 12:00+00' FROM generate_series(201, 208) n;
SELECT at_time('2027-03-02 18:00+00');
CALL backfill.run('fates') \gset
CREATE VIEW told AS SELECT n.line FROM (SELECT max(r.run_id) AS run_id FROM backfill.run r JOIN backfill.pipeline p USING (pipeline_id) WHERE p.name = 'fates' AND r.changed > 0) l, backfill.narration(l.run_id) n WHERE n.line LIKE 'told by %';
SELECT * FROM told;
CREATE FUNCTION settle() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	claim record;
BEGIN
	FOR claim IN SELECT *, substring(recipient FROM '\d+')::integer AS n FROM backfill.claim_deliveries('smtp') WHERE pipeline = 'fates' LOOP
		IF claim.n IN (201, 202) THEN
			PERFORM backfill.mark_sent(ARRAY[claim.message_id], claim.token);
		ELSIF claim.n = 203 THEN
			PERFORM backfill.mark_inert(ARRAY[claim.message_id], claim.token);
		ELSIF claim.n = 204 THEN
			PERFORM backfill.mark_unknown(ARRAY[claim.message_id], claim.token, 'timeout');
		ELSIF claim.n IN (205, 206) THEN
			PERFORM backfill.mark_failed(ARRAY[claim.message_id], claim.token, 'refused', permanent => true);
		ELSIF claim.n = 207 THEN
			PERFORM backfill.release(ARRAY[claim.message_id], claim.token, claim.lease_until);
		END IF;
	END LOOP;
	PERFORM backfill.discard(m.message_id, 'wrong address') FROM backfill.message m WHERE m.recipient LIKE 'email:fate206@%';
END $$;
SELECT settle();
SELECT * FROM told;
-- Silent, and to be sent since at a person's word.
SELECT count(*) FROM backfill.replay('fates', '2027-03-01', '2027-03-02');
INSERT INTO lead SELECT n, '2027-03-01 12:00+00' FROM generate_series(211, 213) n;
CALL backfill.run_requested('fates') \gset
SELECT * FROM told;
SELECT backfill.requeue(m.message_id, 'he asked for it') FROM backfill.message m WHERE m.recipient LIKE 'email:fate211@%';
SELECT * FROM told;
-- One by one they are looked up, so not where they are many.
BEGIN;
INSERT INTO backfill.run (run_id, pipeline_id, mode, state, window_from, window_to, scan_from, scan_to, run_time, requested_by, requested_at, started_at, finished_at)
SELECT 2900 + n, p.pipeline_id, 'live', 'succeeded', d, d + interval '1 day', d, d, d, 'x', d, d, d FROM backfill.pipeline p, (VALUES (timestamptz '2027-03-01')) t (d), generate_series(1, 2) n WHERE p.name = 'fates';
INSERT INTO backfill.message (pipeline, recipient, window_from, window_to, message_type, receiver_key, deliver_until, channel, payload, content_hash, run_id, created_at)
SELECT 'fates', 'email:x' || n || '@example.com', '2027-03-01', '2027-03-02', 'many', gen_random_uuid(), now(), 'smtp', '{}', '', 2901, now() FROM generate_series(1, 10001) n;
INSERT INTO backfill.delivery (message_id, at, state, attempt) SELECT m.message_id, now(), 'sent', 1 FROM backfill.message m WHERE m.message_type = 'many';
INSERT INTO backfill.emission SELECT 2901, m.message_id, 'pending', 'new' FROM backfill.message m WHERE m.message_type = 'many';
INSERT INTO backfill.emission SELECT 2902, e.message_id, 'pending', 'new' FROM backfill.emission e WHERE e.run_id = 2901 ORDER BY e.message_id LIMIT 10000;
SELECT line FROM backfill.narration(2901) WHERE line LIKE 'told by %';
SELECT line FROM backfill.narration(2902) WHERE line LIKE 'told by %';
ROLLBACK;
SELECT * FROM backfill.narration(0);
SELECT * FROM backfill.check_invariants();

RESET backfill.test_clock_seconds;
RESET backfill.narrate;
SELECT backfill.drop_pipeline('story'), backfill.drop_pipeline('fates');
DELETE FROM backfill.retention;
TRUNCATE backfill.emission, backfill.superseded, backfill.intervention, backfill.undelivered, backfill.delivery, backfill.message RESTART IDENTITY;
DROP SCHEMA story CASCADE;
