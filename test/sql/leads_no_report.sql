-- Leads that became initiated and have no report yet: in each live run's tally and summary, and when the bureaus fall
-- silent an alarm. Forty thousand leads that have been stuck for long are not looked at for it.
\getenv test_folder PG_ABS_SRCDIR
\set helper :test_folder '/data/leads.psql'
\set ECHO none
\i :helper
SET backfill.narrate = 'none';
SET client_min_messages = warning;
ALTER TABLE backfill.alarm ALTER alarm_id RESTART WITH 301;
CREATE FUNCTION pg_temp.at_time(at timestamptz) RETURNS void LANGUAGE sql AS $$
	SELECT FROM set_config('backfill.test_clock_seconds', extract(epoch FROM at)::text, false) $$;
-- Each night at four, thirty leads of the day before; of so many of them a report has come, and says that there is none.
CREATE PROCEDURE pg_temp.nights(first date, count integer, reported integer) LANGUAGE plpgsql AS $$
DECLARE
	run bigint;
	tally text;
BEGIN
	FOR day IN 0..count - 1 LOOP
		INSERT INTO bt.lead (mobile, created_at, status_changed_at)
		SELECT 7900000000 + (first + day - date '2026-01-01') * 100 + n, m.at, m.at
		FROM generate_series(1, 30) n, LATERAL (SELECT (first + day - 1 + time '10:00') AT TIME ZONE 'Asia/Kolkata') m (at);
		INSERT INTO bt.credit_report (mobile, body, received_at)
		SELECT 7900000000 + (first + day - date '2026-01-01') * 100 + n, '{"result_code": 102, "message": "No record found", "result": null}', m.at
		FROM generate_series(1, reported) n, LATERAL (SELECT (first + day - 1 + time '11:00') AT TIME ZONE 'Asia/Kolkata') m (at);
		PERFORM pg_temp.at_time((first + day + time '04:00') AT TIME ZONE 'Asia/Kolkata');
		COMMIT;
		CALL backfill.run('bt_leads', run, tally);
	END LOOP;
	RAISE WARNING '%', tally;
END $$;
SELECT backfill.alter_pipeline('bt_leads', summary_to => 'slack:#lending-ops') \g /dev/null
INSERT INTO bt.lead (mobile, status, created_at, status_changed_at)
SELECT 7000000000 + n, CASE n % 2 WHEN 0 THEN 'initiated' ELSE 'no_home_loan' END, '2026-01-01', '2026-01-01' FROM generate_series(1, 40000) n;
INSERT INTO bt.credit_report (mobile, body, received_at) SELECT 7000000000 + n, 'x', '2026-01-01' FROM generate_series(1, 40000) n;
VACUUM ANALYZE bt.lead, bt.credit_report;
CREATE TEMPORARY VIEW rows_read AS SELECT relname, seq_tup_read + idx_tup_fetch AS rows FROM pg_stat_user_tables WHERE relid IN ('bt.lead'::regclass, 'bt.credit_report'::regclass);
\set ECHO all

CALL pg_temp.nights('2026-06-01', 14, reported => 27);
SELECT run_time AT TIME ZONE 'Asia/Kolkata' AS run_time, candidates, changed, skipped, reasons FROM backfill.skip_shape WHERE pipeline = 'bt_leads' ORDER BY run_id DESC LIMIT 2;
-- What a night reads is that night's inflow.
SELECT pg_stat_force_next_flush();
CREATE TEMPORARY TABLE before AS SELECT * FROM rows_read;
CALL pg_temp.nights('2026-06-15', 1, reported => 27);
SELECT pg_stat_force_next_flush();
SELECT a.relname, a.rows > b.rows AS some, a.rows - b.rows < 600 AS few FROM rows_read a JOIN before b USING (relname) ORDER BY 1;
-- The bureaus fall silent.
CALL pg_temp.nights('2026-06-16', 2, reported => 0);
CALL pg_temp.nights('2026-06-18', 1, reported => 27);
SELECT kind, subject, alarm, opened_at, closed_at FROM backfill.alarm_history WHERE pipeline = 'bt_leads';
SELECT message_type, payload ->> 'text' AS text, payload -> 'reasons' AS reasons FROM backfill.outbox WHERE pipeline = 'bt_leads' ORDER BY message_id DESC LIMIT 6;
SELECT * FROM backfill.check_invariants();

RESET backfill.test_clock_seconds;
RESET backfill.narrate;
SELECT backfill.drop_pipeline('bt_leads');
TRUNCATE backfill.emission, backfill.superseded, backfill.intervention, backfill.undelivered, backfill.delivery, backfill.message RESTART IDENTITY;
