-- Slowing runs down, and how far they are. How a run that goes on minds it is in test/t/031_control.pl.
CREATE SCHEMA control;
SET search_path = control;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET client_min_messages = warning;
SET backfill.narrate = 'none';
\set SHOW_CONTEXT never
SELECT backfill.create_roles();
SELECT set_config('backfill.test_clock_seconds', extract(epoch FROM '2026-11-03 10:00+00'::timestamptz)::text, false) IS NOT NULL AS at_ten;
CREATE TABLE item (id bigint PRIMARY KEY, arrived_at timestamptz NOT NULL);
CREATE TABLE output (id bigint PRIMARY KEY, batch xid8 NOT NULL);
INSERT INTO item SELECT n, '2026-11-03 09:00+00' FROM generate_series(1, 30) n;
SELECT backfill.create_pipeline('slow', 'SELECT id, arrived_at FROM item WHERE arrived_at >= $1 AND arrived_at < $2', rate => 1000);
SELECT backfill.add_batch_step('slow', 'make', 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM output o WHERE o.id = k)',
	'INSERT INTO output SELECT k, pg_current_xact_id() FROM unnest($1) k');
ALTER TABLE backfill.run ALTER run_id RESTART WITH 8001;

-- A run begins with the pipeline's rate, and so do the runs of a replay.
SELECT backfill.request_run('slow');
SELECT count(*) FROM backfill.replay('slow', '2026-11-02', '2026-11-04');
SELECT run_id, mode, state, candidates, done, remaining, rate, batch_limit, work_share, eta, eta_latest FROM backfill.run_progress ORDER BY run_id;
SELECT backfill.set_rate(8001, NULL), backfill.set_batch(8001, 8), backfill.set_rate(8003, 2.5), backfill.set_batch(8003, 1);
SELECT run_id, rate, batch_limit FROM backfill.run_progress ORDER BY run_id;
-- Batches are no larger than the limit, nor than a second's share.
CALL backfill.run_requested('slow');
SELECT count(*) AS batches, max(c.items) AS largest FROM (SELECT count(*) AS items FROM output GROUP BY batch) c;
SELECT count(*) FROM backfill.run_progress;

-- What cannot be.
SELECT backfill.set_rate(8001, 1);
SELECT backfill.set_batch(8001, 1);
SELECT backfill.set_rate(9999, 1);
SELECT backfill.set_batch(9999, 1);
SELECT backfill.request_run('slow');
SELECT backfill.set_rate(8004, 0);
SELECT backfill.set_rate(8004, -3);
SELECT backfill.set_rate(8004, 'Infinity');
SELECT backfill.set_rate(8004, 1e-300);
SELECT backfill.set_rate(8004, 0.0000099);
SELECT backfill.alter_pipeline('slow', rate => 1e-300);
SELECT backfill.set_batch(8004, 0);
SELECT backfill.set_batch(8004, 257);
-- Whose it is.
CREATE ROLE control_other;
CREATE ROLE control_operator IN ROLE backfill_operator;
SET ROLE control_other;
SELECT backfill.set_rate(8004, 5);
RESET ROLE;
GRANT EXECUTE ON FUNCTION backfill.set_rate, backfill.set_batch TO control_other;
SET ROLE control_other;
SELECT backfill.set_rate(8004, 5);
SELECT backfill.set_batch(8004, 5);
SELECT count(*) FROM backfill.run_progress;
SET ROLE control_operator;
SELECT backfill.set_rate(8004, 5), backfill.set_batch(8004, 5);
SELECT run_id, rate, batch_limit FROM backfill.run_progress;
RESET ROLE;

-- When it will be done. A look takes 0.1 ms, work 10 ms; of the latest items one in ten needed work: of 10,000 that are left
-- a tenth does, which is 11 seconds; if all did, 101.
CREATE FUNCTION as_it_runs(share float8, look_ms float8, work_ms float8, items_per_second float8 DEFAULT NULL) RETURNS TABLE (eta interval, eta_latest interval)
	LANGUAGE plpgsql AS $$
BEGIN
	UPDATE backfill.run r SET state = 'running', lease_token = 1, lease_until = '2026-11-03 10:10+00', started_at = '2026-11-03 10:00+00', counted_at = '2026-11-03 10:00+00',
		candidates = 20000, unchanged = 9000, changed = 1000, work_share = share, check_ms = look_ms, work_ms = as_it_runs.work_ms, rate = items_per_second
	WHERE r.run_id = 8004;
	RETURN QUERY SELECT p.eta - '2026-11-03 10:00+00'::timestamptz, p.eta_latest - '2026-11-03 10:00+00'::timestamptz FROM backfill.run_progress p;
END $$;
SELECT * FROM as_it_runs(0.1, 0.1, 10);
-- Half as fast as it could: 20 ms an item that needs work.
SELECT * FROM as_it_runs(0.1, 0.1, 10, 50);
-- Nothing has needed work so far: the rest may be as quick, or nobody knows.
SELECT * FROM as_it_runs(0, 0.1, NULL);
-- Something does, and nothing is done yet: not known.
SELECT * FROM as_it_runs(0.1, 0.1, NULL);
SELECT * FROM as_it_runs(NULL, NULL, NULL);
-- It will be done after the end of all calendars: not known, and no error for who looks.
SELECT * FROM as_it_runs(1, 0.1, 10, 0.00001);
SELECT * FROM as_it_runs(0.1, 0.1, 1e300);
-- Never in the past, however long the counts have been silent.
SELECT * FROM as_it_runs(0.1, 0.1, 10);
SELECT set_config('backfill.test_clock_seconds', extract(epoch FROM '2026-11-03 10:01+00'::timestamptz)::text, false) IS NOT NULL AS a_minute_later;
SELECT candidates, done, remaining, changed, unchanged, counted_at, eta, eta_latest FROM backfill.run_progress;
-- Paused, it will not be done.
SELECT backfill.pause_run(8004);
SELECT state, remaining, eta, eta_latest FROM backfill.run_progress;
SELECT backfill.cancel_run(8004);
SELECT count(*) FROM backfill.run_progress;

-- A run whose driver crashed is taken up again, and not for ever.
SELECT backfill.request_run('slow') AS run \gset
UPDATE backfill.run SET state = 'running', started_at = '2026-11-03 09:00+00', lease_token = 4, lease_until = '2026-11-03 09:10+00' WHERE run_id = :run;
CALL backfill.run_requested('slow');
SELECT state, lease_token FROM backfill.run WHERE run_id = :run;
SELECT backfill.request_run('slow') AS run \gset
UPDATE backfill.run SET state = 'running', started_at = '2026-11-03 09:00+00', lease_token = 5, lease_until = '2026-11-03 09:10+00' WHERE run_id = :run;
CALL backfill.run_requested('slow');
SELECT state, lease_token FROM backfill.run WHERE run_id = :run;

SELECT * FROM backfill.check_invariants();
SELECT backfill.drop_pipeline('slow');
RESET backfill.test_clock_seconds;
DROP SCHEMA control CASCADE;
REVOKE ALL ON FUNCTION backfill.set_rate, backfill.set_batch FROM control_other;
DROP ROLE control_other, control_operator;
