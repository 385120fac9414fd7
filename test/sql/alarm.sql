-- Alarms: what is unusual for a pipeline is told once, and told again when it has recovered. Each kind through real runs,
-- on a clock that is set.
CREATE SCHEMA watched;
SET search_path = watched;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET client_min_messages = warning;
SET backfill.narrate = 'none';
\set SHOW_CONTEXT never
ALTER TABLE backfill.alarm ALTER alarm_id RESTART WITH 1;
CREATE FUNCTION at_time(at timestamptz) RETURNS void LANGUAGE sql AS $$
	SELECT FROM set_config('backfill.test_clock_seconds', extract(epoch FROM at)::text, false) $$;

-- Forty leads on a working day, fifteen on others; of every eighth the report is missing.
CREATE TABLE lead (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, arrived_at timestamptz NOT NULL, has_report boolean NOT NULL, poisoned boolean NOT NULL DEFAULT false);
CREATE TABLE output (id bigint PRIMARY KEY);
CREATE FUNCTION make(k bigint) RETURNS backfill.outcome LANGUAGE plpgsql AS $$
BEGIN
	IF (SELECT l.poisoned FROM lead l WHERE l.id = k) THEN
		RETURN backfill.fail('poisoned');
	ELSIF NOT (SELECT l.has_report FROM lead l WHERE l.id = k) THEN
		RETURN backfill.stop('no_report');
	END IF;
	INSERT INTO output VALUES (k);
	RETURN backfill.ok();
END $$;
SELECT backfill.create_pipeline('watched', 'SELECT id, arrived_at FROM lead l WHERE arrived_at >= $1 AND arrived_at < $2', timezone => 'Asia/Kolkata', summary_to => 'slack:#ops');
SELECT backfill.add_step('watched', 'make', 'SELECT EXISTS (SELECT FROM output o WHERE o.id = $1)', 'SELECT make($1)');
CREATE FUNCTION arrive(day date, leads integer, missing integer DEFAULT 8) RETURNS void LANGUAGE sql AS $$
	INSERT INTO lead (arrived_at, has_report) SELECT (day + time '10:00') AT TIME ZONE 'Asia/Kolkata' + n * interval '1 minute', n % missing <> 0 FROM generate_series(1, leads) n $$;
-- Each night at four the leads of the day before.
CREATE PROCEDURE nights(first date, count integer, leads integer DEFAULT NULL, missing integer DEFAULT 8) LANGUAGE plpgsql AS $$
DECLARE
	run bigint;
	tally text;
BEGIN
	FOR day IN 0..count - 1 LOOP
		PERFORM watched.arrive(first + day - 1, coalesce(leads, CASE WHEN extract(isodow FROM first + day - 1) > 5 THEN 15 ELSE 40 END), missing);
		PERFORM watched.at_time((first + day + time '04:00' + (day % 3) * interval '1 minute') AT TIME ZONE 'Asia/Kolkata');
		COMMIT;
		CALL backfill.run('watched', run, tally);
	END LOOP;
END $$;
CREATE VIEW alarms AS SELECT alarm_id, kind, subject, alarm, opened_at AT TIME ZONE 'Asia/Kolkata' AS opened, closed_at AT TIME ZONE 'Asia/Kolkata' AS closed FROM backfill.alarm_history WHERE pipeline = 'watched' ORDER BY alarm_id;
CREATE VIEW told AS SELECT message_type, state, payload ->> 'text' AS text FROM backfill.outbox WHERE pipeline = 'watched' AND message_type !~ '^run_summary' ORDER BY message_id;

-- A month of nights, of which none is unusual. The tally and the summary count the leads without a report.
CALL nights('2026-06-02', 27);
SELECT count(*) FROM alarms;
SELECT run_time AT TIME ZONE 'Asia/Kolkata' AS run_time, judged, candidates, changed, skipped, reasons FROM backfill.skip_shape WHERE pipeline = 'watched' ORDER BY run_id LIMIT 8;
SELECT payload -> 'candidates' AS candidates, payload -> 'reasons' AS reasons FROM backfill.outbox WHERE pipeline = 'watched' AND message_type = 'run_summary_1' ORDER BY message_id LIMIT 2;

-- Silence: Monday's leads do not arrive, nor Tuesday's. Told once; a replay and a rehearsal of the same silence add nothing.
CALL nights('2026-06-30', 1, leads => 0);
SELECT * FROM backfill.check_health('watched');
CALL nights('2026-07-01', 1, leads => 0);
SELECT count(*) AS slots FROM backfill.replay('watched', '2026-06-29', '2026-07-01');
CALL backfill.run_requested('watched');
SELECT count(*) FROM backfill.rehearse('watched');
SELECT count(*) AS rows, count(*) FILTER (WHERE 'silence' = ANY (unusual)) AS silent FROM backfill.skip_shape WHERE pipeline = 'watched';
SELECT status, detail, regexp_replace(hint, '\d+', 'N', 'g') AS hint FROM backfill.doctor() WHERE "check" = 'alarms';
SELECT * FROM alarms;
-- A second run of the slot finds what came late, and closes it.
SELECT arrive('2026-06-30', 20);
CALL backfill.run('watched') \gset
\echo :tally
SELECT * FROM alarms;
SELECT * FROM told;

