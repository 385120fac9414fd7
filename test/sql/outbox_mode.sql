-- What a run's mode and a message's age decide, and what a key that exists makes of it.
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET client_min_messages = warning;
INSERT INTO backfill.pipeline (name, owner, candidates, key_type, search_path, timezone) VALUES ('told', 'somebody', 'SELECT 1', 'bigint', 'public', 'Asia/Kolkata');

-- Tells who, for one day, by a run of its own; answers the decision.
CREATE FUNCTION tell(who text, day date, payload jsonb DEFAULT '1', mode text DEFAULT 'live', deliver boolean DEFAULT false, at timestamptz DEFAULT backfill._clock(), channel text DEFAULT 'chat')
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	p backfill.pipeline;
	w record;
	replay bigint;
	run bigint := nextval('backfill.run_run_id_seq') * CASE mode WHEN 'rehearsal' THEN -1 ELSE 1 END;
	told bigint;
BEGIN
	SELECT * INTO p FROM backfill.pipeline q WHERE q.name = 'told';
	SELECT * INTO w FROM backfill._message_window(day::timestamp AT TIME ZONE p.timezone, NULL, NULL, p.slot, p.timezone);
	IF mode = 'replay' THEN
		INSERT INTO backfill.replay AS y (pipeline_id, replay_from, replay_to, redo, deliver, downstream, requested_by, requested_at)
		VALUES (p.pipeline_id, w.window_from, w.window_to, 'lacking', deliver, false, 'x', now()) RETURNING y.replay_id INTO replay;
	END IF;
	INSERT INTO backfill.run (run_id, pipeline_id, replay_id, mode, state, window_from, window_to, scan_from, scan_to, run_time, deliver, requested_by, requested_at, finished_at)
	VALUES (run, p.pipeline_id, replay, CASE mode WHEN 'replay' THEN 'replay' ELSE 'live' END, 'succeeded', w.window_from, w.window_to, w.window_from, w.window_to, at, deliver, 'x', now(), now());
	-- A rehearsal is judged as the run it rehearses.
	told := backfill._emit(run, p.pipeline_id, CASE WHEN mode <> 'rehearsal' THEN mode WHEN deliver THEN 'replay' ELSE 'live' END, deliver, at, w.window_from, w.window_to, NULL, who, 'note', payload, channel);
	RETURN (SELECT e.state || ' ' || e.reason FROM backfill.emission e WHERE (e.run_id, e.message_id) = (run, told));
END $$;
CREATE FUNCTION at_time(at timestamptz) RETURNS void LANGUAGE sql AS $$
	SELECT FROM set_config('backfill.test_clock_seconds', extract(epoch FROM at)::text, false) $$;
CREATE VIEW seen AS SELECT recipient, (window_from AT TIME ZONE 'Asia/Kolkata')::date AS day, generation AS gen, payload, state, reason, attempts, superseded
	FROM backfill.outbox ORDER BY message_id;

-- Live, on the day, on the next day to its end, and after: nobody set a flag.
SELECT at_time('2026-11-03 10:00+05:30');
SELECT tell('slack:#a', '2026-11-03'), tell('slack:#a', '2026-11-02');
SELECT tell('slack:#a', '2026-11-01');
SELECT tell('slack:#b', '2026-11-02', at => '2026-11-04 00:00+05:30'), tell('slack:#c', '2026-11-02', at => '2026-11-04 00:00:00.000001+05:30');
UPDATE backfill.pipeline SET delivery_max_age = '36 hours' WHERE name = 'told';
SELECT tell('slack:#b', '2026-11-01', at => '2026-11-03 12:00+05:30'), tell('slack:#c', '2026-11-01', at => '2026-11-03 12:00:00.000001+05:30');
UPDATE backfill.pipeline SET delivery_max_age = NULL WHERE name = 'told';
-- The slot's end by the calendar, not by 24 hours: the day after 24 October is 25 hours long in Berlin.
SELECT backfill._add_interval('2026-10-25 00:00+02', '1 day', 'Europe/Berlin') - '2026-10-25 00:00+02' AS a_day,
	backfill._add_interval('2026-10-25 00:00+02', '24 hours', 'Europe/Berlin') - '2026-10-25 00:00+02' AS hours,
	backfill._add_interval('2026-01-31 00:00+01', '1 month 1 day 1 hour', 'Europe/Berlin');

-- A month worked off live, and again by a replay: silent, and silent where it was told before. With the opt-in only
-- what was never sent.
TRUNCATE backfill.emission, backfill.undelivered, backfill.delivery, backfill.message RESTART IDENTITY CASCADE;
DO $$
DECLARE
	day date;
BEGIN
	FOR i IN 0..30 LOOP
		day := date '2026-10-01' + i;
		PERFORM at_time((day + time '10:00') AT TIME ZONE 'Asia/Kolkata');
		IF day <> '2026-10-13' THEN
			PERFORM tell('slack:#a', day);
		END IF;
		PERFORM backfill.mark_sent(ARRAY[c.message_id], c.token) FROM backfill.claim_deliveries('chat') c;
	END LOOP;
