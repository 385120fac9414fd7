-- The doctor: each sickness is found, the statement given mends it, and then the check is well. What concerns the whole
-- server is in test/t/030_doctor.pl.
CREATE SCHEMA doctor;
SET search_path = doctor;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET client_min_messages = warning;
SET backfill.narrate = 'none';
\set SHOW_CONTEXT never
CREATE FUNCTION at_time(at timestamptz) RETURNS void LANGUAGE sql AS $$
	SELECT FROM set_config('backfill.test_clock_seconds', extract(epoch FROM at)::text, false) $$;
SELECT at_time('2026-11-03 10:00+00');
CREATE VIEW sick AS SELECT "check", status, detail, hint FROM backfill.doctor() WHERE status <> 'ok' AND "check" NOT IN ('pg_cron', 'roles', 'old_transactions');
CREATE TABLE item (id bigint PRIMARY KEY, arrived_at timestamptz NOT NULL DEFAULT now(), body text);
CREATE TABLE output (item_id bigint, body text);
SELECT * FROM sick;

-- Every check has its line, whatever it says.
SELECT string_agg(DISTINCT "check", ' ' ORDER BY "check") FROM backfill.doctor();

\echo ## pipelines
SELECT backfill.create_pipeline('ill', 'SELECT id, arrived_at FROM item WHERE arrived_at >= $1 AND arrived_at < $2');
UPDATE backfill.pipeline SET created_at = '2026-11-03 09:00+00';
SELECT * FROM sick;
SELECT backfill.add_batch_step('ill', 'make', 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM output o WHERE o.item_id = k)',
	'INSERT INTO output SELECT id, body FROM item WHERE id = ANY ($1)');
SELECT backfill.disable_pipeline('ill');
SELECT * FROM sick;
SELECT hint AS mend FROM sick \gset
:mend
SELECT * FROM sick;

\echo ## time zones
UPDATE backfill.pipeline SET timezone = 'IST' WHERE name = 'ill';
SELECT * FROM sick;
SELECT hint AS mend FROM sick \gset
:mend
SELECT * FROM sick;
SELECT backfill.alter_pipeline('ill', timezone => 'UTC+5');
SELECT "check", detail FROM sick;
SELECT backfill.alter_pipeline('ill', timezone => 'UTC');

\echo ## commands: the owner is gone, lacks a privilege, or the table is
UPDATE backfill.pipeline SET owner = 'doctor_gone' WHERE name = 'ill';
SELECT "check", status, detail, replace(hint, quote_literal(current_user), 'me') FROM sick;
SELECT hint AS mend FROM sick \gset
:mend
SELECT * FROM sick;
CREATE ROLE doctor_owner;
UPDATE backfill.pipeline SET owner = 'doctor_owner' WHERE name = 'ill';
SELECT * FROM sick;
SELECT string_agg(DISTINCT hint, ' ') AS mend FROM sick \gset
:mend
SELECT * FROM sick;
SELECT string_agg(DISTINCT hint, ' ') AS mend FROM sick \gset
:mend
SELECT * FROM sick;
REVOKE INSERT ON output FROM doctor_owner;
SELECT * FROM sick;
SELECT hint AS mend FROM sick \gset
:mend
ALTER TABLE output RENAME TO away;
SELECT * FROM sick;
ALTER TABLE away RENAME TO output;

\echo ## indexes
INSERT INTO item SELECT n, '2026-10-01'::timestamptz + n * interval '10 second', repeat('x', 400) FROM generate_series(1, 25000) n;
SELECT "check", status, regexp_replace(detail, '\d+ \w+\)', 'size)') AS detail, hint FROM sick;
SELECT replace(hint, 'CONCURRENTLY ', '') AS mend FROM sick \gset
:mend
SELECT * FROM sick;
INSERT INTO output SELECT id, body FROM item;
SELECT "check", status, regexp_replace(detail, '\d+ \w+\)', 'size)') AS detail, hint FROM sick;
SELECT replace(hint, 'CONCURRENTLY ', '') AS mend FROM sick \gset
:mend
SELECT * FROM sick;
SELECT backfill.alter_step('ill', 'make', lacking => 'SELECT i.id FROM item i LEFT JOIN output o ON o.item_id = i.id AND o.body = i.body WHERE i.id = ANY ($1) AND o.item_id IS NULL');
SELECT * FROM sick;
SELECT backfill.create_pipeline('leads_like', 'SELECT id FROM item WHERE $1 < $2 AND body = ''y''');
SELECT backfill.add_step('leads_like', 'make', 'SELECT true FROM output o WHERE o.body = $1::text', 'SELECT $1');
UPDATE backfill.pipeline SET created_at = '2026-11-03 09:00+00';
SELECT "check", status, regexp_replace(detail, '\d+ \w+\)', 'size)') AS detail, hint FROM sick;
SELECT backfill.drop_pipeline('leads_like');

