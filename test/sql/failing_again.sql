-- Items that fail night after night are asked for again, and say nothing of what arrives: neither do they hide a silence, nor
-- are they a flood, nor do they break a quiet night.
CREATE SCHEMA again;
SET search_path = again;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET client_min_messages = warning;
SET backfill.narrate = 'none';
\set SHOW_CONTEXT never
ALTER TABLE backfill.run ALTER run_id RESTART WITH 920001;
ALTER TABLE backfill.alarm ALTER alarm_id RESTART WITH 920001;
CREATE TABLE item (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at timestamptz NOT NULL, poisoned boolean NOT NULL);
CREATE TABLE output (id bigint PRIMARY KEY);
CREATE FUNCTION make(k bigint) RETURNS backfill.outcome LANGUAGE plpgsql AS $$
BEGIN
	IF (SELECT i.poisoned FROM item i WHERE i.id = k) THEN
		RETURN backfill.fail('poisoned');
	END IF;
	INSERT INTO output VALUES (k);
	RETURN backfill.ok();
END $$;
SELECT backfill.create_pipeline('again', 'SELECT id, at FROM item WHERE at >= $1 AND at < $2');
SELECT backfill.add_step('again', 'make', 'SELECT EXISTS (SELECT FROM output o WHERE o.id = $1)', 'SELECT make($1)');
-- Each night at four the items of the day before.
CREATE PROCEDURE nights(first date, count integer, items integer, bad integer DEFAULT 0) LANGUAGE plpgsql AS $$
DECLARE
	run bigint;
	tally text;
BEGIN
	FOR day IN 0..count - 1 LOOP
		INSERT INTO again.item (at, poisoned) SELECT first + day - 1 + time '10:00' + n * interval '1 minute', n <= bad FROM generate_series(1, items) n;
		PERFORM set_config('backfill.test_clock_seconds', extract(epoch FROM first + day + time '04:00')::text, false);
		COMMIT;
		CALL backfill.run('again', run, tally);
	END LOOP;
END $$;
CREATE VIEW shape AS SELECT run_time::date AS night, candidates, asked_again, changed, failed, reasons, unusual FROM backfill.skip_shape WHERE pipeline = 'again' ORDER BY run_id DESC;
CREATE VIEW alarms AS SELECT kind, alarm, opened_at::date AS opened, closed_at::date AS closed FROM backfill.alarm_history WHERE pipeline = 'again' ORDER BY alarm_id;

-- Two weeks of working days; in the second one some of each day's items are poisoned.
CALL nights('2026-06-02', 5, 40);
CALL nights('2026-06-09', 5, 40, bad => 7);
SELECT * FROM shape LIMIT 3;
SELECT * FROM alarms;
-- Monday: nothing arrives, and 35 items are tried again.
CALL nights('2026-06-16', 1, 0);
SELECT * FROM shape LIMIT 1;
SELECT * FROM alarms WHERE kind <> 'same_items_failing';
-- They do not end the silence, and a dozen items that arrive do. Beside those, 35 that fail are no flood.
CALL nights('2026-06-17', 1, 0);
SELECT count(*) FROM alarms WHERE kind = 'silence' AND closed IS NULL;
CALL nights('2026-06-18', 1, 12);
SELECT * FROM shape LIMIT 1;
SELECT * FROM alarms WHERE kind <> 'same_items_failing';
-- An item that arrives anew is in the range, and counts.
UPDATE item SET at = '2026-06-18 10:00' WHERE id IN (SELECT min(id) FROM item WHERE poisoned);
CALL nights('2026-06-19', 1, 39);
SELECT * FROM shape LIMIT 1;
-- When they recover, nothing has arrived all the same.
UPDATE item SET poisoned = false;
CALL nights('2026-06-20', 1, 0);
SELECT * FROM shape LIMIT 1;
SELECT * FROM alarms;

-- A quiet night with thirty items that are known to fail, all alike, succeeds; one on which nearly all new ones do, breaks.
CREATE TABLE known (id bigint PRIMARY KEY, at timestamptz NOT NULL);
SELECT backfill.create_pipeline('known', 'SELECT id, at FROM known WHERE at >= $1 AND at < $2');
SELECT backfill.add_batch_step('known', 'make', 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM output o WHERE o.id = -k)', 'INSERT INTO output SELECT -k FROM unnest($1) k WHERE 1 / (k % 1000) IS NOT NULL');
CREATE FUNCTION at_time(at timestamptz) RETURNS void LANGUAGE sql AS $$
	SELECT FROM set_config('backfill.test_clock_seconds', extract(epoch FROM at)::text, false) $$;
CREATE VIEW runs AS SELECT r.run_id, r.state, r.candidates, r.changed, r.failed, r.newly_failed, r.error FROM backfill.run_history r WHERE r.pipeline = 'known' ORDER BY r.run_id DESC;
INSERT INTO known SELECT n, '2026-07-01 12:00+00'::timestamptz FROM generate_series(1, 70) n UNION ALL SELECT n * 1000, '2026-07-01 12:00+00' FROM generate_series(1, 30) n;
SELECT at_time('2026-07-02 04:00+00');
CALL backfill.run('known') \gset
SELECT at_time('2026-07-04 04:00+00');
CALL backfill.run('known') \gset
SELECT * FROM runs;
-- Driven from outside, item by item the same: what the driver is told of the known ones is nothing.
SELECT at_time('2026-07-06 04:00+00');
SELECT backfill.request_run('known') AS run \gset
SELECT token FROM backfill.claim_run(wanted => :run) \gset
SELECT count(*), max(remaining) FROM backfill.run_candidates(:run, :token, NULL, 100, count => true);
SELECT b.result, b.failed, b.newly_failed, b.attempts
FROM (SELECT array_agg(id::text ORDER BY id) AS keys, array_agg(at ORDER BY id) AS times, array_agg(0) AS steps FROM known WHERE id >= 1000) i,
	backfill.run_batch(:run, :token, NULL, '30000', 0, i.keys, i.times, i.steps) b;
SELECT failed, newly_failed FROM backfill.finish_run(:run, :token, 'succeeded', candidates => 30);
SELECT candidates, asked_again, failed, reasons FROM backfill.skip_shape WHERE run_id = :run;
-- New ones that fail alike beside them.
INSERT INTO known SELECT n * 1000, '2026-07-06 12:00+00' FROM generate_series(31, 55) n;
SELECT at_time('2026-07-07 04:00+00');
SELECT backfill.request_run('known') AS run \gset
SELECT token FROM backfill.claim_run(wanted => :run) \gset
SELECT b.result, b.failed, b.newly_failed, b.attempts
FROM (SELECT array_agg(id::text ORDER BY id) AS keys, array_agg(at ORDER BY id) AS times, array_agg(0) AS steps FROM known WHERE id >= 1000) i,
	backfill.run_batch(:run, :token, NULL, '55000', 0, i.keys, i.times, i.steps) b;
SELECT failed FROM backfill.finish_run(:run, :token, 'broken', error => 'as the driver says', candidates => 55);
DELETE FROM backfill.item_failure WHERE first_window >= '2026-07-07';
CALL backfill.run('known');
SELECT * FROM runs LIMIT 2;
SELECT * FROM backfill.check_invariants();

RESET backfill.test_clock_seconds;
RESET backfill.narrate;
SELECT backfill.drop_pipeline('again'), backfill.drop_pipeline('known');
DROP SCHEMA again CASCADE;
