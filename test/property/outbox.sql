-- Random lives of messages: psql -v schedules=N -v seed=0.42 -f outbox.sql, in a database with the extension and nothing
-- else of its. Runs of every mode emit, two kinds of workers claim, send, crash and come back late, people decide, the
-- clock jumps. What the receiver saw and what was allowed is kept apart from the product's tables, and compared after
-- each move. Prints one line; fails with the schedule's seed and its moves at the first thing that does not hold.
\set ON_ERROR_STOP 1
\set QUIET 1
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE SCHEMA property;
SET search_path = property, pg_temp;

INSERT INTO backfill.pipeline (name, owner, candidates, key_type, search_path) VALUES ('p', current_user, 'SELECT 1', 'bigint', 'public');

-- What a schedule knows.
CREATE UNLOGGED TABLE claim (message bigint, token bigint, receiver_key uuid, payload jsonb, lease_until timestamptz, crashed boolean DEFAULT false);
CREATE UNLOGGED TABLE received (receiver_key uuid, payload jsonb, message bigint, channel text, answer text);
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
	RAISE EXCEPTION '%', what USING ERRCODE = 'assert_failure';
END $$;

CREATE FUNCTION image() RETURNS text LANGUAGE sql AS $$
	SELECT md5(concat(
		(SELECT string_agg(t::text, '' ORDER BY message_id) FROM backfill.message t),
		(SELECT string_agg(t::text, '' ORDER BY message_id) FROM backfill.undelivered t),
		(SELECT string_agg(t::text, '' ORDER BY message_id, delivery_id) FROM backfill.delivery t),
		(SELECT string_agg(t::text, '' ORDER BY message_id, content_hash) FROM backfill.superseded t),
		(SELECT string_agg(t::text, '' ORDER BY run_id, message_id) FROM backfill.emission t))) $$;

