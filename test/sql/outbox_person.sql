-- What people decide about deliveries: taken where it fits the state, refused with a way out where it does not, kept.
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SET client_min_messages = warning;
SET backfill.test_clock_seconds = 1793700000;
INSERT INTO backfill.pipeline (name, owner, candidates, key_type, search_path) VALUES ('told', 'somebody', 'SELECT 1', 'bigint', 'public');
WITH replay AS (
	INSERT INTO backfill.replay (pipeline_id, replay_from, replay_to, redo, deliver, downstream, requested_by, requested_at)
	SELECT pipeline_id, '2026-11-02 00:00+00', '2026-11-03 00:00+00', 'lacking', false, false, 'x', now() FROM backfill.pipeline WHERE name = 'told'
	RETURNING replay_id)
INSERT INTO backfill.run (pipeline_id, replay_id, mode, state, window_from, window_to, scan_from, scan_to, run_time, requested_by, requested_at, finished_at)
SELECT pipeline_id, CASE mode WHEN 'replay' THEN replay_id END, mode, 'succeeded', '2026-11-02 00:00+00', '2026-11-03 00:00+00', now(), now(), backfill._clock(), 'x', now(), now()
FROM replay, backfill.pipeline, unnest('{live,replay}'::text[]) mode WHERE name = 'told';
CREATE FUNCTION tell(who text, payload jsonb DEFAULT '1', how text DEFAULT 'live', deliver boolean DEFAULT false) RETURNS bigint LANGUAGE sql AS $$
	SELECT backfill._emit(run_id, pipeline_id, mode, tell.deliver, run_time, window_from, window_to, NULL, who, 'note', payload, 'chat') FROM backfill.run
	WHERE mode = how ORDER BY run_id DESC LIMIT 1 $$;
CREATE VIEW seen AS SELECT message_id AS id, recipient, generation AS gen, payload, state, reason, attempts, deliver_until - backfill._clock() AS time_left FROM backfill.outbox ORDER BY message_id;

-- 1 sent, 2 claimed, 3 unknown, 4 dead, 5 expired, 6 suppressed, 7 waiting for a retry, 8 new, 9 held by a claim that lapsed
SELECT tell('slack:#' || n, how => CASE n WHEN 6 THEN 'replay' ELSE 'live' END) FROM generate_series(1, 8) n;
UPDATE backfill.undelivered SET not_before = not_before + interval '1 hour' WHERE message_id = 8;
SELECT token AS t FROM backfill.claim_deliveries('chat', 10, '10 minutes') LIMIT 1 \gset
SELECT backfill.mark_sent('{1}', :t), backfill.mark_unknown('{3}', :t, 'timeout'), backfill.mark_failed('{4}', :t, 'http_404', permanent => true),
	backfill.release('{5}', :t), backfill.mark_failed('{7}', :t, 'http_503', backfill._clock() + '1 hour');
UPDATE backfill.undelivered SET deliver_until = '2026-11-01' WHERE message_id = 5;
SELECT count(*) FROM backfill.claim_deliveries('chat');
SELECT tell('slack:#9') AS nine \gset
SELECT count(*) FROM backfill.claim_deliveries('chat', lease => '1 second');
SET backfill.test_clock_seconds = 1793700001;
SELECT * FROM seen;

-- Each state answers each decision; what was taken is undone to see the next.
CREATE FUNCTION decide(what text, id bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	hint text;
	answer text;
BEGIN
	CASE what
		WHEN 'requeue' THEN PERFORM backfill.requeue(id, 'a reason');
		WHEN 'discard' THEN PERFORM backfill.discard(id, 'a reason');
		WHEN 'sent' THEN PERFORM backfill.resolve_unknown(id, true, 'a reason');
		WHEN 'not sent' THEN PERFORM backfill.resolve_unknown(id, false, 'a reason');
		WHEN 'resend' THEN id := backfill.resend(id, 'a reason');
	END CASE;
	SELECT concat_ws(' ', o.state, o.reason, 'generation ' || nullif(o.generation, 0)) INTO answer FROM backfill.outbox o WHERE o.message_id = id;
	answer := answer || coalesce((SELECT '; ' || string_agg(v, ', ') FROM backfill.check_invariants() v), '');
	RAISE EXCEPTION USING ERRCODE = 'P0099', MESSAGE = answer;
EXCEPTION
	WHEN SQLSTATE 'P0099' THEN
		RETURN answer;
	WHEN object_not_in_prerequisite_state THEN
		GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
		RETURN 'refused: ' || hint;
END $$;
SELECT o.message_id AS id, o.state, what, decide(what, o.message_id)
FROM backfill.outbox o, unnest('{requeue,discard,sent,not sent,resend}'::text[]) WITH ORDINALITY w (what, n) ORDER BY o.message_id, n;

-- A person's word starts the clock again, and is kept.
SELECT FROM backfill.requeue(5, 'they asked for it');
SELECT FROM backfill.requeue(7, 'the provider is back');
SELECT FROM backfill.discard(8, 'wrong text');
SELECT FROM backfill.resolve_unknown(3, true, 'seen in their channel');
SELECT FROM backfill.resolve_unknown(9, false, 'they have nothing');
SELECT * FROM seen WHERE id IN (3, 5, 7, 8, 9);
SELECT message_id, action, reason, by = session_user AS by_me, at FROM backfill.intervention ORDER BY intervention_id;
-- What was discarded stays so, opted in or not.
SELECT tell('slack:#8', '1', 'replay', true);
SELECT state, reason FROM seen WHERE id = 8;

-- Sent again on purpose: a message of its own. With what a later run would have said, if that is what is wanted.
SELECT backfill.resend(1, 'they lost it', superseding => true);
SELECT tell('slack:#1', '2'), tell('slack:#1', '3');
SELECT backfill.resend(1, 'they lost it');
SELECT backfill.resend(1, 'it was wrong', superseding => true);
SELECT gen, payload, state, reason FROM seen WHERE recipient = 'slack:#1';
-- That is no difference any more; the next one is.
SELECT count(*) FROM backfill.superseded;
SELECT tell('slack:#1', '3');
SELECT count(*) FROM backfill.superseded;
SELECT tell('slack:#1', '4');
SELECT payload FROM backfill.superseded;
SELECT count(DISTINCT receiver_key) FROM backfill.message WHERE recipient = 'slack:#1';
SELECT * FROM backfill.check_invariants();

-- A reason is needed, and a message.
SELECT backfill.requeue(4, NULL);
SELECT backfill.requeue(4, E' \t');
SELECT backfill.discard(1000, 'why not');
SELECT backfill.resolve_unknown(4, NULL, 'a reason');

-- Who it was, is the role that acts.
CREATE ROLE outbox_person;
GRANT USAGE ON SCHEMA backfill TO outbox_person;
GRANT EXECUTE ON FUNCTION backfill.requeue(bigint, text) TO outbox_person;
SET ROLE outbox_person;
SELECT FROM backfill.requeue(4, 'try again');
RESET ROLE;
SELECT by, action FROM backfill.intervention WHERE message_id = 4;
DROP OWNED BY outbox_person;
DROP ROLE outbox_person;

RESET backfill.test_clock_seconds;
TRUNCATE backfill.emission, backfill.superseded, backfill.intervention, backfill.undelivered, backfill.delivery, backfill.message RESTART IDENTITY;
DELETE FROM backfill.pipeline WHERE name = 'told';
DROP VIEW seen;
DROP FUNCTION tell, decide;
