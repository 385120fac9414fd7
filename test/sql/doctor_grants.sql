-- The doctor and privileges: the statement given is about the very relation, schema or function that the command names, and
-- asks for no more than is lacking.
CREATE SCHEMA "doc's "" Shop";
CREATE SCHEMA doc_other;
CREATE SCHEMA doc_shut;
SET client_min_messages = warning;
SET backfill.narrate = 'none';
\set SHOW_CONTEXT never
SELECT FROM set_config('backfill.test_clock_seconds', extract(epoch FROM '2026-11-03 10:00+00'::timestamptz)::text, false);
CREATE VIEW sick AS SELECT "check", status, detail, hint FROM backfill.doctor()
	WHERE status <> 'ok' AND "check" NOT IN ('pg_cron', 'roles', 'old_transactions', 'overdue');

\echo ## a table of the same name elsewhere, which the command does not read
CREATE ROLE "doc's "" Owner";
GRANT USAGE ON SCHEMA "doc's "" Shop", doc_other TO "doc's "" Owner";
CREATE TABLE doc_other.orders (id bigint PRIMARY KEY, at timestamptz);
CREATE TABLE doc_shut.orders (id bigint PRIMARY KEY, at timestamptz);
CREATE TABLE "doc's "" Shop".orders (id bigint PRIMARY KEY, at timestamptz);
SET search_path = "doc's "" Shop", public;
SELECT backfill.create_pipeline('grants', 'SELECT id, at FROM orders WHERE at >= $1 AND at < $2');
SELECT backfill.add_step('grants', 'make', 'SELECT EXISTS (SELECT FROM orders WHERE id = $1)', 'INSERT INTO orders VALUES ($1) ON CONFLICT (id) DO UPDATE SET at = excluded.at');
SET search_path = public;
UPDATE backfill.pipeline SET created_at = '2026-11-03 09:00+00', owner = 'doc''s " Owner';
SELECT * FROM sick;
SELECT string_agg(DISTINCT hint, ' ') AS mend FROM sick \gset
:mend
SELECT * FROM sick;
-- Another schema of the path is shut, and the table is not there.
SELECT backfill.drop_pipeline('grants');
SET search_path = doc_shut, "doc's "" Shop";
SELECT backfill.create_pipeline('grants', 'SELECT id, at FROM orders WHERE at >= $1 AND at < $2');
SELECT backfill.add_step('grants', 'make', 'SELECT EXISTS (SELECT FROM orders WHERE id = $1)', 'SELECT $1');
SET search_path = public;
UPDATE backfill.pipeline SET created_at = '2026-11-03 09:00+00', owner = 'doc''s " Owner';
DROP TABLE doc_shut.orders;
ALTER TABLE "doc's "" Shop".orders RENAME TO away;
SELECT "check", status, detail, hint FROM sick;
ALTER TABLE "doc's "" Shop".away RENAME TO orders;
REVOKE USAGE ON SCHEMA "doc's "" Shop" FROM "doc's "" Owner";
SELECT "check", status, detail, hint FROM sick;
SELECT string_agg(DISTINCT hint, ' ') AS mend FROM sick \gset
:mend
SELECT * FROM sick;
-- Whom a view reads for is whom the privilege is lacking.
CREATE VIEW doc_other.seen AS SELECT * FROM doc_other.orders;
ALTER VIEW doc_other.seen OWNER TO "doc's "" Owner";
CREATE ROLE doc_reads;
GRANT USAGE ON SCHEMA doc_other TO doc_reads;
GRANT SELECT ON doc_other.seen TO doc_reads;
SELECT backfill.drop_pipeline('grants');
SELECT backfill.create_pipeline('grants', 'SELECT id, at FROM doc_other.seen WHERE at >= $1 AND at < $2');
SELECT backfill.add_step('grants', 'make', 'SELECT $1 > 0', 'SELECT $1');
UPDATE backfill.pipeline SET created_at = '2026-11-03 09:00+00', owner = 'doc_reads';
SELECT * FROM sick;
SELECT string_agg(DISTINCT hint, ' ') AS mend FROM sick \gset
:mend
SELECT * FROM sick;
-- A view of its own.
REVOKE SELECT ON doc_other.seen FROM doc_reads;
SELECT "check", status, detail, hint FROM sick;
SELECT string_agg(DISTINCT hint, ' ') AS mend FROM sick \gset
:mend
SELECT * FROM sick;
-- Which of two functions it is cannot be told.
CREATE FUNCTION doc_other.peek(bigint) RETURNS boolean LANGUAGE sql RETURN true;
CREATE FUNCTION doc_shut.peek(bigint) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RETURN true; END';
REVOKE EXECUTE ON FUNCTION doc_other.peek, doc_shut.peek FROM PUBLIC;
SET search_path = doc_shut;
SELECT backfill.drop_pipeline('grants');
SELECT backfill.create_pipeline('grants', 'SELECT id, at FROM doc_other.seen WHERE at >= $1 AND at < $2');
SELECT backfill.add_step('grants', 'make', 'SELECT peek($1)', 'SELECT $1');
SET search_path = public;
UPDATE backfill.pipeline SET created_at = '2026-11-03 09:00+00', owner = 'doc_reads';
SELECT * FROM sick;
SELECT string_agg(DISTINCT hint, ' ') AS mend FROM sick \gset
:mend
SELECT * FROM sick;
DROP FUNCTION doc_other.peek;
SELECT * FROM sick;
SELECT string_agg(DISTINCT hint, ' ') AS mend FROM sick \gset
:mend
SELECT * FROM sick;
SELECT backfill.drop_pipeline('grants');

RESET backfill.test_clock_seconds;
DROP VIEW sick;
DROP SCHEMA "doc's "" Shop", doc_other, doc_shut CASCADE;
DROP OWNED BY doc_reads, "doc's "" Owner";
DROP ROLE doc_reads, "doc's "" Owner";
