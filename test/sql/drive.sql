-- What a driver calls: claims, pages, batches that end in any order, and who is refused.
CREATE SCHEMA drive;
SET search_path = drive;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET client_min_messages = warning;
\set SHOW_CONTEXT never
ALTER TABLE backfill.run ALTER run_id RESTART WITH 7001;
SELECT backfill.create_roles();
CREATE FUNCTION at_time(at timestamptz) RETURNS void LANGUAGE sql AS $$
	SELECT FROM set_config('backfill.test_clock_seconds', extract(epoch FROM at)::text, false) $$;
SELECT at_time('2026-11-10 12:00+00');

CREATE TABLE item (id bigint PRIMARY KEY, arrived_at timestamptz NOT NULL DEFAULT '2026-11-10 10:00+00', body text NOT NULL DEFAULT 'a');
CREATE TABLE output (id bigint PRIMARY KEY);
INSERT INTO item SELECT generate_series(1, 20);
SELECT backfill.create_pipeline('driven', 'SELECT id, arrived_at FROM item WHERE arrived_at >= $1 AND arrived_at < $2');
SELECT backfill.add_batch_step('driven', 'make', 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM output o WHERE o.id = k)',
	$$ INSERT INTO output SELECT id / (CASE body WHEN 'poison' THEN 0 ELSE 1 END) FROM item WHERE id = ANY ($1) AND body <> 'absent' $$);
CREATE VIEW tally AS SELECT run_id, state, r.candidates AS items, changed, unchanged AS same, skipped AS skip, failed, resume_after, done_ahead, lease_token AS token
	FROM backfill.run r JOIN backfill.pipeline p USING (pipeline_id) WHERE p.name = 'driven' ORDER BY run_id;
-- One batch: items from low to high.
CREATE FUNCTION batch(run bigint, token bigint, after text, low bigint, high bigint, done bigint DEFAULT 0,
	OUT result text, OUT changed bigint, OUT unchanged bigint, OUT failed bigint, OUT attempts json) LANGUAGE sql AS $$
	SELECT b.result, b.changed, b.unchanged, b.failed, b.attempts
	FROM (SELECT array_agg(id::text ORDER BY id) AS keys, array_agg(arrived_at ORDER BY id) AS times, array_agg(0) AS steps
		FROM item WHERE id BETWEEN low AND high) i,
		backfill.run_batch(run, token, after, high::text, done, i.keys, i.times, i.steps) b $$;

CREATE ROLE drive_worker LOGIN IN ROLE backfill_worker;
CREATE ROLE drive_nobody;
GRANT USAGE ON SCHEMA drive TO drive_worker, drive_nobody;
SET ROLE drive_nobody;
SELECT * FROM backfill.claim_run();
RESET ROLE;

-- The worker touches no table, and what it drives runs as the pipeline's owner.
SELECT backfill.request_run('driven');
SET ROLE drive_worker;
SELECT count(*) FROM backfill.run;
SELECT * FROM item;
SELECT backfill.request_run('driven');
SELECT * FROM backfill.claim_run('{other}');
SELECT * FROM backfill.claim_run(lease => '0');
SELECT run_id, token, pipeline, mode, resume_after, counted, taken_over FROM backfill.claim_run();
SELECT * FROM backfill.claim_run();
SELECT * FROM backfill.run_candidates(7001, 1, NULL, 3, count => true);
SELECT * FROM backfill.run_candidates(7001, 1, '18', 3);
SELECT * FROM backfill.run_candidates(7001, 1, NULL, 0);
SELECT * FROM backfill.check_batch(7001, 1, '{1,2,3}', '{2026-11-10 10:00+00,NULL,NULL}');
SELECT result, fits, fell_back, changed, step_counts, attempts, events -> 0 ->> 'ms' IS NOT NULL AS timed, events::jsonb #- '{0,ms}' #- '{1,ms}' AS events
FROM backfill.run_batch(7001, 1, NULL, '2', 0, '{1,2}', '{2026-11-10 10:00+00,2026-11-10 10:00+00}', '{0,0}');
RESET ROLE;

