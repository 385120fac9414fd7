-- What the drivers of random lives share: two kinds of workers that claim, send, crash and come back late, people who
-- decide, and what the receivers saw and what was allowed, kept apart from the product's tables and compared after each
-- move. Included by a driver; it says what may be sent by `allowed`, and what must not be lost by `emitted`.
\set ON_ERROR_STOP 1
\set QUIET 1
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE SCHEMA property;
SET search_path = property, pg_temp;

-- What a schedule knows.
CREATE UNLOGGED TABLE claim (message bigint, token bigint, receiver_key uuid, payload jsonb, lease_until timestamptz, crashed boolean DEFAULT false);
CREATE UNLOGGED TABLE received (receiver_key uuid, payload jsonb, message bigint, token bigint, channel text, answer text);
CREATE UNLOGGED TABLE allowed (message bigint PRIMARY KEY);
CREATE UNLOGGED TABLE accepted (message bigint);
CREATE UNLOGGED TABLE emitted (recipient text, window_from timestamptz, PRIMARY KEY (recipient, window_from));
CREATE UNLOGGED TABLE person (message bigint);
CREATE UNLOGGED TABLE move (n serial, what text);
CREATE UNLOGGED TABLE got AS SELECT * FROM backfill.claim_deliveries('none') WITH NO DATA;
CREATE TABLE tally (what text PRIMARY KEY, times bigint NOT NULL);

CREATE FUNCTION pick(n integer) RETURNS integer LANGUAGE sql AS $$ SELECT 1 + floor(random() * n)::integer $$;
CREATE FUNCTION now_() RETURNS timestamptz LANGUAGE sql AS $$ SELECT backfill._clock() $$;
CREATE FUNCTION jump(amount interval) RETURNS void LANGUAGE sql AS $$
	SELECT set_config('backfill.test_clock_seconds', (extract(epoch FROM backfill._clock() + amount))::text, false) $$;
