-- Random lives of messages: psql -v schedules=N -v seed=0.42 -f outbox.sql, in a database with the extension and nothing
-- else of its. Runs of every mode emit, two kinds of workers claim, send, crash and come back late, people decide, the
-- clock jumps. What the receiver saw and what was allowed is kept apart from the product's tables, and compared after
-- each move. Fails with the schedule's seed and its moves at the first thing that does not hold.
\ir delivery.sql
INSERT INTO backfill.pipeline (name, owner, candidates, key_type, search_path) VALUES ('p', current_user, 'SELECT 1', 'bigint', 'public');

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
		id := backfill._emit(run, (SELECT p.pipeline_id FROM backfill.pipeline p), CASE mode WHEN 'replay' THEN 'replay' ELSE 'live' END, deliver, now_(), day, day + interval '1 day', '1',
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

CREATE PROCEDURE live(seed double precision) LANGUAGE plpgsql AS $$
DECLARE
	dice integer;
	moves text;
BEGIN
	DELETE FROM backfill.emission; DELETE FROM backfill.superseded; DELETE FROM backfill.intervention; DELETE FROM backfill.undelivered;
	DELETE FROM backfill.delivery; DELETE FROM backfill.message; DELETE FROM backfill.run; DELETE FROM backfill.replay;
	DELETE FROM claim; DELETE FROM received; DELETE FROM allowed; DELETE FROM accepted; DELETE FROM emitted; DELETE FROM person; DELETE FROM move;
	PERFORM setseed(seed);
	PERFORM set_config('backfill.test_clock_seconds', extract(epoch FROM '2026-11-03 10:00+00'::timestamptz)::text, false);
	PERFORM note('live'), emit('live', false);
	FOR i IN 1..12 + pick(14) LOOP
		dice := pick(100);
		IF dice <= 14 THEN
			PERFORM note('live'), emit('live', false);
		ELSIF dice <= 18 THEN
			PERFORM note('replay'), emit('replay', false);
		ELSIF dice <= 24 THEN
			PERFORM note('replay, opted in'), emit('replay', true);
		ELSIF dice <= 26 THEN
			PERFORM note('rehearsal'), rehearse();
		ELSIF dice <= 45 THEN
			PERFORM note('claim'), claim();
		ELSIF dice <= 77 THEN
			PERFORM note(work());
		ELSIF dice <= 87 THEN
			PERFORM note(decide());
		ELSE
			PERFORM note('clock'), jump((ARRAY['1 minute', '6 minutes', '6 minutes', '20 minutes', '1 day'])[pick(5)]::interval);
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
	GET STACKED DIAGNOSTICS moves = PG_EXCEPTION_DETAIL;
	RAISE EXCEPTION 'seed %: %', seed, sqlerrm USING DETAIL = moves;
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
