-- Whose rights a pipeline's commands have: its owner's, whoever calls, and no way out of them.
CREATE SCHEMA vault;
SET client_min_messages = error;
SET backfill.narrate = none;
\set SHOW_CONTEXT never
CREATE ROLE regress_owner;
CREATE ROLE regress_operator;
CREATE ROLE regress_stranger;
DO $$ BEGIN CREATE ROLE backfill_operator; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
GRANT backfill_operator TO regress_operator;
GRANT EXECUTE ON PROCEDURE backfill.run TO backfill_operator, regress_stranger;
GRANT EXECUTE ON FUNCTION backfill.create_pipeline, backfill.alter_step, backfill.add_batch_step TO regress_owner;
GRANT USAGE, CREATE ON SCHEMA vault TO regress_owner;
GRANT USAGE ON SCHEMA vault TO regress_operator, regress_stranger;
CREATE TABLE vault.treasure (gold integer);
CREATE VIEW vault.last_run AS SELECT max(run_id) AS run_id FROM backfill.run JOIN backfill.pipeline USING (pipeline_id) WHERE name = 'vault';
CREATE VIEW vault.told AS SELECT DISTINCT sqlstate, message FROM backfill.step_event JOIN vault.last_run USING (run_id) WHERE status = 'failed';

SET ROLE regress_owner;
SET search_path = vault;
CREATE TABLE item (id bigint PRIMARY KEY, arrived_at timestamptz NOT NULL DEFAULT now());
INSERT INTO item VALUES (1);
CREATE TABLE output (id bigint PRIMARY KEY, did text);
SELECT backfill.create_pipeline('vault', 'SELECT id, arrived_at FROM item WHERE arrived_at >= $1 AND arrived_at < $2');
SELECT backfill.add_batch_step('vault', 'make', 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM output o WHERE o.id = k)',
	'INSERT INTO output SELECT k, current_user FROM unnest($1) k');
RESET ROLE;

-- Strangers are refused; an operator runs it without any right on its tables, and a superuser runs it with the owner's.
SET ROLE regress_stranger;
CALL backfill.run('vault');
SET ROLE regress_operator;
SELECT count(*) FROM vault.item;
CALL backfill.run('vault') \gset
\echo :tally
RESET ROLE;
SELECT * FROM vault.output;
SELECT requested_by, state FROM backfill.run WHERE run_id = :run_id;
DELETE FROM vault.output;
CALL backfill.run('vault') \gset
\echo :tally
SELECT * FROM vault.output;

-- Each of these is tried as the owner's work, with a superuser calling.
CREATE FUNCTION vault.try(command text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE command;
	INSERT INTO vault.output VALUES (1, command);
END $$;
GRANT EXECUTE ON FUNCTION vault.try TO regress_owner;
CREATE FUNCTION vault.attempt(command text) RETURNS void LANGUAGE sql AS
$$ DELETE FROM vault.output; SELECT backfill.alter_step('vault', 'make', work => format('SELECT vault.try(%L) FROM unnest($1)', command)); $$;
SELECT vault.attempt('SELECT gold FROM vault.treasure');
CALL backfill.run('vault') \gset
TABLE vault.told;
SELECT vault.attempt('RESET ROLE');
CALL backfill.run('vault') \gset
TABLE vault.told;
SELECT vault.attempt('SET ROLE postgres');
CALL backfill.run('vault') \gset
TABLE vault.told;
SELECT vault.attempt('SET SESSION AUTHORIZATION DEFAULT');
CALL backfill.run('vault') \gset
TABLE vault.told;
SELECT vault.attempt('SELECT set_config(''role'', ''none'', false)');
CALL backfill.run('vault') \gset
TABLE vault.told;
SELECT vault.attempt('CREATE TEMPORARY TABLE mine (id bigint)');
CALL backfill.run('vault') \gset
TABLE vault.told;
SELECT vault.attempt('DECLARE later CURSOR WITH HOLD FOR SELECT 1');
CALL backfill.run('vault') \gset
TABLE vault.told;
SELECT vault.attempt('PREPARE later AS SELECT 1');
CALL backfill.run('vault') \gset
TABLE vault.told;
SELECT vault.attempt('LISTEN later');
CALL backfill.run('vault') \gset
TABLE vault.told;
-- A setting that outlives the step would meet the caller's next statement.
SELECT vault.attempt('SET search_path = vault');
SET search_path = pg_catalog;
CALL backfill.run('vault') \gset
SHOW search_path;
TABLE vault.told;

-- A trigger that waits for the commit would run as the caller. It runs with the statement that queues it, as the owner.
CREATE FUNCTION vault.who() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO vault.seen VALUES (current_user); RETURN NULL; END $$;
SET ROLE regress_owner;
CREATE TABLE vault.seen (who text);
CREATE TABLE vault.watched (id bigint);
CREATE CONSTRAINT TRIGGER later AFTER INSERT ON vault.watched DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION vault.who();
RESET ROLE;
SELECT vault.attempt('INSERT INTO vault.watched VALUES (1)');
CALL backfill.run('vault') \gset
\echo :tally
TABLE vault.seen;
DELETE FROM vault.seen;
SELECT vault.attempt('DO $do$ BEGIN SET CONSTRAINTS ALL DEFERRED; INSERT INTO vault.watched VALUES (2); END $do$');
CALL backfill.run('vault') \gset
TABLE vault.told;
TABLE vault.seen;
-- A deferred foreign key is checked with the statement too, so that it fails its own item and not a whole batch.
SET ROLE regress_owner;
CREATE TABLE vault.child (id bigint REFERENCES vault.item DEFERRABLE INITIALLY DEFERRED);
INSERT INTO vault.item SELECT generate_series(2, 4);
SELECT backfill.alter_step('vault', 'make', lacking => 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM vault.child c WHERE c.id = k)',
	work => 'INSERT INTO vault.child SELECT CASE k WHEN 3 THEN -3 ELSE k END FROM unnest($1) k');