-- Batches end out of order; what is ahead joins up.
SELECT * FROM tally;
SELECT * FROM batch(7001, 1, '8', 9, 10);
SELECT * FROM batch(7001, 1, '4', 5, 6);
SELECT * FROM batch(7001, 1, '6', 7, 8);
SELECT * FROM tally;
SELECT key FROM backfill.run_candidates(7001, 1, '2', 100);
-- The holder dies. The next one goes on, and counts nothing twice.
SELECT * FROM backfill.heartbeat_run(7001, 1, '30 seconds', candidates => 20);
SELECT at_time('2026-11-10 12:00:29+00');
SELECT * FROM backfill.claim_run();
SELECT at_time('2026-11-10 12:02+00');
SELECT run_id, token, resume_after, counted, taken_over FROM backfill.claim_run();
SELECT key, remaining FROM backfill.run_candidates(7001, 2, NULL, 100, count => true);
-- Who has been replaced is refused, whatever he comes with.
SELECT * FROM batch(7001, 1, '2', 3, 4);
SELECT * FROM backfill.run_candidates(7001, 1, NULL, 3);
SELECT * FROM backfill.check_batch(7001, 1, '{3}', '{NULL}');
SELECT * FROM backfill.heartbeat_run(7001, 1);
SELECT * FROM backfill.finish_run(7001, 1, 'succeeded');
SELECT backfill.release_run(7001, 1);
SELECT * FROM backfill.heartbeat_run(9999, 1);
-- A batch with a bad item costs that item; a range of done ones is counted with it.
UPDATE item SET body = 'poison' WHERE id = 13;
INSERT INTO output VALUES (3), (4);
SELECT * FROM batch(7001, 2, '2', 11, 14, done => 2);
SELECT * FROM tally;
SELECT line LIKE 'driven run=7001 item=13 step=make status=failed reason=sqlstate_22012%' AS told FROM backfill.narration(7001) WHERE line LIKE '%item=13 %';
-- Handed back, and driven to its end by a session.
SELECT backfill.release_run(7001, 2, '[["14", "15", 0]]');
SELECT * FROM tally;
SELECT * FROM backfill.heartbeat_run(7001, 2);
CALL backfill.run_requested('driven');
SELECT * FROM tally;

-- What lacked nothing is counted with a heartbeat or at the end.
SELECT backfill.request_run('driven');
SELECT run_id, token FROM backfill.claim_run();
SELECT * FROM backfill.check_batch(7002, 1, '{1,2,13}', '{NULL,NULL,NULL}');
SELECT * FROM backfill.heartbeat_run(7002, 1, candidates => 20, done => '[[null, "12", 12], ["13", "15", 2]]');
SELECT * FROM tally WHERE run_id = 7002;
SELECT * FROM batch(7002, 1, '12', 13, 13);
SELECT * FROM backfill.finish_run(7002, 1, 'over');
SELECT * FROM backfill.finish_run(7002, 1, 'succeeded', candidates => 20, done => '[["15", "20", 5]]');
SELECT * FROM tally WHERE run_id = 7002;
SELECT * FROM backfill.finish_run(7002, 1, 'succeeded');

-- A run is paused or cancelled under its driver.
SELECT backfill.request_run('driven');
SELECT run_id, token FROM backfill.claim_run();
SELECT backfill.pause_run(7003);
SELECT state FROM backfill.heartbeat_run(7003, 1);
SELECT * FROM batch(7003, 1, NULL, 1, 2);
SELECT backfill.resume_run(7003);
SELECT run_id, token FROM backfill.claim_run();
SELECT backfill.cancel_run(7003);
SELECT state FROM backfill.heartbeat_run(7003, 2);
SELECT state FROM backfill.heartbeat_run(7003, 1);

-- A live run passes replays; a pipeline has one driven run at a time; a replay hears that a live run waits.
SELECT count(*) FROM backfill.replay('driven', '2026-11-08', '2026-11-10');
SELECT run_id, token, mode FROM backfill.claim_run();
SELECT live_waits FROM backfill.heartbeat_run(7004, 1);
SELECT * FROM backfill.claim_run();
SELECT backfill.request_run('driven');
SELECT live_waits FROM backfill.heartbeat_run(7004, 1);
SELECT live_waits FROM backfill.heartbeat_run(7004, 1, pipelines => '{other}');
SELECT backfill.release_run(7004, 1);
SELECT run_id, token, mode FROM backfill.claim_run();
SELECT * FROM backfill.finish_run(7006, 1, 'failed', '58030', 'could not read');
SELECT run_id, token, mode FROM backfill.claim_run(wanted => 7005);
SELECT * FROM backfill.finish_run(7005, 1, 'broken', error => 'nearly all items fail', impure_step => 'make');
SELECT backfill.cancel_run(7004);
SELECT run_id, state, sqlstate, error FROM backfill.run_history WHERE run_id >= 7004 AND pipeline = 'driven' ORDER BY run_id;
SELECT step, status, reason, items FROM backfill.run_step_count WHERE run_id = 7005;

-- A check that writes, a batch that needs too many subtransactions, items out of order, nobody's steps.
SELECT backfill.request_run('driven');
SELECT run_id, token FROM backfill.claim_run();
INSERT INTO item SELECT i, '2026-11-10 10:00+00', CASE i % 2 WHEN 0 THEN 'poison' ELSE 'a' END FROM generate_series(301, 440) i;
SELECT * FROM batch(7007, 1, NULL, 301, 440);
SELECT * FROM backfill.run_batch(7007, 1, NULL, '1', 0, '{2,1}', '{NULL,NULL}', '{0,0}');
SELECT * FROM backfill.run_batch(7007, 1, NULL, '1', 0, '{1}', '{}', '{0}');
SELECT * FROM backfill.run_batch(7007, 1, NULL, '1', 0, '{1}', '{NULL}', '{}');
SELECT * FROM backfill.run_batch(7007, 1, NULL, '1', 0, '{one}', '{NULL}', '{0}');
SELECT * FROM backfill.run_batch(7007, 1, NULL, '1', 0, '{1}', '{NULL}', '{0}', 'some');
CREATE TABLE wrote (id bigint);
CREATE FUNCTION lacking(keys bigint[]) RETURNS SETOF bigint LANGUAGE sql AS $$ INSERT INTO wrote VALUES (1); SELECT unnest(keys) $$;
SELECT backfill.alter_step('driven', 'make', lacking => 'SELECT k FROM lacking($1) k');
SELECT * FROM backfill.check_batch(7007, 1, '{1}', '{NULL}');
SELECT result, impure_step, changed FROM backfill.run_batch(7007, 1, NULL, '1', 0, '{1}', '{NULL}', '{0}');
SELECT count(*) FROM wrote;
SELECT * FROM backfill.finish_run(7007, 1, 'cancelled');