-- A run that emits some keys. Windows are days; the third day is today, more or less.
CREATE FUNCTION emit(mode text, deliver boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	replay bigint;
	run bigint := nextval('backfill.run_run_id_seq') * CASE mode WHEN 'rehearsal' THEN -1 ELSE 1 END;
	day timestamptz;
	who text;
	id bigint;
	was text;
	is_new boolean;
	stale boolean;
BEGIN
	IF mode = 'replay' THEN
		INSERT INTO backfill.replay AS y (pipeline_id, replay_from, replay_to, redo, deliver, downstream, requested_by, requested_at)
		SELECT p.pipeline_id, '2026-11-01', '2026-11-02', 'lacking', emit.deliver, false, 'x', now_() FROM backfill.pipeline p RETURNING y.replay_id INTO replay;
	END IF;
	INSERT INTO backfill.run (run_id, pipeline_id, replay_id, mode, state, window_from, window_to, scan_from, scan_to, run_time, deliver, requested_by, requested_at, finished_at)
	SELECT run, p.pipeline_id, replay, CASE mode WHEN 'replay' THEN 'replay' ELSE 'live' END, 'succeeded', '2026-11-01', '2026-11-02', '2026-11-01', '2026-11-02',
		now_(), emit.deliver, 'x', now_(), now_()
	FROM backfill.pipeline p;
	FOR i IN 1..pick(3) LOOP
		day := '2026-11-02'::timestamptz + (pick(3) - 1) * interval '1 day';
		who := (ARRAY['slack:#a', 'webhook:b'])[pick(2)];
		was := (SELECT o.state FROM backfill.outbox o WHERE o.recipient = who AND o.window_from = day AND o.generation = 0);
		id := backfill._emit(run, (SELECT p.pipeline_id FROM backfill.pipeline p), mode, deliver, now_(), day, day + interval '1 day', '1',
			who, 'note', to_jsonb(pick(2)), CASE WHEN who LIKE 'slack%' THEN 'hold' ELSE 'retry' END);
		stale := now_() > day + interval '2 days';
		IF was IS NULL AND mode = 'live' AND NOT stale OR deliver AND mode = 'replay' AND (was IS NULL OR was IN ('suppressed', 'expired')) THEN
			INSERT INTO allowed VALUES (id) ON CONFLICT DO NOTHING;
			IF backfill._delivery_state(id) <> 'pending' THEN
				PERFORM fail(format('message %s should wait', id));
			END IF;
		ELSIF was IS NULL AND mode <> 'rehearsal' AND backfill._delivery_state(id) <> 'suppressed' THEN
			PERFORM fail(format('message %s should be suppressed', id));
		ELSIF was IN ('sent', 'dead', 'unknown', 'claimed') AND backfill._delivery_state(id) <> was THEN
			PERFORM fail(format('emitting changed the delivery of message %s from %s', id, was));
		END IF;
		INSERT INTO emitted VALUES (who, day) ON CONFLICT DO NOTHING;
	END LOOP;
END $$;

CREATE FUNCTION rehearse() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	before text := image();
BEGIN
	BEGIN
		PERFORM emit('rehearsal', random() < 0.5);
		RAISE EXCEPTION 'the end of the rehearsal' USING ERRCODE = 'P0099';
	EXCEPTION WHEN SQLSTATE 'P0099' THEN
	END;
	IF image() <> before THEN
		PERFORM fail('a rehearsal changed something');
	END IF;
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
	-- Before the first byte the worker looks at its lease.
	IF NOT c.crashed AND word IN ('sent', 'crash', 'unknown', 'retry', 'dead') THEN
		IF c.lease_until <= now_() THEN
			UPDATE claim SET crashed = true WHERE (message, token) = (c.message, c.token);
			RETURN 'work: lease too short';
		END IF;
		INSERT INTO received VALUES (c.receiver_key, c.payload, c.message, way, CASE WHEN word IN ('retry', 'dead') THEN 'no' ELSE 'yes' END);
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
	SELECT v INTO bad FROM backfill.check_invariants() v WHERE v NOT LIKE 'the claim of message % lapsed %' LIMIT 1;
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

CREATE PROCEDURE live(seed double precision) LANGUAGE plpgsql AS $$
DECLARE
	dice integer;
BEGIN
	DELETE FROM backfill.emission; DELETE FROM backfill.superseded; DELETE FROM backfill.intervention; DELETE FROM backfill.undelivered;
	DELETE FROM backfill.delivery; DELETE FROM backfill.message; DELETE FROM backfill.run; DELETE FROM backfill.replay;
	DELETE FROM claim; DELETE FROM received; DELETE FROM allowed; DELETE FROM accepted; DELETE FROM emitted; DELETE FROM person; DELETE FROM move;
	PERFORM setseed(seed);
	PERFORM set_config('backfill.test_clock_seconds', extract(epoch FROM '2026-11-03 10:00+00'::timestamptz)::text, false);
	PERFORM emit('live', false), note('live');
	FOR i IN 1..12 + pick(14) LOOP
		dice := pick(100);
		IF dice <= 14 THEN
			PERFORM emit('live', false), note('live');
		ELSIF dice <= 18 THEN
			PERFORM emit('replay', false), note('replay');
		ELSIF dice <= 24 THEN
			PERFORM emit('replay', true), note('replay, opted in');
		ELSIF dice <= 26 THEN
			PERFORM rehearse(), note('rehearsal');
		ELSIF dice <= 45 THEN
			PERFORM claim(), note('claim');
		ELSIF dice <= 77 THEN
			PERFORM note(work());
		ELSIF dice <= 87 THEN
			PERFORM note(decide());
		ELSE
			PERFORM jump((ARRAY['1 minute', '6 minutes', '6 minutes', '20 minutes', '1 day'])[pick(5)]::interval), note('clock');
		END IF;
		PERFORM check_all();
	END LOOP;
	-- At last everybody looks, and nothing lapsed stays unnoticed.
	PERFORM jump('10 minutes');
	PERFORM backfill.claim_deliveries('hold', 100), backfill.claim_deliveries('retry', 100, when_unknown => 'retry');
	IF EXISTS (SELECT FROM backfill.check_invariants()) THEN
		PERFORM fail((SELECT v FROM backfill.check_invariants() v LIMIT 1));
	END IF;
EXCEPTION WHEN assert_failure THEN
	RAISE EXCEPTION 'seed %: %', seed, sqlerrm
		USING DETAIL = (SELECT coalesce(string_agg(m.what, E'\n' ORDER BY m.n), 'the first move') FROM move m);
END $$;

CREATE PROCEDURE live_all(seeds double precision[]) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..cardinality(seeds) LOOP
		CALL live(seeds[i]);
		COMMIT;
	END LOOP;
END $$;

-- In hundreds, so that what the schedules leave behind can be removed.
SELECT setseed(:seed) \g /dev/null
SELECT format('CALL property.live_all(%L)', array_agg(seed ORDER BY n)), 'VACUUM'
FROM (SELECT n, random() * 2 - 1 AS seed FROM generate_series(1, :schedules) n) s GROUP BY (n - 1) / 100 ORDER BY min(n) \gexec
SELECT format('%s schedules', :schedules);
SELECT format('%s: %s', what, times) FROM tally ORDER BY what;
