-- Random lives of a pipeline, through what its users call: psql -v schedules=N -v seed=0.42 -f run.sql, in a database with
-- the extension and nothing else of its. Data arrive, late too, change and turn to poison; live runs, requests, replays and
-- rehearsals go over them, sessions die in the middle of a run, people pause, cancel and decide, workers deliver, the clock
-- jumps. Fails at the first thing that does not hold; the table move has the seed of its schedule and what it did.
\ir delivery.sql
SET backfill.narrate = 'none';

CREATE TABLE item (id bigint PRIMARY KEY, arrived_at timestamptz NOT NULL, body integer NOT NULL, poisoned boolean NOT NULL DEFAULT false);
CREATE TABLE output (id bigint PRIMARY KEY, body integer NOT NULL);

-- Emits one message, and compares what becomes of it with what should.
CREATE FUNCTION tell(k bigint, arrived_at timestamptz, body integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	day timestamptz := date_trunc('day', arrived_at, 'UTC');
	who text := CASE WHEN k % 2 = 0 THEN 'slack:#' ELSE 'webhook:' END || k;
	opted_in boolean := backfill.is_replay() AND (backfill._run_context(k::text)).deliver;
	was text := (SELECT o.state FROM backfill.outbox o WHERE o.recipient = who AND o.window_from = day AND o.generation = 0);
	id bigint := backfill.emit(who, 'note', to_jsonb(body), channel => CASE WHEN k % 2 = 0 THEN 'hold' ELSE 'retry' END, key => k);
	state text := backfill._delivery_state(id);
	waits boolean := CASE
		WHEN opted_in THEN was IS NULL OR was IN ('suppressed', 'expired', 'pending')
		WHEN was IS NULL THEN NOT backfill.is_replay() AND now_() <= day + interval '2 days' END;
BEGIN
	IF waits THEN
		INSERT INTO allowed VALUES (id) ON CONFLICT DO NOTHING;
	END IF;
	IF waits AND state <> 'pending' OR was IS NULL AND NOT waits AND state <> 'suppressed' OR was IS NOT NULL AND waits IS NOT TRUE AND state <> was THEN
		PERFORM fail(format('message %s went from %s to %s', id, coalesce(was, 'nothing'), state));
	END IF;
	INSERT INTO emitted VALUES (who, day) ON CONFLICT DO NOTHING;
END $$;

CREATE FUNCTION make(keys bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	i property.item;
BEGIN
	FOR i IN SELECT * FROM item t WHERE t.id = ANY (keys) ORDER BY t.id LOOP
		INSERT INTO output VALUES (i.id, i.body) ON CONFLICT ON CONSTRAINT output_pkey DO UPDATE SET body = excluded.body;
		PERFORM tell(i.id, i.arrived_at, i.body);
		IF i.poisoned THEN
			RAISE EXCEPTION 'poisoned' USING ERRCODE = 'data_exception';
		END IF;
	END LOOP;
	-- A session that dies here leaves a run that looks as if it went on, and none of its batch: so does one that finds that
	-- the run has become another's.
	IF current_setting('property.dies') = 'on' AND backfill.mode() <> 'rehearsal' THEN
		UPDATE backfill.run SET lease_token = lease_token + 1 WHERE run_id = (SELECT c.run_id FROM backfill._run_context(keys[1]::text) c);
	END IF;
END $$;
SELECT FROM backfill.create_pipeline('p', 'SELECT id, arrived_at FROM item i WHERE arrived_at >= $1 AND arrived_at < $2
	AND (backfill.is_replay() OR NOT EXISTS (SELECT FROM output o WHERE o.id = i.id AND o.body = i.body))', lookback => '3 days', summary_to => 'slack:#ops');
SELECT FROM backfill.add_batch_step('p', 'make',
	'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM output o JOIN item i USING (id, body) WHERE o.id = k)', 'SELECT make($1)',
	clear => 'DELETE FROM output WHERE id = ANY ($1)');

-- All that a rehearsal must leave as it is.
CREATE FUNCTION image() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	found text;
	all_of text := '';
BEGIN
	FOR found IN SELECT format('SELECT string_agg(t::text, E''\n'' ORDER BY t::text) FROM %s t', c.oid::regclass) FROM pg_class c
		WHERE c.relkind = 'r' AND c.relnamespace IN ('backfill'::regnamespace, 'property'::regnamespace) AND c.relname NOT IN ('move', 'tally') ORDER BY c.relname LOOP
		EXECUTE found INTO found;
		all_of := concat(all_of, found);
	END LOOP;
	RETURN md5(all_of);
END $$;

CREATE FUNCTION rehearse(range_from date, range_to date, redo text, deliver boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	before text := image();
	report text := (SELECT string_agg(r::text, ' ' ORDER BY r.part, r.name, r.would, r.reason) FROM backfill.rehearse('p', range_from, range_to, redo, deliver) r);
BEGIN
	IF image() <> before THEN
		PERFORM fail('a rehearsal changed something');
	END IF;
	IF EXISTS (SELECT FROM pg_locks l WHERE l.locktype = 'advisory' AND l.pid = pg_backend_pid()) OR backfill.mode() IS NOT NULL THEN
		PERFORM fail('a rehearsal left a lock or its mode behind');
	END IF;
	IF report LIKE '%p0004%' THEN
		PERFORM fail('a message would have gone astray');
	END IF;
	RETURN report;
END $$;

-- The same of the runs that came after it, out of their own records.
CREATE FUNCTION report_of(first_run bigint) RETURNS text LANGUAGE sql AS $$
	WITH run AS (SELECT r.* FROM backfill.run r WHERE r.run_id >= first_run),
	line AS (
		SELECT 'item' AS part, '' AS name, i.would, '' AS reason, sum(i.items)::bigint AS items
		FROM run r, LATERAL (VALUES ('change', r.changed), ('leave', r.unchanged), ('skip', r.skipped), ('fail', r.failed)) AS i(would, items) GROUP BY i.would
		UNION ALL
		SELECT 'step', c.step, CASE c.status WHEN 'ok' THEN 'do' WHEN 'skipped' THEN 'skip' ELSE 'fail' END, c.reason, sum(c.items)::bigint
		FROM run r JOIN backfill.run_step_count c USING (run_id) GROUP BY 2, 3, 4
		UNION ALL
		SELECT 'message', m.channel || ' ' || m.message_type,
			CASE WHEN e.state = 'pending' AND e.reason IN ('new', 'opted_in') THEN 'send' WHEN e.state = 'pending' THEN 'wait'
				WHEN e.state = 'suppressed' THEN 'suppress' ELSE 'not send' END,
			CASE WHEN e.state IN ('pending', 'suppressed') THEN e.reason ELSE e.state END, count(*)
		FROM run r JOIN backfill.emission e USING (run_id) JOIN backfill.message m USING (message_id) GROUP BY 2, 3, 4)
	SELECT string_agg(l::text, ' ' ORDER BY l.part, l.name, l.would, l.reason) FROM line l WHERE l.items > 0 $$;

CREATE FUNCTION change_some_run() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	what text := (ARRAY['pause', 'pause', 'resume', 'cancel'])[pick(4)];
	run bigint;
BEGIN
	SELECT r.run_id INTO run FROM backfill.run r WHERE r.state IN ('requested', 'running', 'paused') AND (what <> 'resume' OR r.state = 'paused')
	ORDER BY r.run_id OFFSET floor(random() * 2) LIMIT 1;
	CASE what WHEN 'pause' THEN PERFORM backfill.pause_run(run); WHEN 'resume' THEN PERFORM backfill.resume_run(run); ELSE PERFORM backfill.cancel_run(run); END CASE;
	RETURN 'person: ' || what || ' a run';
EXCEPTION WHEN undefined_object OR object_not_in_prerequisite_state THEN
	RETURN 'person: refused';
END $$;

CREATE FUNCTION change_data() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	what text := (ARRAY['arrives', 'arrives', 'changes', 'turns'])[pick(4)];
BEGIN
	CASE what
		WHEN 'arrives' THEN INSERT INTO item VALUES (pick(6), '2026-11-01'::timestamptz + pick(96) * interval '1 hour', pick(2)) ON CONFLICT DO NOTHING;
		WHEN 'changes' THEN UPDATE item SET body = 3 - body WHERE id = pick(6);
		ELSE UPDATE item SET poisoned = NOT poisoned WHERE id = pick(6);
	END CASE;
	RETURN 'data: ' || what;
END $$;

CREATE FUNCTION check_run() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	bad text;
BEGIN
	SELECT e.message INTO bad FROM backfill.step_event e WHERE e.sqlstate = 'P0004';
	IF bad IS NULL THEN
		SELECT format('message %s is not in the window of its item', m.message_id) INTO bad FROM backfill.message m JOIN item i ON i.id::text = m.item
		WHERE i.arrived_at < m.window_from OR i.arrived_at >= m.window_to;
	END IF;
	IF bad IS NULL THEN
		SELECT format('%s runs are worth a summary, and %s summaries are there', r.runs, s.messages) INTO bad
		FROM (SELECT count(*) FROM backfill.run WHERE mode = 'live' AND state = 'succeeded' AND (changed > 0 OR newly_failed > 0)) r (runs),
			(SELECT count(*) FROM backfill.message WHERE message_type LIKE 'run\_summary\_%' AND generation = 0) s (messages)
		WHERE r.runs <> s.messages;
	END IF;
	IF bad IS NOT NULL THEN
		PERFORM fail(bad);
	END IF;
	PERFORM check_all();
END $$;

CREATE PROCEDURE begin(seed double precision) LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM backfill.emission; DELETE FROM backfill.superseded; DELETE FROM backfill.intervention; DELETE FROM backfill.undelivered;
	DELETE FROM backfill.delivery; DELETE FROM backfill.message; DELETE FROM backfill.run; DELETE FROM backfill.replay; DELETE FROM backfill.item_failure;
	UPDATE backfill.pipeline SET watermark = NULL;
	DELETE FROM claim; DELETE FROM received; DELETE FROM allowed; DELETE FROM accepted; DELETE FROM emitted; DELETE FROM person; DELETE FROM move;
	DELETE FROM item; DELETE FROM output;
	INSERT INTO move (what) VALUES ('seed ' || seed);
	COMMIT;
	PERFORM setseed(seed);
	PERFORM set_config('backfill.test_clock_seconds', extract(epoch FROM '2026-11-02 20:00+00'::timestamptz)::text, false), set_config('property.dies', 'off', false);
	INSERT INTO item SELECT i, '2026-11-01'::timestamptz + pick(48) * interval '1 hour', pick(2) FROM generate_series(1, 4) i;
END $$;

-- Where the queue is empty, what a rehearsal said is what then happens.
CREATE PROCEDURE rehearse_and_run() LANGUAGE plpgsql AS $$
DECLARE
	open boolean := EXISTS (SELECT FROM backfill.run r WHERE r.state IN ('requested', 'running'));
	live boolean := random() < 0.5;
	range_from date := CASE WHEN NOT live THEN date '2026-11-01' + pick(2) - 1 END;
	range_to date := range_from + pick(2);
	redo text := CASE WHEN NOT live AND random() < 0.5 THEN 'all' ELSE 'lacking' END;
	deliver boolean := NOT live AND random() < 0.5;
	said text := rehearse(range_from, range_to, redo, deliver);
	first_run bigint;
	run bigint;
	tally text;
BEGIN
	PERFORM note('rehearsal');
	IF open OR random() < 0.4 THEN
		RETURN;
	END IF;
	IF live THEN
		CALL backfill.run('p', first_run, tally);
	ELSE
		SELECT min(r.run_id) INTO first_run FROM backfill.replay('p', range_from, range_to, redo, deliver) r;
		CALL backfill.run_requested('p', run);
	END IF;
	PERFORM note('rehearsal, then the run');
	IF report_of(first_run) IS DISTINCT FROM said THEN
		PERFORM fail(format('rehearsed: %s, done: %s', said, report_of(first_run)));
	END IF;
END $$;

CREATE PROCEDURE move() LANGUAGE plpgsql AS $$
DECLARE
	dice integer := pick(100);
	from_day date := least(date '2026-11-01' + pick(3) - 1, now_()::date);
	run bigint;
	tally text;
BEGIN
	IF dice <= 14 THEN
		CALL backfill.run('p', run, tally);
		PERFORM note('live');
	ELSIF dice <= 17 THEN
		PERFORM backfill.request_run('p'), note('request');
	ELSIF dice <= 22 THEN
		PERFORM backfill.replay('p', from_day, from_day + pick(2), CASE WHEN random() < 0.5 THEN 'all' ELSE 'lacking' END);
		PERFORM note('replay');
	ELSIF dice <= 27 THEN
		PERFORM backfill.replay('p', from_day, from_day + pick(2), CASE WHEN random() < 0.7 THEN 'all' ELSE 'lacking' END, deliver => true);
		PERFORM note('replay, opted in');
	ELSIF dice <= 38 THEN
		CALL backfill.run_requested('p', run);
		PERFORM note('drive');
	ELSIF dice <= 42 THEN
		PERFORM set_config('property.dies', 'on', false);
		IF random() < 0.4 THEN
			CALL backfill.run('p', run, tally);
		ELSE
			CALL backfill.run_requested('p', run);
		END IF;
		PERFORM set_config('property.dies', 'off', false), note('session dies');
	ELSIF dice <= 46 THEN
		PERFORM note(change_some_run());
	ELSIF dice <= 53 THEN
		CALL rehearse_and_run();
	ELSIF dice <= 62 THEN
		PERFORM claim(), note('claim');
	ELSIF dice <= 81 THEN
		PERFORM note(work());
	ELSIF dice <= 86 THEN
		PERFORM note(decide());
	ELSIF dice <= 92 THEN
		PERFORM note(change_data());
	ELSE
		PERFORM jump((ARRAY['1 minute', '6 minutes', '11 minutes', '20 hours', '1 day'])[pick(5)]::interval), note('clock');
	END IF;
END $$;

-- At last the poison is gone, everybody looks, and all that was asked for is done: nothing lapsed stays unnoticed, and one
-- silent replay of all days leaves every output there, and every message with a state.
CREATE PROCEDURE settle() LANGUAGE plpgsql AS $$
DECLARE
	run bigint;
BEGIN
	PERFORM jump('12 minutes');
	UPDATE item SET poisoned = false;
	PERFORM backfill.resume_run(r.run_id) FROM backfill.run r WHERE r.state = 'paused' AND (r.mode = 'replay' OR r.started_at IS NOT NULL);
	PERFORM backfill.replay('p', '2026-11-01', '2026-11-06');
	CALL backfill.run_requested('p', run);
	PERFORM backfill.claim_deliveries('hold', 100), backfill.claim_deliveries('retry', 100, when_unknown => 'retry'), backfill.claim_deliveries('slack', 100);
	PERFORM check_run();
	IF EXISTS (SELECT FROM backfill.check_invariants()) THEN
		PERFORM fail((SELECT v FROM backfill.check_invariants() v LIMIT 1));
	ELSIF EXISTS (SELECT FROM item i WHERE i.arrived_at < date_trunc('day', now_()) AND NOT EXISTS (SELECT FROM output o WHERE (o.id, o.body) = (i.id, i.body))) THEN
		PERFORM fail('an output is lacking');
	ELSIF EXISTS (SELECT FROM item i WHERE i.arrived_at < date_trunc('day', now_()) AND NOT EXISTS (SELECT FROM backfill.outbox o WHERE o.item = i.id::text AND o.state IS NOT NULL)) THEN
		PERFORM fail('a message is lacking');
	ELSIF EXISTS (SELECT FROM backfill.run r WHERE r.state IN ('requested', 'running')) THEN
		PERFORM fail('a run is still open');
	END IF;
END $$;

CREATE PROCEDURE live_all(seeds double precision[]) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..cardinality(seeds) LOOP
		CALL begin(seeds[i]);
		FOR n IN 1..4 + pick(7) LOOP
			CALL move();
			COMMIT;
			PERFORM check_run();
		END LOOP;
		CALL settle();
		COMMIT;
	END LOOP;
END $$;

-- In hundreds, so that what the schedules leave behind can be removed.
SELECT setseed(:seed) \g /dev/null
SELECT format('CALL property.live_all(%L)', array_agg(seed ORDER BY n)), 'VACUUM'
FROM (SELECT n, random() * 2 - 1 AS seed FROM generate_series(1, :schedules) n) s GROUP BY (n - 1) / 100 ORDER BY min(n) \gexec
SELECT format('%s schedules', :schedules);
SELECT format('%s: %s', what, times) FROM tally ORDER BY what;