\echo ## runs
ALTER TABLE backfill.run ALTER run_id RESTART WITH 7001;
ALTER TABLE backfill.alarm ALTER alarm_id RESTART WITH 930001;
TRUNCATE item, output;
SELECT at_time('2026-11-05 12:00+00');
SELECT * FROM sick;
SELECT hint AS mend FROM sick WHERE "check" = 'overdue' \gset
:mend
SELECT * FROM sick;
SELECT at_time('2026-11-06 12:00+00');
CALL backfill.run('ill') \g /dev/null
SELECT at_time('2026-11-07 12:00+00');
CALL backfill.run('ill') \g /dev/null
-- Overdue is what the alarm of that name says: three runs are no habit.
SELECT at_time('2026-11-09 12:15+00');
SELECT * FROM sick;
INSERT INTO backfill.run_shape (pipeline_id, run_id, window_from, run_time, data_at, state, judged, watermark_moved, candidates, changed, unchanged, skipped, failed, reasons)
SELECT p.pipeline_id, -n, d, d + interval '11 hours', d, 'succeeded', true, true, 0, 0, 0, 0, 0, '{}'
FROM backfill.pipeline p, generate_series(1, 10) n, LATERAL (SELECT '2026-11-05 00:00+00'::timestamptz - n * interval '1 day') d (d) WHERE p.name = 'ill' AND extract(isodow FROM d) < 6;
SELECT at_time('2026-11-09 12:10+00');
SELECT * FROM sick;
SELECT at_time('2026-11-09 12:15+00');
SELECT * FROM sick;
SELECT * FROM backfill.check_health('ill');
SELECT hint AS mend FROM sick WHERE "check" = 'overdue' \gset
:mend
SELECT * FROM sick;
\echo # too far back
UPDATE backfill.pipeline SET watermark = '2026-10-20 09:00+00' WHERE name = 'ill';
CALL backfill.run('ill') \g /dev/null
SELECT "check", status, detail, hint FROM sick;
-- A replay of it that somebody cancelled has not looked at it either.
SELECT count(*) AS slots FROM backfill.replay('ill', '2026-10-20', '2026-11-03');
SELECT backfill.cancel_replay(max(replay_id)) FROM backfill.replay;
SELECT "check", status FROM sick;
SELECT replace(hint, '*', 'count(*)') AS mend FROM sick \gset
:mend
SELECT * FROM sick;
\echo # silent, and waiting
SELECT backfill.request_run('ill') AS run \gset
SELECT at_time('2026-11-09 14:00+00');
SELECT * FROM sick;
UPDATE backfill.run SET state = 'running', started_at = '2026-11-09 12:15+00', lease_until = '2026-11-09 12:25+00', lease_token = 1 WHERE run_id = :run;
SELECT * FROM sick;
SELECT hint AS mend FROM sick \gset
:mend
SELECT * FROM sick;
CALL backfill.run('ill') \g /dev/null
SELECT * FROM sick;
\echo # cancelled again and again
SELECT backfill.cancel_run(backfill.request_run('ill'));
SELECT * FROM sick;
SELECT backfill.cancel_run(backfill.request_run('ill'));
SELECT * FROM sick;
SELECT backfill.cancel_run(backfill.request_run('ill'));
SELECT detail FROM sick;
SELECT hint AS mend FROM sick \gset
:mend
SELECT * FROM sick;
\echo # poisoned
INSERT INTO backfill.item_failure SELECT pipeline_id, '17', 4, '2026-11-01', '2026-11-09' FROM backfill.pipeline WHERE name = 'ill';
SELECT * FROM sick;
SELECT hint AS mend FROM sick \gset
:mend
DELETE FROM backfill.item_failure;
\echo # held back by a transaction that is not there any more
UPDATE backfill.pipeline SET watermark = '2026-11-05' WHERE name = 'ill';
UPDATE backfill.run SET held_by = 'transaction of process 4711, 02:00:00 old' WHERE run_id = (SELECT max(run_id) FROM backfill.run);
SELECT * FROM sick;
UPDATE backfill.run SET held_by = 'prepared transaction ''moving'' of 2026-11-05 10:00:00+00' WHERE run_id = (SELECT max(run_id) FROM backfill.run);
SELECT * FROM sick;
UPDATE backfill.run SET held_by = NULL;
\echo # it does not move, as its alarm says
SELECT * FROM sick;
UPDATE backfill.run_shape SET watermark_moved = false WHERE run_id > 0;
SELECT * FROM sick;
SELECT backfill.set_alarm('ill', 'watermark_stuck', threshold => 5);
SELECT * FROM sick;
UPDATE backfill.run_shape SET watermark_moved = true;
UPDATE backfill.pipeline SET watermark = '2026-11-09' WHERE name = 'ill';

