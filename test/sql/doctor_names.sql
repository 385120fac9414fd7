-- The doctor and names: whatever a schema, a table or a column is called, the statement given can be pasted; and what goes
-- wrong with one pipeline costs the others nothing.
CREATE SCHEMA "doc's "" Shop";
CREATE SCHEMA doc_other;
SET client_min_messages = warning;
SET backfill.narrate = 'none';
\set SHOW_CONTEXT never
SELECT FROM set_config('backfill.test_clock_seconds', extract(epoch FROM '2026-11-03 10:00+00'::timestamptz)::text, false);
CREATE VIEW sick AS SELECT "check", status, regexp_replace(detail, '\d+ \w+\)', 'size)') AS detail, hint FROM backfill.doctor()
	WHERE status <> 'ok' AND "check" NOT IN ('pg_cron', 'roles', 'old_transactions', 'overdue');

\echo ## a name that needs quotes, in a table that is large
CREATE TABLE "doc's "" Shop"."Sale (%s)" (id bigint PRIMARY KEY, at timestamptz, "c++" int, "a(b" int, "x.y\" int, "q""r" int, c int) WITH (fillfactor = 10);
INSERT INTO "doc's "" Shop"."Sale (%s)" SELECT n, '2026-10-01'::timestamptz + n * interval '10 second', 1, 1, 1, 1, 1 FROM generate_series(1, 25000) n;
SELECT backfill.create_pipeline('odd', $$ SELECT id, at FROM "doc's "" Shop"."Sale (%s)" "S (" WHERE at >= $1 AND at < $2 $$);
SELECT backfill.add_step('odd', name, format($$ SELECT true FROM "doc's "" Shop"."Sale (%%s)" "S (" WHERE %s = $1 $$, name_in_sql), 'SELECT $1')
FROM (VALUES ('plus', '"c++"'), ('paren', '"a(b"'), ('dot', '"x.y\"'), ('quote', '"q""r"'), ('plain', 'c')) n (name, name_in_sql);
UPDATE backfill.pipeline SET created_at = '2026-11-03 09:00+00';
SELECT * FROM sick;
SELECT replace(string_agg(DISTINCT hint, ' '), 'CONCURRENTLY ', '') AS mend FROM sick \gset
:mend
SELECT * FROM sick;
SELECT backfill.drop_pipeline('odd');
DROP TABLE "doc's "" Shop"."Sale (%s)";

\echo ## a pipeline that cannot be looked at
CREATE TABLE doc_other.orders (id bigint PRIMARY KEY, at timestamptz);
CREATE TYPE doc_other.mood AS ENUM ('good');
CREATE TABLE doc_other.note (mood doc_other.mood PRIMARY KEY, at timestamptz);
SELECT backfill.create_pipeline('a_gone', 'SELECT mood, at FROM doc_other.note WHERE at >= $1 AND at < $2', key_type => 'doc_other.mood');
SELECT backfill.add_step('a_gone', 'make', 'SELECT $1 IS NOT NULL', 'SELECT $1');
SELECT backfill.create_pipeline('b_zone', 'SELECT id, at FROM doc_other.orders WHERE at >= $1 AND at < $2');
SELECT backfill.add_step('b_zone', 'make', 'SELECT $1 > 0', 'SELECT $1');
SELECT backfill.create_pipeline('c_none', 'SELECT id, at FROM doc_other.orders WHERE at >= $1 AND at < $2');
UPDATE backfill.pipeline SET created_at = '2026-11-03 09:00+00';
INSERT INTO backfill.run (run_id, pipeline_id, mode, state, window_from, window_to, scan_from, scan_to, left_out_from, run_time, requested_by, requested_at, started_at, finished_at)
SELECT 6000, pipeline_id, 'live', 'succeeded', d, d + interval '1 day', d, d, d - interval '9 days', d, 'x', d, d, d FROM backfill.pipeline, (VALUES ('2026-11-03 00:00+00'::timestamptz)) v (d) WHERE name = 'b_zone';
-- As if its definition had gone with an upgrade of the server.
UPDATE backfill.pipeline SET timezone = 'Nowhere/Land' WHERE name = 'b_zone';
DROP TYPE doc_other.mood CASCADE;
SELECT "check", status, detail, hint FROM sick;
DELETE FROM backfill.pipeline WHERE name IN ('a_gone', 'b_zone', 'c_none');

RESET backfill.test_clock_seconds;
DROP VIEW sick;
DROP SCHEMA "doc's "" Shop", doc_other CASCADE;