-- More candidates than work_mem holds, which lie on disk while they are worked off.
SELECT backfill.alter_step('driven', 'make', lacking => 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM output o WHERE o.id = k)');
DELETE FROM item;
INSERT INTO item SELECT generate_series(1001, 9000);
SET work_mem = '64kB';
SET client_min_messages = error;
SET backfill.narrate = 'none';
CALL backfill.run('driven');
RESET work_mem;
DELETE FROM item WHERE id > 1100;

-- A step cannot drive.
SELECT backfill.alter_step('driven', 'make', lacking => 'SELECT unnest($1)', work => 'SELECT first_steps FROM backfill.check_batch(1, 1, $1::text[], NULL)');
SELECT backfill.request_run('driven');
SET client_min_messages = error;
CALL backfill.run_requested('driven');
SELECT DISTINCT sqlstate, message FROM backfill.step_event e WHERE run_id = 7009;

-- What the holder is told of rate and batch, and what it says of its speed, for run_progress.
SELECT backfill.request_run('driven') AS timed \gset
SELECT backfill.set_rate(:timed, 20), backfill.set_batch(:timed, 7);
SELECT run_id = :timed AS claimed, token, rate, batch_limit FROM backfill.claim_run();
SELECT candidates, work_share, eta IS NULL AS unknown FROM backfill.run_progress WHERE run_id = :timed;
-- Batches may end before anybody has said how many candidates there are; what is done is not all there is.
BEGIN;
SELECT backfill._count_batch(:timed, 1, NULL, '3', 3, 0, 0, 0, 0, 0, '[]');
SELECT candidates, done, remaining, eta IS NULL AS unknown FROM backfill.run_progress WHERE run_id = :timed;
SELECT state FROM backfill.heartbeat_run(:timed, 1, candidates => 3);
SELECT candidates, done, remaining FROM backfill.run_progress WHERE run_id = :timed;
ROLLBACK;
SELECT state, rate, batch_limit FROM backfill.heartbeat_run(:timed, 1, candidates => 1000, work_share => 0.5, check_ms => 2, work_ms => 10);
SELECT candidates, remaining, work_share, check_ms, work_ms, extract(epoch FROM eta - counted_at) AS seconds, extract(epoch FROM eta_latest - counted_at) AS most
FROM backfill.run_progress WHERE run_id = :timed;
SELECT backfill.set_rate(:timed, NULL);
SELECT rate FROM backfill.heartbeat_run(:timed, 1, candidates => 1000);
SELECT work_share, check_ms, work_ms, extract(epoch FROM eta - counted_at) AS seconds FROM backfill.run_progress WHERE run_id = :timed;

-- A live run that has lost five holders gets no sixth, and what it left is the next one's; a replay goes on.
CREATE FUNCTION lose(run bigint, upto integer) RETURNS SETOF bigint LANGUAGE plpgsql AS $$
BEGIN
	FOR n IN 1 .. upto LOOP
		PERFORM at_time(backfill._clock() + interval '2 minutes');
		RETURN QUERY SELECT c.token FROM backfill.claim_run(wanted => run) c;
	END LOOP;
END $$;
SELECT lose(:timed, 4);
SELECT at_time(backfill._clock() + interval '2 minutes');
SELECT run_id FROM backfill.claim_run('{other}');
SELECT state, lease_token FROM backfill.run WHERE run_id = :timed;
SELECT run_id FROM backfill.claim_run();
SELECT state, lease_token, finished_at = backfill._clock() AS just_now FROM backfill.run WHERE run_id = :timed;
SELECT run_id AS again FROM backfill.replay('driven', '2026-11-08', '2026-11-09') \gset
SELECT lose(:again, 6);
SELECT state, lease_token FROM backfill.run WHERE run_id = :again;
SELECT state IS NOT NULL AS ended FROM backfill.finish_run(:again, 6, 'cancelled') f, backfill.run r WHERE r.run_id = :again;

SELECT * FROM backfill.check_invariants();
SELECT backfill.drop_pipeline('driven');
DROP SCHEMA drive CASCADE;
DROP ROLE drive_worker, drive_nobody;