-- Few: one lead in ten. A rerun of that night is not held against the first runs of other nights.
CALL nights('2026-07-02', 1, leads => 4);
CALL backfill.run('watched') \gset
SELECT * FROM alarms WHERE alarm_id > 1;
CALL nights('2026-07-03', 1);
SELECT * FROM alarms WHERE alarm_id > 1;

-- A flood: nearly no reports, two nights.
CALL nights('2026-07-04', 1, leads => 40, missing => 1);
CALL nights('2026-07-07', 2, leads => 40, missing => 1);
SELECT * FROM alarms WHERE alarm_id > 2;
CALL nights('2026-07-09', 1);
SELECT * FROM alarms WHERE alarm_id > 2;

-- A new usual, which a person accepts: nothing is said until there is a history of it.
CALL nights('2026-07-10', 1, leads => 5);
SELECT backfill.accept_alarm(max(alarm_id), 'the branch in Pune has its own system now') FROM alarms;
CALL nights('2026-07-11', 14, leads => 5);
SELECT alarm_id, kind, accepted_for, closed_at - opened_at AS took FROM backfill.alarm_history WHERE accepted_by = current_user;
SELECT count(*) FROM alarms;

-- Overdue: nobody comes on Saturday the 25th. Whoever looks finds it, once; not before it is sure.
SELECT at_time('2026-07-25 05:00+05:30');
SELECT * FROM backfill.check_health('watched');
SELECT at_time('2026-07-25 05:30+05:30');
SELECT kind, alarm FROM backfill.check_health('watched');
SELECT at_time('2026-07-25 06:30+05:30');
SELECT kind, alarm FROM backfill.check_health();
-- Another pipeline's run looks too, and a run that comes closes it.
SELECT * FROM alarms ORDER BY alarm_id DESC LIMIT 1;
CALL nights('2026-07-26', 1, leads => 5);
SELECT kind, opened, closed FROM alarms ORDER BY alarm_id DESC LIMIT 1;
SELECT backfill.create_pipeline('neighbour', 'SELECT id, arrived_at FROM lead WHERE arrived_at >= $1 AND arrived_at < $2 AND false');
SELECT backfill.add_step('neighbour', 'nothing', 'SELECT $1 > 0', 'SELECT $1');
SELECT at_time('2026-07-27 12:00+05:30');
CALL backfill.run('neighbour') \gset
SELECT kind, alarm FROM alarms WHERE closed IS NULL;
-- A pipeline that is switched off is not waited for.
CALL nights('2026-07-28', 1, leads => 5);
SELECT backfill.disable_pipeline('watched');
SELECT at_time('2026-08-01 12:00+05:30');
SELECT * FROM backfill.check_health();
SELECT backfill.enable_pipeline('watched');

-- The watermark does not move, because the runs fail.
CALL nights('2026-08-02', 1, leads => 5);
CREATE PROCEDURE failing_night(day date) LANGUAGE plpgsql AS $$
DECLARE
	run bigint;
	tally text;
BEGIN
	PERFORM watched.arrive(day - 1, 5);
	PERFORM watched.at_time((day + time '04:00') AT TIME ZONE 'Asia/Kolkata');
	COMMIT;
	CALL backfill.run('watched', run, tally);
END $$;
SELECT backfill.alter_pipeline('watched', candidates => 'SELECT id, arrived_at FROM lead WHERE arrived_at >= $1 AND arrived_at < $2 AND 1 / (id - id) > 0');
CALL failing_night('2026-08-03');
CALL failing_night('2026-08-04');
CALL failing_night('2026-08-04');
SELECT kind, alarm FROM alarms WHERE closed IS NULL;
CALL failing_night('2026-08-05');
CALL failing_night('2026-08-06');
SELECT kind, alarm, opened FROM alarms WHERE closed IS NULL;
SELECT backfill.alter_pipeline('watched', candidates => 'SELECT id, arrived_at FROM lead WHERE arrived_at >= $1 AND arrived_at < $2');
CALL nights('2026-08-07', 1, leads => 5);
SELECT kind, opened, closed FROM alarms ORDER BY alarm_id DESC LIMIT 1;