\echo ## outbox
SELECT backfill.create_pipeline('tells', 'SELECT id, arrived_at FROM item WHERE arrived_at >= $1 AND arrived_at < $2');
SELECT backfill.add_step('tells', 'tell', $$ SELECT EXISTS (SELECT FROM backfill.message m WHERE m.item = $1::text) $$, $$ SELECT backfill.emit('email:u' || $1 || '@example.com', 'hello', '{}') $$);
INSERT INTO item SELECT n, '2026-11-09 13:00+00' FROM generate_series(1, 3) n;
CALL backfill.run('tells') \g /dev/null
SELECT * FROM sick;
SELECT at_time('2026-11-09 14:30+00');
SELECT * FROM sick;
-- Not while somebody is at others of the channel.
BEGIN;
SELECT count(*) FROM backfill.claim_deliveries('smtp', 1, '1 minute');
SELECT * FROM sick;
ROLLBACK;
CREATE VIEW claim AS SELECT * FROM backfill.claim_deliveries('smtp', lease => '1 minute');
SELECT count(*), min(token) AS token, min(message_id) AS a, min(message_id) + 1 AS b, max(message_id) AS c FROM claim \gset
SELECT * FROM sick;
SELECT backfill.mark_unknown(ARRAY[:a::bigint], :token, 'timeout'), backfill.mark_failed(ARRAY[:b::bigint], :token, 'refused', permanent => true);
SELECT at_time('2026-11-09 15:00+00');
SELECT "check", status, detail, regexp_replace(hint, '\d+', 'ID') AS hint FROM sick;
SELECT replace(hint, '...', 'seen in the log of the provider') AS mend FROM sick WHERE detail LIKE '%unknown%' \gset
:mend
SELECT replace(hint, '...', 'address mended') AS mend FROM sick WHERE detail LIKE '%dead%' \gset
:mend
SELECT backfill.discard(:c, 'not needed');
SELECT backfill.discard(:b, 'not needed');
SELECT * FROM sick;
ALTER TABLE backfill.undelivered SET (autovacuum_enabled = off);
SELECT * FROM sick;
BEGIN;
INSERT INTO backfill.message (pipeline, recipient, window_from, window_to, message_type, receiver_key, deliver_until, channel, payload, content_hash, run_id, created_at)
SELECT 'tells', 'email:x' || n || '@example.com', '2026-11-09', '2026-11-10', 'hello', backfill._receiver_key('tells', 'x', '2026-11-09', '2026-11-10', 'hello', n), now(), 'smtp', '{}', '', 0, now() FROM generate_series(1, 11000) n;
INSERT INTO backfill.undelivered SELECT message_id, channel, now(), now() FROM backfill.message WHERE recipient LIKE 'email:x%';
ROLLBACK;
SELECT pg_stat_force_next_flush();
SELECT "check", status, regexp_replace(detail, '11\d\d\d', 'very many') AS detail, hint FROM sick;
SELECT hint AS reset FROM sick WHERE hint LIKE '%RESET%' \gset
SELECT hint AS vacuum FROM sick WHERE hint LIKE '%VACUUM backfill.undelivered%' \gset
:reset
:vacuum
VACUUM backfill.message;
SELECT pg_stat_force_next_flush();
SELECT * FROM sick;

\echo ## settings
ALTER DATABASE :DBNAME SET track_counts = off;
\c
SET search_path = doctor;
SET client_min_messages = warning;
SET backfill.test_clock_seconds = 1794236400;
SELECT "check", status, detail, replace(hint, current_database(), 'DB') AS hint FROM sick;
SELECT hint AS mend FROM sick \gset
:mend
\c
SET search_path = doctor;
SET client_min_messages = warning;
SET backfill.test_clock_seconds = 1794236400;
SELECT * FROM sick;

-- A reader may ask, and nothing is written.
CREATE ROLE doctor_reader;
SELECT backfill.create_roles();
GRANT backfill_reader TO doctor_reader;
SET ROLE doctor_reader;
BEGIN READ ONLY;
SELECT count(*) FROM backfill.doctor() WHERE status = 'fail';
COMMIT;
RESET ROLE;
DROP ROLE doctor_reader;
SELECT * FROM backfill.check_invariants();
SELECT backfill.drop_pipeline('ill'), backfill.drop_pipeline('tells');
TRUNCATE backfill.emission, backfill.superseded, backfill.intervention, backfill.undelivered, backfill.delivery, backfill.message, backfill.counter RESTART IDENTITY;
DROP SCHEMA doctor CASCADE;
DROP ROLE doctor_owner;
DROP OWNED BY backfill_reader, backfill_operator, backfill_deliver, backfill_worker;
DROP ROLE backfill_reader, backfill_operator, backfill_deliver, backfill_worker;
