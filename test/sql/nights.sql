-- Nights that would lose rows to a window of the last 24 hours. Beside the pipeline runs what people write first: a job
-- that works on whatever is stamped now() - 24 hours, at the same moments and failing in the same nights.
CREATE SCHEMA nights;
SET search_path = nights;
SET timezone = 'Pacific/Auckland'; -- has no part in it
SET client_min_messages = warning;
SET backfill.narrate = 'none';
\set SHOW_CONTEXT never
CREATE TABLE item (id text PRIMARY KEY, arrived_at timestamptz NOT NULL);
CREATE TABLE output (id text PRIMARY KEY);
CREATE TABLE naive (id text PRIMARY KEY);
CREATE TABLE trouble (id text PRIMARY KEY);
CREATE FUNCTION make(keys text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT FROM trouble t WHERE t.id = ANY (keys)) THEN
		RAISE EXCEPTION 'cannot be made tonight' USING ERRCODE = 'lock_not_available';
	END IF;
	INSERT INTO output SELECT unnest(keys);
END $$;
CREATE FUNCTION at_time(at timestamptz) RETURNS void LANGUAGE sql AS $$
	SELECT FROM set_config('backfill.test_clock_seconds', extract(epoch FROM at)::text, false) $$;
-- Starts a story on a clean table.
CREATE FUNCTION story(catch_up text DEFAULT 'coalesce', timezone text DEFAULT 'Europe/Berlin', max_catchup interval DEFAULT '7 days', slot text DEFAULT 'day')
	RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	TRUNCATE item, output, naive, trouble;
	DELETE FROM backfill.pipeline WHERE name = 'night';
	PERFORM backfill.create_pipeline('night', 'SELECT id, arrived_at FROM nights.item WHERE arrived_at >= $1 AND arrived_at < $2', 'text',
		timezone => timezone, catch_up => catch_up, max_catchup => max_catchup, slot => slot);
	PERFORM backfill.add_batch_step('night', 'make', 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM nights.output o WHERE o.id = k)', 'SELECT nights.make($1)');
	ALTER TABLE backfill.run ALTER run_id RESTART WITH 7001;
	ALTER TABLE backfill.alarm ALTER alarm_id RESTART WITH 701;
END $$;
-- A night: both jobs at a moment, or in a bad one the pipeline's only.
CREATE PROCEDURE night(at timestamptz, is_bad boolean DEFAULT false) LANGUAGE plpgsql AS $$
DECLARE
	id bigint;
	tally text;
BEGIN
	PERFORM nights.at_time(at);
	INSERT INTO nights.naive SELECT i.id FROM nights.item i
	WHERE NOT is_bad AND i.arrived_at >= at - interval '24 hours' AND i.arrived_at < at AND NOT EXISTS (SELECT FROM nights.trouble t WHERE t.id = i.id) ON CONFLICT DO NOTHING;
	CALL backfill.run('night', id, tally);
	RAISE INFO '%', tally;
END $$;
CREATE VIEW lost AS SELECT (SELECT string_agg(i.id, ', ' ORDER BY i.id) FROM item i WHERE NOT EXISTS (SELECT FROM naive n WHERE n.id = i.id)) AS naive,
	(SELECT string_agg(i.id, ', ' ORDER BY i.id) FROM item i WHERE NOT EXISTS (SELECT FROM output o WHERE o.id = i.id)) AS pipeline;
CREATE VIEW run AS SELECT run_id, r.state, r.window_from AT TIME ZONE p.timezone AS slot, r.scan_from AT TIME ZONE p.timezone AS scan_from, r.scan_to AT TIME ZONE p.timezone AS scan_to,
		r.left_out_from AT TIME ZONE p.timezone AS left_out_from, r.candidates AS items, r.changed
	FROM backfill.run r JOIN backfill.pipeline p USING (pipeline_id) WHERE p.name = 'night' ORDER BY r.run_id;

-- The second run starts seven seconds later than the first one did, the third five seconds earlier.
SELECT story();
CALL night('2026-11-03 06:00:05+01');
INSERT INTO item VALUES ('after the first tick', '2026-11-03 06:00:08+01'), ('before the second', '2026-11-04 05:59+01');
CALL night('2026-11-04 06:00:12+01');
CALL night('2026-11-05 06:00:07+01');
SELECT * FROM lost;
SELECT * FROM run;