RESET ROLE;
CALL backfill.run('vault') \gset
\echo :tally
TABLE vault.child ORDER BY id;
DELETE FROM vault.child;

-- What the caller's session has under the same names is not what the commands mean: temporary tables come last.
SET ROLE regress_owner;
SELECT backfill.alter_step('vault', 'make', lacking => 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM output o WHERE o.id = k)',
	work => 'INSERT INTO output SELECT k, current_user FROM unnest($1) k');
RESET ROLE;
DELETE FROM vault.output;
SET ROLE regress_operator;
CREATE TEMPORARY TABLE output (id bigint, did text);
CREATE TEMPORARY TABLE stolen (by name);
CREATE FUNCTION pg_temp.steal() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO pg_temp.stolen VALUES (current_user); RETURN NEW; END $$;
CREATE TRIGGER steal BEFORE INSERT ON pg_temp.output FOR EACH ROW EXECUTE FUNCTION pg_temp.steal();
GRANT ALL ON pg_temp.output, pg_temp.stolen TO PUBLIC;
CALL backfill.run('vault') \gset
\echo :tally
TABLE pg_temp.stolen;
RESET ROLE;
SELECT count(*) FROM vault.output;
DROP TABLE pg_temp.output, pg_temp.stolen;

-- Objects in the caller's path that are named like PostgreSQL's own do not reach the engine's statements.
CREATE SCHEMA trap;
CREATE FUNCTION trap.sprung() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'sprung'; END $$;
CREATE FUNCTION trap.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT pg_catalog.clock_timestamp() WHERE trap.sprung()';
CREATE FUNCTION trap.unnest(text[]) RETURNS SETOF text LANGUAGE sql AS 'SELECT '''' WHERE trap.sprung()';
CREATE FUNCTION trap.equal(integer, integer) RETURNS boolean LANGUAGE sql AS 'SELECT trap.sprung()';
CREATE OPERATOR trap.= (FUNCTION = trap.equal, LEFTARG = integer, RIGHTARG = integer);
CREATE FUNCTION trap.equal(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT trap.sprung()';
CREATE OPERATOR trap.= (FUNCTION = trap.equal, LEFTARG = text, RIGHTARG = text);
CREATE FUNCTION trap.equal(bigint, bigint) RETURNS boolean LANGUAGE sql AS 'SELECT trap.sprung()';
CREATE OPERATOR trap.= (FUNCTION = trap.equal, LEFTARG = bigint, RIGHTARG = bigint);
CREATE TYPE trap.timestamptz AS (sprung boolean);
CREATE TABLE trap.pipeline (name text);
DELETE FROM vault.output;
SET search_path = trap, pg_catalog;
SELECT 1 = 1;
CALL backfill.run('vault') \gset
\echo :tally
RESET search_path;

SELECT backfill.drop_pipeline('vault');
DROP SCHEMA trap, vault CASCADE;
DROP OWNED BY regress_owner, regress_operator, regress_stranger, backfill_operator;
DROP ROLE regress_owner, regress_operator, regress_stranger, backfill_operator;
