-- The doctor plans commands, and a plan evaluates what somebody declared immutable. Whatever that does, nothing of it stays.
CREATE SCHEMA doc_immutable;
SET search_path = doc_immutable;
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE TABLE item (id bigint PRIMARY KEY, at timestamptz);
CREATE TABLE trace (what text);
CREATE FUNCTION trace(what text) RETURNS integer LANGUAGE sql AS $$ INSERT INTO doc_immutable.trace VALUES (what) RETURNING 1 $$;
CREATE FUNCTION is_not_immutable(what text) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN doc_immutable.trace(what); END $$;
SELECT backfill.create_pipeline('traced', $$ SELECT id, at FROM item WHERE at >= $1 AND at < $2 AND id > is_not_immutable('candidates') $$);
SELECT backfill.add_step('traced', 'make', $$ SELECT $1 > is_not_immutable('check') $$, $$ UPDATE item SET at = now() WHERE id = $1 AND id > is_not_immutable('work') $$,
	clear => $$ UPDATE item SET at = now() WHERE id = $1 AND id > is_not_immutable('clear') $$);
TRUNCATE trace;
SELECT "check", status FROM backfill.doctor() WHERE "check" IN ('commands', 'indexes');
SELECT * FROM trace;
SELECT backfill.drop_pipeline('traced');
DROP SCHEMA doc_immutable CASCADE;