-- Committed after the run, stamped before it by a clock that is a little behind.
SELECT story();
CALL night('2026-11-03 06:00+01');
INSERT INTO item VALUES ('stamped by a clock behind', '2026-11-03 05:59:30+01');
CALL night('2026-11-04 06:00+01');
SELECT * FROM lost;
-- Further behind than it is told is lost to both; a pipeline that expects it looks further back.
INSERT INTO item VALUES ('twenty minutes behind', '2026-11-04 05:40+01');
CALL night('2026-11-05 06:00+01');
SELECT * FROM lost;
SELECT story();
SELECT backfill.alter_pipeline('night', clock_skew => '30 minutes');
CALL night('2026-11-04 06:00+01');
INSERT INTO item VALUES ('twenty minutes behind', '2026-11-04 05:40+01');
CALL night('2026-11-05 06:00+01');
SELECT * FROM lost;

-- Stamped by a clock ahead: taken when its time has come, once, and looked at no more than anything else is. A window
-- without an end takes it up in each night until then.
SELECT story();
CALL night('2026-11-03 06:00+01');
INSERT INTO item VALUES ('ahead', '2026-11-05 09:00+01');
CALL night('2026-11-04 06:00+01');
CALL night('2026-11-05 06:00+01');
CALL night('2026-11-06 06:00+01');
CALL night('2026-11-07 06:00+01');
SELECT count(*) AS taken_up FROM generate_series('2026-11-03 06:00+01'::timestamptz, '2026-11-07 06:00+01', '1 day') night, item i
WHERE i.arrived_at >= night - interval '24 hours';
SELECT * FROM lost;
SELECT * FROM run;

-- The server was down over two ticks.
SELECT story();
CALL night('2026-11-02 06:00+01');
INSERT INTO item VALUES ('monday', '2026-11-02 10:00+01'), ('tuesday', '2026-11-03 10:00+01'), ('wednesday', '2026-11-04 10:00+01');
CALL night('2026-11-05 06:00+01');
SELECT * FROM lost;
SELECT * FROM run;

-- For longer than it catches up: what lies beyond is named in the run's row, in its summary and to who calls it, and a replay gets it.
SELECT story(max_catchup => '2 days');
SELECT backfill.alter_pipeline('night', summary_to => 'slack:#ops');
CALL night('2026-11-02 06:00+01');
INSERT INTO item VALUES ('monday', '2026-11-02 10:00+01'), ('tuesday', '2026-11-03 10:00+01'), ('wednesday', '2026-11-04 10:00+01');
CALL night('2026-11-05 06:00+01');
SELECT * FROM lost;
SELECT * FROM run;
SELECT left_out_from, scan_from FROM backfill.run_history WHERE pipeline = 'night' AND left_out_from IS NOT NULL;
SELECT payload -> 'left_out_from' AS left_out_from, payload -> 'left_out_to' AS left_out_to FROM backfill.message WHERE pipeline = 'night';
SELECT count(*) FROM backfill.replay('night', '2026-11-02', '2026-11-04');
CALL backfill.run_requested('night');
SELECT * FROM lost;
-- Named once: the next night knows nothing of it.
CALL night('2026-11-06 06:00+01');
SELECT run_id, left_out_from FROM run ORDER BY run_id DESC LIMIT 1;

-- A night that failed as a whole.
SELECT story();
CALL night('2026-11-02 06:00+01');
INSERT INTO item VALUES ('in the night that fails', '2026-11-02 10:00+01');
SELECT backfill.alter_pipeline('night', candidates => 'SELECT id, arrived_at FROM nights.item WHERE arrived_at >= $1 AND arrived_at < $2 AND 1 / (length(id) - 23) > 0');
CALL night('2026-11-03 06:00+01', is_bad => true);
SELECT backfill.alter_pipeline('night', candidates => 'SELECT id, arrived_at FROM nights.item WHERE arrived_at >= $1 AND arrived_at < $2');
CALL night('2026-11-04 06:00+01');
SELECT * FROM lost;
SELECT run_id, state, scan_from, items, changed FROM run;

