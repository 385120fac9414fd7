-- The claim protocol: what a worker can do with what waits, and what comes of its words.
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SET client_min_messages = warning;
SET backfill.test_clock_seconds = 1793700000;
INSERT INTO backfill.pipeline (name, owner, candidates, key_type, search_path) VALUES ('told', 'somebody', 'SELECT 1', 'bigint', 'public');
INSERT INTO backfill.run (pipeline_id, mode, state, window_from, window_to, scan_from, scan_to, run_time, requested_by, requested_at, finished_at)
SELECT pipeline_id, 'live', 'succeeded', '2026-11-02 00:00+00', '2026-11-03 00:00+00', now(), now(), backfill._clock(), 'x', now(), now() FROM backfill.pipeline WHERE name = 'told';
CREATE FUNCTION tell(who text, channel text DEFAULT 'chat') RETURNS bigint LANGUAGE sql AS $$
	SELECT backfill._emit(run_id, pipeline_id, mode, deliver, run_time, window_from, window_to, NULL, who, 'note', '{"n": 1}', channel) FROM backfill.run ORDER BY run_id DESC LIMIT 1 $$;
CREATE FUNCTION later(seconds integer) RETURNS void LANGUAGE sql AS $$
	SELECT FROM set_config('backfill.test_clock_seconds', (extract(epoch FROM backfill._clock()) + seconds)::text, false) $$;
CREATE VIEW seen AS SELECT recipient, state, reason, attempts, next_attempt_at - backfill._clock() AS next_in, lease_until - backfill._clock() AS lease FROM backfill.outbox ORDER BY message_id;

SELECT tell('slack:#' || n) FROM generate_series(1, 5) n;
SELECT tell('slack:#other', 'other');

-- In order, no more than asked, of the channel asked for; again from where the last claim ended, or from the start.
SELECT message_id, recipient, attempt, lease_until - backfill._clock() AS lease, payload, generation FROM backfill.claim_deliveries('chat', 2);
SELECT recipient FROM backfill.claim_deliveries('chat', 1, after => 3);
SELECT recipient FROM backfill.claim_deliveries('chat', 100, '1 minute');
SELECT recipient FROM backfill.claim_deliveries('chat');
SELECT * FROM seen;
SELECT * FROM backfill.channel_status ORDER BY channel;

-- Words. Tokens are of claims: 1 has #1 and #2, 2 has #4, 3 has #3 and #5.
SELECT last_value - 3 AS t FROM backfill.claim_token \gset
SELECT backfill.mark_sent('{1, 2, 3}', :t);
SELECT backfill.mark_sent('{1}', :t);
SELECT backfill.mark_failed('{4}', :t + 1, 'http_500', retry_at => backfill._clock() + '10 minutes');
SELECT backfill.mark_failed('{3}', :t + 2, 'http_404', permanent => true);
SELECT backfill.mark_unknown('{5}', :t + 2, 'timeout');
SELECT backfill.mark_failed('{5}', :t + 2, 'http_404', permanent => true);
SELECT * FROM seen;
SELECT * FROM backfill.channel_status ORDER BY channel;

-- A retry is not taken before its time, nor without looking from the start.
SELECT recipient, attempt FROM backfill.claim_deliveries('chat');
SELECT later(600);
SELECT recipient, attempt FROM backfill.claim_deliveries('chat', after => 5);
SELECT recipient, attempt FROM backfill.claim_deliveries('chat');
-- A heartbeat prolongs; only for the holder.
SELECT later(240);
SELECT backfill.heartbeat('{4}', :t + 1);
SELECT last_value AS t4 FROM backfill.claim_token \gset
SELECT backfill.heartbeat('{4}', :t4, '10 minutes');
SELECT * FROM seen WHERE state = 'claimed';
-- Nothing was sent: the attempt is given back.
SELECT backfill.release('{4}', :t4, backfill._clock() + '1 minute', 'http_429');
SELECT * FROM seen WHERE recipient = 'slack:#4';

-- A worker that died. hold: a person decides, whatever the dead one says later. retry: again, with the same receiver key.
SELECT later(60);
SELECT recipient, attempt, token AS t4, receiver_key AS k4 FROM backfill.claim_deliveries('chat') \gset
SELECT later(301);
SELECT lapsed FROM backfill.channel_status WHERE channel = 'chat';
SELECT recipient, attempt, token AS t5, receiver_key = :'k4' AS same_key FROM backfill.claim_deliveries('chat', when_unknown => 'retry') \gset
SELECT :'recipient', :attempt, :'same_key';
SELECT backfill.mark_sent('{4}', :t4);
SELECT later(301);
SELECT recipient FROM backfill.claim_deliveries('chat');
SELECT backfill.mark_sent('{4}', :t5);
SELECT state, reason, attempt FROM backfill.delivery WHERE message_id = 4 ORDER BY delivery_id;
SELECT * FROM backfill.check_invariants();

-- Attempts are bounded, also those of workers that crash each time.
SELECT tell('slack:#crash') AS crash, tell('slack:#fail') AS fail \gset
SELECT recipient, attempt, token AS t FROM backfill.claim_deliveries('chat', 1, max_attempts => 2) \gset
SELECT recipient, attempt, token AS t FROM backfill.claim_deliveries('chat', 1, max_attempts => 2) \gset
SELECT backfill.mark_failed(ARRAY[:fail], :t, 'http_500', retry_at => backfill._clock());
SELECT later(301);
SELECT recipient, attempt, token AS t FROM backfill.claim_deliveries('chat', when_unknown => 'retry', max_attempts => 2) ORDER BY recipient DESC LIMIT 1 \gset
SELECT backfill.mark_failed(ARRAY[:fail], :t, 'http_500', retry_at => backfill._clock());
SELECT later(301);
SELECT recipient FROM backfill.claim_deliveries('chat', when_unknown => 'retry', max_attempts => 2);
SELECT * FROM seen WHERE recipient IN ('slack:#crash', 'slack:#fail');