END $$;
SELECT at_time('2026-11-03 10:00+05:30');
SELECT told, count(*) FROM (SELECT tell('slack:#a', d::date, mode => 'replay') AS told FROM generate_series(date '2026-10-01', '2026-10-31', '1 day') d) t GROUP BY 1 ORDER BY 1;
SELECT count(*) AS waiting FROM backfill.undelivered;
SELECT told, count(*) FROM (SELECT tell('slack:#a', d::date, mode => 'replay', deliver => true) AS told FROM generate_series(date '2026-10-01', '2026-10-31', '1 day') d) t GROUP BY 1 ORDER BY 1;
SELECT recipient, day, state, reason FROM seen WHERE state <> 'sent';
-- A person asked, so its age counts from then.
SELECT recipient, attempt FROM backfill.claim_deliveries('chat');
SELECT * FROM backfill.check_invariants();

-- A run that sat in a queue for two days.
TRUNCATE backfill.emission, backfill.undelivered, backfill.delivery, backfill.message RESTART IDENTITY CASCADE;
SELECT tell('slack:#queued', '2026-11-01');
-- A message that grew old in the queue.
SELECT tell('slack:#old', '2026-11-02');
SELECT at_time('2026-11-04 00:00:01+05:30');
SELECT recipient FROM backfill.claim_deliveries('chat');
SELECT recipient, state, reason FROM seen;

-- The same key again, in each state of its delivery.
TRUNCATE backfill.emission, backfill.undelivered, backfill.delivery, backfill.message RESTART IDENTITY CASCADE;
SELECT at_time('2026-11-03 10:00+05:30');
SELECT tell('slack:#a', '2026-11-03'), tell('slack:#a', '2026-11-03');
SELECT tell('slack:#a', '2026-11-03', '2', channel => 'other'), tell('slack:#a', '2026-11-03', '3');
SELECT * FROM seen;
SELECT token AS t FROM backfill.claim_deliveries('chat') \gset
SELECT tell('slack:#a', '2026-11-03', '3'), tell('slack:#a', '2026-11-03', '4');
-- Given back unsent: it may change again. Tried: not any more.
SELECT backfill.release('{1}', :t);
SELECT tell('slack:#a', '2026-11-03', '5');
SELECT token AS t FROM backfill.claim_deliveries('chat') \gset
SELECT backfill.mark_failed('{1}', :t, 'http_503', retry_at => '2026-11-03 10:05+05:30');
SELECT tell('slack:#a', '2026-11-03', '6');
SELECT * FROM seen;
UPDATE backfill.message SET payload = '7';
UPDATE backfill.message SET recipient = 'slack:#z';
SELECT at_time('2026-11-03 10:05+05:30');
SELECT token AS t FROM backfill.claim_deliveries('chat') \gset
SELECT backfill.mark_sent('{1}', :t);
SELECT tell('slack:#a', '2026-11-03', '5'), tell('slack:#a', '2026-11-03', '8', 'replay', true), tell('slack:#a', '2026-11-03', '8', 'replay');
SELECT * FROM seen;
SELECT channel, payload FROM backfill.superseded;
SELECT tell('slack:#a', '2026-11-03', '5');
SELECT count(*) FROM backfill.superseded;
-- Suppressed: follows the data, stays suppressed whatever the mode, until somebody opts in.
SELECT tell('slack:#s', '2026-11-03', '1', 'replay'), tell('slack:#s', '2026-11-03', '2', 'replay'), tell('slack:#s', '2026-11-03', '3');
SELECT * FROM seen WHERE recipient = 'slack:#s';
SELECT tell('slack:#s', '2026-11-03', '4', 'replay', true), tell('slack:#s', '2026-11-03', '4', 'replay', true);
SELECT * FROM seen WHERE recipient = 'slack:#s';
SELECT * FROM backfill.check_invariants();

-- A rehearsal tells what would be told, and is rolled back.
BEGIN;
SELECT tell('slack:#a', '2026-11-03', '5', 'rehearsal'), tell('slack:#new', '2026-11-03', '1', 'rehearsal'), tell('slack:#new', '2026-10-03', '1', 'rehearsal'),
	tell('slack:#other', '2026-10-03', '1', 'rehearsal', true);
SELECT regexp_replace(v, '-\d+', 'N') AS violation, count(*) FROM backfill.check_invariants() v GROUP BY 1 ORDER BY 1;
ROLLBACK;
SELECT count(*) FROM backfill.message;

-- The receiver's key: the same for the same message, in any session.
SELECT receiver_key FROM backfill.message WHERE message_id = 1;
SET timezone = 'Asia/Tokyo';
SET datestyle = 'German';
SELECT backfill._receiver_key('told', 'slack:#a', window_from, window_to, 'note', 0), backfill._receiver_key('told', 'slack:#a', window_from, window_to, 'note', 1)
FROM backfill.message WHERE message_id = 1;
SET datestyle = 'ISO';

RESET backfill.test_clock_seconds;
TRUNCATE backfill.emission, backfill.superseded, backfill.intervention, backfill.undelivered, backfill.delivery, backfill.message RESTART IDENTITY;
DELETE FROM backfill.pipeline WHERE name = 'told';
DROP VIEW seen;
DROP FUNCTION tell, at_time;