-- The same items fail night after night, until their data change.
SELECT backfill.alter_pipeline('watched', lookback => '4 days');
SELECT backfill.set_alarm('watched', 'few_candidates', enabled => false);
SELECT backfill.set_alarm('watched', 'flood', enabled => false);
INSERT INTO lead (arrived_at, has_report, poisoned) SELECT '2026-08-07 12:00+05:30', true, true FROM generate_series(1, 3);
CALL nights('2026-08-08', 2, leads => 5);
SELECT kind, alarm FROM alarms WHERE closed IS NULL;
CALL nights('2026-08-10', 1, leads => 5);
SELECT kind, alarm, opened FROM alarms WHERE closed IS NULL;
CALL nights('2026-08-11', 1, leads => 5);
UPDATE lead SET poisoned = false;
CALL nights('2026-08-12', 1, leads => 5);
SELECT kind, opened, closed FROM alarms ORDER BY alarm_id DESC LIMIT 1;

-- All that was told, once each; nothing by replays.
SELECT * FROM told;
SELECT count(*) FROM backfill.alarm a JOIN backfill.run r ON r.run_id IN (a.opened_by_run, a.closed_by_run) WHERE r.mode <> 'live';

-- Without a recipient an alarm is there all the same. A kind that is switched off is not, and closes.
SELECT backfill.alter_pipeline('watched', summary_to => '', lookback => '1 day');
SELECT backfill.set_alarm('watched', 'watermark_stuck', threshold => 1);
CALL failing_night('2026-08-13');
SELECT backfill.alter_pipeline('watched', candidates => 'SELECT id, arrived_at FROM lead WHERE arrived_at >= $1 AND arrived_at < $2 AND 1 / (id - id) > 0');
CALL failing_night('2026-08-14');
SELECT kind, alarm FROM alarms WHERE closed IS NULL;
SELECT count(*) FROM told WHERE message_type LIKE '%stuck%';
SELECT backfill.set_alarm('watched', 'watermark_stuck', enabled => false);
CALL failing_night('2026-08-15');
SELECT count(*) FROM alarms WHERE closed IS NULL;

-- A month of silence does not become what is usual. Its history is made up.
INSERT INTO backfill.run_shape (pipeline_id, run_id, window_from, run_time, data_at, state, judged, watermark_moved, candidates, changed, unchanged, skipped, failed, reasons, unusual)
SELECT p.pipeline_id, -n, d, d + interval '12 hours', d, 'succeeded', true, true, CASE WHEN n > 30 THEN 40 ELSE 0 END, 0, CASE WHEN n > 30 THEN 40 ELSE 0 END, 0, 0, '{}',
	CASE WHEN n > 30 THEN '{}' ELSE '{silence}'::text[] END
FROM backfill.pipeline p, generate_series(1, 45) n, LATERAL (SELECT '2026-08-19 00:00+00'::timestamptz - n * interval '1 day') d (d) WHERE p.name = 'neighbour';
SELECT at_time('2026-08-19 12:00+00');
CALL backfill.run('neighbour') \gset
SELECT kind, alarm, evidence FROM backfill.alarm_history WHERE pipeline = 'neighbour' ORDER BY alarm_id;

-- One that works on working days only: on Sunday it is Friday's run that is missing.
SELECT backfill.create_pipeline('working', 'SELECT id, arrived_at FROM lead WHERE arrived_at >= $1 AND arrived_at < $2 AND false');
INSERT INTO backfill.run_shape (pipeline_id, run_id, window_from, run_time, data_at, state, judged, watermark_moved, candidates, changed, unchanged, skipped, failed, reasons)
SELECT p.pipeline_id, -100 - n, d, d + interval '4 hours', d, 'succeeded', true, true, 0, 0, 0, 0, 0, '{}'
FROM backfill.pipeline p, generate_series(1, 20) n, LATERAL (SELECT '2026-08-21 00:00+00'::timestamptz - n * interval '1 day') d (d) WHERE p.name = 'working' AND extract(isodow FROM d) < 6;
SELECT at_time('2026-08-23 12:00+00');
SELECT kind, alarm FROM backfill.check_health('working');
SELECT backfill.drop_pipeline('working');

-- Bad settings.
SELECT backfill.set_alarm('nowhere', 'flood', true);
SELECT backfill.set_alarm('watched', 'fire', true);
SELECT backfill.set_alarm('watched', 'few_candidates', threshold => 1.5);
SELECT backfill.set_alarm('watched', 'flood', threshold => 'NaN');
SELECT backfill.accept_alarm(1, 'again');
SELECT backfill.accept_alarm(1, '');
SELECT * FROM backfill.check_health('nowhere');
SELECT * FROM backfill.check_invariants();

RESET backfill.test_clock_seconds;
RESET backfill.narrate;
SELECT backfill.drop_pipeline('watched'), backfill.drop_pipeline('neighbour');
SELECT count(*) FROM backfill.alarm;
TRUNCATE backfill.emission, backfill.superseded, backfill.intervention, backfill.undelivered, backfill.delivery, backfill.message RESTART IDENTITY;
DROP SCHEMA watched CASCADE;
