-- What a DBA or a dashboard sees, as a member of pg_monitor.
CREATE SCHEMA stands;
SET search_path = stands;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET client_min_messages = warning;
SET backfill.narrate = 'none';
\set SHOW_CONTEXT never
ALTER TABLE backfill.run ALTER run_id RESTART WITH 910001;
ALTER TABLE backfill.alarm ALTER alarm_id RESTART WITH 910001;
SELECT backfill.create_roles();
CREATE ROLE status_dashboard IN ROLE pg_monitor;
CREATE FUNCTION at_time(at timestamptz) RETURNS void LANGUAGE sql AS $$
	SELECT FROM set_config('backfill.test_clock_seconds', extract(epoch FROM at)::text, false) $$;
CREATE TABLE item (id bigint PRIMARY KEY, arrived_at timestamptz NOT NULL);
CREATE TABLE output (id bigint PRIMARY KEY);
CREATE FUNCTION make(keys bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO output SELECT k FROM unnest(keys) k ORDER BY k;
	PERFORM backfill.emit('slack:#' || k, 'made', to_jsonb(k), key => k) FROM unnest(keys) k ORDER BY k;
END $$;
SELECT backfill.create_pipeline('stands', 'SELECT id, arrived_at FROM item WHERE arrived_at >= $1 AND arrived_at < $2');
SELECT backfill.add_batch_step('stands', 'make', 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM output o WHERE o.id = k)', 'SELECT make($1)');
CREATE VIEW status AS SELECT * FROM backfill.pipeline_status WHERE pipeline = 'stands';
GRANT USAGE ON SCHEMA stands TO status_dashboard;
GRANT SELECT ON status TO status_dashboard;

-- Before the first run.
SELECT enabled, last_run, last_change, open_runs, watermark, open_alarms, waiting, unknown, dead FROM status;
-- Four items: one is sent, one waits, one is unknown, one is refused for good; and one that was, and was discarded.
INSERT INTO item SELECT n, '2026-11-02 12:00+00' FROM generate_series(1, 5) n;
SELECT at_time('2026-11-02 20:00+00');
CALL backfill.run('stands') \gset
CREATE FUNCTION settle(n bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	claim record;
BEGIN
	FOR claim IN SELECT * FROM backfill.claim_deliveries('slack') LOOP
		CASE claim.recipient
			WHEN 'slack:#1' THEN PERFORM backfill.mark_sent(ARRAY[claim.message_id], claim.token);
			WHEN 'slack:#2' THEN PERFORM backfill.release(ARRAY[claim.message_id], claim.token, claim.lease_until);
			WHEN 'slack:#3' THEN PERFORM backfill.mark_unknown(ARRAY[claim.message_id], claim.token, 'timeout');
			ELSE PERFORM backfill.mark_failed(ARRAY[claim.message_id], claim.token, 'refused', permanent => true);
		END CASE;
	END LOOP;
	PERFORM backfill.discard(m.message_id, 'wrong channel') FROM backfill.message m WHERE m.recipient = 'slack:#5';
END $$;
SELECT settle(1);
SELECT at_time('2026-11-03 20:00+00');
CALL backfill.run('stands') \gset
SELECT backfill.set_alarm('stands', 'watermark_stuck', threshold => 1);
SELECT backfill.alter_pipeline('stands', candidates => 'SELECT id, arrived_at FROM item WHERE arrived_at >= $1 AND arrived_at < $2 AND 1 / (id - id) > 0');
INSERT INTO item VALUES (6, '2026-11-04 12:00+00');
SELECT at_time('2026-11-04 20:00+00');
CALL backfill.run('stands') \gset
SELECT at_time('2026-11-04 21:00+00');
SELECT count(backfill.request_run('stands'));

SET ROLE status_dashboard;
\x on
SELECT pipeline, owner = session_user AS mine, enabled, last_run, last_state, last_started_at, last_finished_at, last_change, last_change_at, open_runs, watermark, watermark_lag,
	held_by, schedule, next_tick, last_tick, open_alarms, waiting, oldest_waiting_at, unknown, dead FROM status;
\x off
SELECT cron IN ('no pg_cron', 'pg_cron is in database postgres', 'pg_cron is not created') AS no_cron_here FROM status;
SELECT run_id, mode, state, window_from, candidates, changed, unchanged, failed, sqlstate FROM backfill.run_history WHERE pipeline = 'stands' ORDER BY run_id;
SELECT run_id, step, status, reason, items FROM backfill.run_step_count WHERE pipeline = 'stands' ORDER BY 1, 2, 3, 4;
SELECT run_id, window_from, state, judged, candidates, changed, skipped, reasons, unusual FROM backfill.skip_shape WHERE pipeline = 'stands' ORDER BY run_id;
SELECT kind, alarm, opened_at, closed_at, opened_by_run FROM backfill.alarm_history WHERE pipeline = 'stands';
SELECT channel, pending, unknown, dead FROM backfill.channel_status;
-- Looking is all a dashboard may do.
SELECT backfill.check_health();
SELECT backfill.set_alarm('stands', 'flood', false);
SELECT backfill.accept_alarm(1, 'why not');
SELECT backfill.purge();
SELECT backfill.set_retention('stands', '1 day');
RESET ROLE;
-- An operator may accept and purge, and does not change what the owner has set.
CREATE ROLE status_operator IN ROLE backfill_operator;
SET ROLE status_operator;
SELECT kind FROM backfill.check_health('stands');
SELECT backfill.set_alarm('stands', 'flood', false);
SELECT backfill.set_retention('stands', '1 day');
SELECT count(*) FROM backfill.purge('stands');
SELECT backfill.accept_alarm(alarm_id, 'it is being mended') FROM backfill.alarm_history WHERE pipeline = 'stands';
RESET ROLE;
SELECT open_alarms FROM status;
SELECT accepted_by, accepted_for FROM backfill.alarm_history WHERE pipeline = 'stands';

-- Somebody's own schema of that name is not pg_cron's.
CREATE SCHEMA cron;
CREATE FUNCTION cron.steal() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'as %', current_user; END $$;
CREATE VIEW cron.job AS SELECT cron.steal() AS jobid, '* * * * *'::text AS schedule, true AS active, current_database()::text AS database, 'backfill.run(''stands'')'::text AS command;
SELECT schedule FROM status;
DROP SCHEMA cron CASCADE;
-- What the schedules of pg_cron mean.
SELECT s, backfill._next_tick(s, '2026-11-02 05:59:59.5') FROM unnest('{0 6 * * *,*/10 * * * *,0 6 1 * *,@weekly,@reboot,30 seconds,0 6 30 2 *,never}'::text[]) s;
SELECT backfill._next_tick('0 6 * * *', '1999-12-31 23:59:59.999999'), backfill._next_tick('0 6 * * *', 'infinity'), backfill._next_tick('* * * * *', '1969-12-31 23:58:30');
SELECT * FROM backfill.check_invariants();

RESET backfill.test_clock_seconds;
RESET backfill.narrate;
SELECT backfill.drop_pipeline('stands');
DROP ROLE status_operator;
TRUNCATE backfill.emission, backfill.superseded, backfill.intervention, backfill.undelivered, backfill.delivery, backfill.message RESTART IDENTITY;
DROP SCHEMA stands CASCADE;
DROP ROLE status_dashboard;