CREATE FUNCTION note(what text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO move (what) VALUES (note.what);
	INSERT INTO tally AS t VALUES (note.what, 1) ON CONFLICT ON CONSTRAINT tally_pkey DO UPDATE SET times = t.times + 1;
END $$;
CREATE FUNCTION fail(what text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	-- The moves are read here, before they are rolled back with the rest.
	RAISE EXCEPTION '%', what
		USING ERRCODE = 'assert_failure', DETAIL = (SELECT coalesce(string_agg(m.what, E'\n' ORDER BY m.n), 'the first move') FROM move m);
END $$;

CREATE FUNCTION claim() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	way text := CASE WHEN random() < 0.5 THEN 'hold' ELSE 'retry' END;
	bad bigint;
BEGIN
	DELETE FROM got;
	INSERT INTO got SELECT * FROM backfill.claim_deliveries(way, pick(5), '5 minutes', when_unknown => way, max_attempts => 3);
	SELECT g.message_id INTO bad FROM got g WHERE g.message_id NOT IN (SELECT message FROM allowed) LIMIT 1;
	IF bad IS NOT NULL THEN
		PERFORM fail(format('message %s was claimed and nobody allowed it', bad));
	END IF;
	SELECT g.message_id INTO bad FROM got g JOIN backfill.undelivered u USING (message_id) WHERE u.deliver_until < now_() LIMIT 1;
	IF bad IS NOT NULL THEN
		PERFORM fail(format('message %s was claimed although too old', bad));
	END IF;
	SELECT g.message_id INTO bad FROM got g JOIN accepted a ON a.message = g.message_id LIMIT 1;
	IF bad IS NOT NULL THEN
		PERFORM fail(format('message %s was claimed although sent', bad));
	END IF;
	SELECT g.message_id INTO bad FROM got g JOIN claim c ON c.message = g.message_id WHERE c.lease_until > now_() LIMIT 1;
	IF bad IS NOT NULL THEN
		PERFORM fail(format('message %s was claimed although it is being sent', bad));
	END IF;
	INSERT INTO claim SELECT g.message_id, g.token, g.receiver_key, g.payload, g.lease_until FROM got g;
END $$;

-- A worker goes on with one of its claims, or one that crashed comes back with a word about the past.
CREATE FUNCTION work() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	c property.claim;
	way text;
	holds boolean;
	refused bigint;
	word text;
BEGIN
	SELECT * INTO c FROM claim ORDER BY token, message OFFSET floor(random() * (SELECT count(*) FROM claim)) LIMIT 1;
	IF NOT FOUND THEN
		PERFORM claim();
		RETURN 'claim';
	END IF;
	SELECT m.channel INTO way FROM backfill.message m WHERE m.message_id = c.message;
	holds := EXISTS (SELECT FROM backfill.undelivered u WHERE u.message_id = c.message AND u.token = c.token);
	word := (ARRAY['sent', 'sent', 'sent', 'crash', 'crash', 'crash unsent', 'retry', 'dead', 'unknown', 'release', 'inert', 'heartbeat'])[pick(12)];
	IF c.crashed AND word IN ('crash', 'crash unsent', 'release', 'inert', 'heartbeat') THEN
		word := 'sent';
	END IF;
	-- A worker may be late, but it does not say no where the receiver said yes.
	IF c.crashed AND word = 'retry' AND EXISTS (SELECT FROM received r WHERE r.message = c.message AND r.token = c.token AND r.answer = 'yes') THEN
		word := 'sent';
	END IF;
	-- Before the first byte the worker looks at its lease.
	IF NOT c.crashed AND word IN ('sent', 'crash', 'unknown', 'retry', 'dead') THEN
		IF c.lease_until <= now_() THEN
			UPDATE claim SET crashed = true WHERE (message, token) = (c.message, c.token);
			RETURN 'work: lease too short';
		END IF;
		INSERT INTO received VALUES (c.receiver_key, c.payload, c.message, c.token, way, CASE WHEN word IN ('retry', 'dead') THEN 'no' ELSE 'yes' END);
	END IF;
	CASE word
		WHEN 'sent' THEN refused := backfill.mark_sent(ARRAY[c.message], c.token);
		WHEN 'retry' THEN refused := backfill.mark_failed(ARRAY[c.message], c.token, 'http_503', retry_at => now_() + pick(20) * interval '1 minute');
		WHEN 'dead' THEN refused := backfill.mark_failed(ARRAY[c.message], c.token, 'http_404', permanent => true);
		WHEN 'unknown' THEN refused := backfill.mark_unknown(ARRAY[c.message], c.token, 'timeout', CASE way WHEN 'retry' THEN now_() END);
		WHEN 'release' THEN refused := backfill.release(ARRAY[c.message], c.token, now_() + interval '1 minute', 'http_429');
		WHEN 'inert' THEN refused := backfill.mark_inert(ARRAY[c.message], c.token);
		WHEN 'heartbeat' THEN refused := backfill.heartbeat(ARRAY[c.message], c.token);
		ELSE UPDATE claim SET crashed = true WHERE (message, token) = (c.message, c.token);
	END CASE;
	IF word NOT LIKE 'crash%' AND holds = (refused IS NOT NULL) THEN
		PERFORM fail(format('the word "%s" about message %s was %s', word, c.message, CASE WHEN holds THEN 'refused' ELSE 'taken' END));
	END IF;
	IF word = 'heartbeat' AND holds THEN
		UPDATE claim SET lease_until = now_() + interval '5 minutes' WHERE (message, token) = (c.message, c.token);
	ELSIF word NOT LIKE 'crash%' THEN
		DELETE FROM claim WHERE (message, token) = (c.message, c.token);
		IF word = 'sent' AND holds THEN
			INSERT INTO accepted VALUES (c.message);
		END IF;
	END IF;
	RETURN CASE WHEN c.crashed THEN 'late: ' ELSE 'work: ' END || word;
END $$;

CREATE FUNCTION decide() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	id bigint;
	what text := (ARRAY['requeue', 'discard', 'resolve sent', 'resolve not sent', 'resend'])[pick(5)];
	was text;
BEGIN
	SELECT m.message_id INTO id FROM backfill.message m ORDER BY m.message_id OFFSET floor(random() * (SELECT count(*) FROM backfill.message)) LIMIT 1;
	IF NOT FOUND THEN
		RETURN 'person: none';
	END IF;
	was := backfill._delivery_state(id);
	IF random() < 0.7 THEN
		what := CASE was WHEN 'unknown' THEN what WHEN 'sent' THEN 'resend' WHEN 'pending' THEN 'discard' ELSE 'requeue' END;
	END IF;
	CASE what
		WHEN 'requeue' THEN PERFORM backfill.requeue(id, 'test');
		WHEN 'discard' THEN PERFORM backfill.discard(id, 'test');
		WHEN 'resend' THEN id := backfill.resend(id, 'test');
		ELSE PERFORM backfill.resolve_unknown(id, what = 'resolve sent', 'test');
	END CASE;
	IF was IN ('sent', 'claimed') AND what <> 'resend' AND NOT EXISTS (
		SELECT FROM backfill.delivery d WHERE d.message_id = id AND d.reason = 'lease_expired') THEN
		PERFORM fail(format('%s of message %s was taken although it was %s', what, id, was));
	END IF;
	IF was = 'unknown' AND what = 'requeue' THEN
		PERFORM fail(format('message %s was requeued although it is unknown', id));
	END IF;
	INSERT INTO person VALUES (id);
	INSERT INTO allowed VALUES (id) ON CONFLICT DO NOTHING;
	IF what = 'resolve sent' THEN
		INSERT INTO accepted VALUES (id);
	END IF;
	RETURN 'person: ' || what;
EXCEPTION WHEN object_not_in_prerequisite_state THEN
	RETURN 'person: refused';
END $$;

CREATE FUNCTION check_all() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	bad text;
BEGIN
	SELECT v INTO bad FROM backfill.check_invariants() v WHERE v NOT LIKE '% lapsed more than an hour ago and nobody noticed' LIMIT 1;
	IF bad IS NULL THEN
		SELECT format('message %s was accepted as sent %s times', a.message, count(*)) INTO bad FROM accepted a GROUP BY a.message HAVING count(*) > 1;
	END IF;
	IF bad IS NULL THEN
		SELECT format('%s of %s is lost', e.recipient, e.window_from) INTO bad FROM emitted e
		WHERE NOT EXISTS (SELECT FROM backfill.outbox o WHERE (o.recipient, o.window_from) = (e.recipient, e.window_from) AND o.state IS NOT NULL);
	END IF;
	IF bad IS NULL THEN
		SELECT format('a receiver that cannot drop duplicates got message %s %s times', r.message, count(*)) INTO bad
		FROM received r WHERE r.channel = 'hold' AND r.answer = 'yes'
		GROUP BY r.message HAVING count(*) > 1 + (SELECT count(*) FROM person p WHERE p.message = r.message);
	END IF;
	IF bad IS NULL THEN
		SELECT format('message %s was received as two different ones', r.message) INTO bad
		FROM received r GROUP BY r.message HAVING count(DISTINCT (r.receiver_key, r.payload)) > 1;
	END IF;
	IF bad IS NULL THEN
		SELECT format('message %s changed after it was received', r.message) INTO bad
		FROM received r JOIN backfill.message m ON m.message_id = r.message WHERE m.payload <> r.payload LIMIT 1;
	END IF;
	IF bad IS NOT NULL THEN
		PERFORM fail(bad);
	END IF;
END $$;