-- A claim reads on when what it found first has ended.
SELECT count(tell('slack:#old' || n)) FROM generate_series(1, 5) n;
UPDATE backfill.undelivered SET deliver_until = backfill._clock() - interval '1 second';
SELECT tell('slack:#fresh') AS fresh \gset
SELECT recipient, token AS t FROM backfill.claim_deliveries('chat', 1) \gset
SELECT :'recipient';
SELECT state, reason, count(*) FROM backfill.outbox WHERE recipient LIKE 'slack:#old%' GROUP BY 1, 2;

-- An inert worker leaves no trace of a send; the message can still be asked for.
SELECT backfill.mark_inert(ARRAY[:fresh], :t);
SELECT * FROM seen WHERE recipient = 'slack:#fresh';
SELECT FROM backfill.requeue(:fresh, 'now for real');
SELECT recipient, attempt FROM backfill.claim_deliveries('chat');

-- A restored database has no claims.
SELECT backfill.abandon_claims() = :fresh AS abandoned;
SELECT * FROM seen WHERE recipient = 'slack:#fresh';
SELECT state, reason, attempt FROM backfill.delivery WHERE message_id = :fresh ORDER BY delivery_id;

-- A clock that was ahead when a worker claimed, and is put right: its leases reach further than any is given, and count as
-- lapsed. A claim of today that is as long as may be does not.
SELECT tell('slack:#ahead' || n) FROM generate_series(1, 4) n;
SELECT min(message_id) AS a FROM backfill.message WHERE recipient LIKE 'slack:#ahead%' \gset
UPDATE backfill.undelivered SET deliver_until = 'infinity';
SELECT later(10);
SELECT later(30 * 86400);
SELECT count(*) FROM backfill.claim_deliveries('chat', 3, lease => '1 day');
SELECT later(-30 * 86400);
SELECT recipient, token AS t FROM backfill.claim_deliveries('chat', 1, lease => '1 day', after => :a + 2) \gset
SELECT later(-3);
SELECT * FROM seen WHERE recipient LIKE 'slack:#ahead%';
SELECT claimed, lapsed FROM backfill.channel_status WHERE channel = 'chat';
SELECT "check", detail, hint FROM backfill.doctor() WHERE "check" = 'channels';
SELECT * FROM backfill.check_invariants();
SELECT FROM backfill.discard(:a, 'nobody is sending it');
SELECT FROM backfill.discard(:a + 3, 'somebody is sending it');
SELECT FROM backfill.requeue(:a + 1, 'whether it was sent is not known');
SELECT recipient FROM backfill.claim_deliveries('chat', when_unknown => 'retry');
SELECT * FROM seen WHERE recipient LIKE 'slack:#ahead%';
SELECT count(*) FROM backfill.abandon_claims();

-- What cannot be asked for.
SELECT backfill.claim_deliveries('chat', 0);
SELECT backfill.claim_deliveries('chat', lease => '2 days');
SELECT backfill.heartbeat('{1}', 1, '2 days');
SELECT backfill.heartbeat('{1}', 1, NULL);
SELECT backfill.claim_deliveries('chat', when_unknown => 'guess');
SELECT backfill.claim_deliveries('chat', max_attempts => 101);
SELECT backfill.mark_failed('{1}', 1, 'http_500');
SELECT backfill.mark_failed('{1}', 1, 'http_500', backfill._clock(), true);
SELECT backfill.mark_failed('{1}', 1, 'Not a reason', permanent => true);
SELECT backfill.mark_unknown('{1}', 1, NULL);
SELECT * FROM backfill.check_invariants();

-- What the invariants find, one lie at a time.
BEGIN;
INSERT INTO backfill.undelivered (message_id, channel, not_before, deliver_until) VALUES (1, 'other', now(), now());
DELETE FROM backfill.undelivered WHERE message_id = (SELECT message_id FROM backfill.message WHERE channel = 'other');
UPDATE backfill.undelivered SET token = 1000000, lease_until = backfill._clock() - interval '2 hours', attempts = 1;
INSERT INTO backfill.delivery (message_id, at, state) VALUES (2, now(), 'dead'), (1000, now(), 'dead'), (3, now(), 'sent');
UPDATE backfill.run SET finished_at = NULL, candidates = 7;
SELECT regexp_replace(v, 'run \d+', 'run N') COLLATE "C" AS violation FROM backfill.check_invariants() v ORDER BY violation;
ROLLBACK;
-- One message cannot be marked sent twice, whatever wrote it.
INSERT INTO backfill.delivery (message_id, at, state, attempt) VALUES (1, now(), 'sent', 2);

RESET backfill.test_clock_seconds;
TRUNCATE backfill.emission, backfill.superseded, backfill.intervention, backfill.undelivered, backfill.delivery, backfill.message RESTART IDENTITY;
DELETE FROM backfill.pipeline WHERE name = 'told';
DROP VIEW seen;
DROP FUNCTION tell, later;