-- Items that failed in a night that succeeded: asked for every night until they can be made, or are gone.
SELECT story();
CALL night('2026-11-02 06:00+01');
INSERT INTO item VALUES ('locked', '2026-11-02 10:00+01'), ('locked for long', '2026-11-02 10:00:00.5+01'), ('free', '2026-11-02 10:00+01'), ('goes away', '2026-11-02 11:00+01');
INSERT INTO trouble SELECT id FROM item WHERE id <> 'free';
CALL night('2026-11-03 06:00+01');
DELETE FROM trouble WHERE id = 'locked';
DELETE FROM item WHERE id = 'goes away';
CALL night('2026-11-04 06:00+01');
CALL night('2026-11-05 06:00+01');
SELECT item, windows FROM backfill.item_failure f JOIN backfill.pipeline p USING (pipeline_id) WHERE p.name = 'night';
DELETE FROM trouble;
CALL night('2026-11-10 06:00+01');
CALL night('2026-11-11 06:00+01');
SELECT * FROM lost;
SELECT run_id, state, scan_from, items, changed FROM run;
-- Where the candidate query does not say when, they are asked for in the range that they came up in.
SELECT story();
SELECT backfill.alter_pipeline('night', candidates => 'SELECT id FROM nights.item WHERE arrived_at >= $1 AND arrived_at < $2');
INSERT INTO item VALUES ('locked', '2026-11-02 10:00+01'), ('free', '2026-11-02 10:00+01');
INSERT INTO trouble VALUES ('locked');
CALL night('2026-11-03 06:00+01');
CALL night('2026-11-04 06:00+01');
DELETE FROM trouble;
CALL night('2026-11-05 06:00+01');
SELECT * FROM lost;

-- Days of 25 and of 23 hours, at six by the wall.
SELECT story();
CALL night('2026-10-24 06:00+02');
INSERT INTO item VALUES ('in the long day', '2026-10-24 06:30+02');
CALL night('2026-10-25 06:00+01');
SELECT * FROM lost;
SELECT r.scan_to - r.scan_from AS hours FROM backfill.run r WHERE run_id = 7002;
SELECT story();
CALL night('2026-03-28 06:00+01');
INSERT INTO item VALUES ('in the short day', '2026-03-28 06:30+01');
CALL night('2026-03-29 06:00+02');
SELECT * FROM lost;
SELECT r.scan_to - r.scan_from AS hours FROM backfill.run r WHERE run_id = 7002;
-- A lookback and a bound of days are days of the pipeline's calendar, whatever the session's.
SELECT story(max_catchup => '1 day');
SELECT backfill.alter_pipeline('night', lookback => '1 day');
CALL night('2026-10-20 06:00+02');
CALL night('2026-10-25 06:00+01');
SELECT scan_from, scan_to, left_out_from FROM run WHERE run_id = 7002;
SELECT story();
SELECT backfill.alter_pipeline('night', lookback => '1 day');
CALL night('2026-10-25 06:00+01');
SELECT scan_from, scan_to FROM run;

-- The server's clock ran ahead by three days and was put back; then a tick was missed.
SELECT story();
CALL night('2026-11-02 06:00+01');
INSERT INTO item VALUES ('before the jump', '2026-11-02 10:00+01');
CALL night('2026-11-06 06:00+01');
INSERT INTO item VALUES ('stamped while ahead', '2026-11-06 07:00+01'), ('after it was put back', '2026-11-03 08:00+01');
CALL night('2026-11-05 06:00+01');
SELECT * FROM lost;
CALL night('2026-11-06 06:00+01');
CALL night('2026-11-07 06:00+01');
SELECT * FROM lost;
SELECT * FROM run;
-- With no run to remember, as far as it catches up. And a run that crashed while the clock was ahead holds nothing up.
UPDATE backfill.pipeline SET watermark = '2026-12-01' WHERE name = 'night';
DELETE FROM backfill.run;
CALL night('2026-11-08 06:00+01');
SELECT scan_from, left_out_from FROM run;
UPDATE backfill.run SET state = 'running', lease_token = 1, lease_until = '2026-12-01', finished_at = NULL;
SELECT backfill._is_live_going(pipeline_id) FROM backfill.pipeline WHERE name = 'night';
CALL night('2026-11-08 06:00+01');
SELECT run_id, state FROM run;

-- A run for each missed slot, oldest first. A night that comes as it should is one run; so is the second of a day.
SELECT story('each');
CALL night('2026-11-02 06:00+01');
INSERT INTO item VALUES ('monday', '2026-11-02 10:00+01');
CALL night('2026-11-03 06:00+01');
CALL night('2026-11-03 18:00+01');
INSERT INTO item VALUES ('tuesday', '2026-11-03 20:00+01'), ('wednesday', '2026-11-04 10:00+01'), ('thursday', '2026-11-05 10:00+01'), ('friday', '2026-11-06 05:00+01');
CALL night('2026-11-06 06:00+01');
SELECT * FROM lost;
SELECT * FROM run;
-- Requested, it is a run at a time as well, and a second request joins what waits. Longer than it catches up: as many slots as it does.
SELECT story('each', max_catchup => '2 days');
CALL night('2026-11-02 06:00+01');
INSERT INTO item VALUES ('monday', '2026-11-02 10:00+01'), ('tuesday', '2026-11-03 05:00+01'), ('tuesday noon', '2026-11-03 12:00+01'), ('wednesday', '2026-11-04 12:00+01');
SELECT at_time('2026-11-05 06:00+01');
SELECT backfill.request_run('night') = backfill.request_run('night') AS joined;
CALL backfill.run_requested('night');
SELECT * FROM run;
SELECT * FROM lost;
-- A transaction that holds the watermark back makes no slot missed twice.
UPDATE backfill.pipeline SET watermark = '2026-11-03 05:00+01' WHERE name = 'night';
CALL night('2026-11-05 07:00+01');
SELECT count(*) FROM run;
-- A slot that fails is tried again, and nothing passes it.
SELECT story('each');
CALL night('2026-11-02 06:00+01');
INSERT INTO item VALUES ('tuesday', '2026-11-03 10:00+01'), ('wednesday', '2026-11-04 10:00+01');
SELECT backfill.alter_pipeline('night', candidates => 'SELECT id, arrived_at FROM nights.item WHERE arrived_at >= $1 AND arrived_at < $2 AND 1 / (length(id) - 7) > 0');
CALL night('2026-11-05 06:00+01', is_bad => true);
SELECT run_id, state, slot, items FROM run;
SELECT backfill.alter_pipeline('night', candidates => 'SELECT id, arrived_at FROM nights.item WHERE arrived_at >= $1 AND arrived_at < $2');
CALL night('2026-11-05 07:00+01');
SELECT run_id, state, slot, items FROM run;
SELECT * FROM lost;
-- Days that are not 24 hours, and hours.
SELECT story('each');
CALL night('2026-10-23 06:00+02');
CALL night('2026-10-27 06:00+01');
SELECT r.window_from AT TIME ZONE 'Europe/Berlin' AS slot, r.window_to - r.window_from AS hours, r.catches_up FROM backfill.run r ORDER BY run_id;
SELECT story('each', slot => 'hour');
CALL night('2026-10-25 00:30+02');
CALL night('2026-10-25 04:30+01');
SELECT count(*) AS hours_missed FROM backfill.run WHERE catches_up;
-- A rehearsal tries everything at once, from the watermark on.
SELECT story('each');
CALL night('2026-11-02 06:00+01');
INSERT INTO item VALUES ('tuesday', '2026-11-03 10:00+01'), ('wednesday', '2026-11-04 10:00+01');
SELECT at_time('2026-11-05 06:00+01');
SELECT * FROM backfill.rehearse('night');

-- Settings that no run could use.
SELECT backfill.alter_pipeline('night', catch_up => 'never');
SELECT backfill.alter_pipeline('night', clock_skew => '-1 minute');
SELECT backfill.alter_pipeline('night', clock_skew => '25 hours');
SELECT backfill.alter_pipeline('night', rate => -1);
SELECT backfill.alter_pipeline('night', rate => 'NaN');
SELECT backfill.alter_pipeline('night', rate => 20);
SELECT rate FROM backfill.pipeline WHERE name = 'night';
SELECT backfill.alter_pipeline('night', rate => 0);
SELECT rate FROM backfill.pipeline WHERE name = 'night';

SELECT * FROM backfill.check_invariants();
SELECT backfill.drop_pipeline('night');
RESET backfill.test_clock_seconds;
DROP SCHEMA nights CASCADE;
TRUNCATE backfill.emission, backfill.superseded, backfill.intervention, backfill.undelivered, backfill.delivery, backfill.message RESTART IDENTITY;
