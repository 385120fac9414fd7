-- What a step asks of the engine is asked by its pipeline's owner, whoever calls the run or looks at the pipeline.
CREATE SCHEMA asking;
SET search_path = asking;
SET client_min_messages = error;
SET backfill.narrate = none;
\set SHOW_CONTEXT never
SELECT backfill.create_roles();
CREATE ROLE regress_asker IN ROLE backfill_operator;
CREATE ROLE regress_caller IN ROLE backfill_operator, backfill_deliver;
GRANT ALL ON SCHEMA asking TO regress_asker;
CREATE TABLE item (id bigint PRIMARY KEY, arrived_at timestamptz NOT NULL DEFAULT now());
INSERT INTO item VALUES (1);
GRANT SELECT ON item TO regress_asker;
CREATE TABLE tried (what text PRIMARY KEY, answer text);
GRANT ALL ON tried TO regress_asker;
SELECT backfill.create_pipeline('another', 'SELECT id, arrived_at FROM asking.item WHERE arrived_at >= $1 AND arrived_at < $2');
SELECT backfill.add_batch_step('another', 'look', 'SELECT NULL::bigint FROM unnest($1) k WHERE false', 'SELECT 1 WHERE $1 IS NOT NULL');

SET ROLE regress_asker;
CREATE FUNCTION try(what text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE what;
	INSERT INTO asking.tried VALUES (what, 'done');
EXCEPTION WHEN OTHERS THEN
	INSERT INTO asking.tried VALUES (what, SQLERRM);
END $$;
SELECT backfill.create_pipeline('asking', 'SELECT id, arrived_at FROM asking.item WHERE arrived_at >= $1 AND arrived_at < $2');
SELECT backfill.create_pipeline('own', 'SELECT id, arrived_at FROM asking.item WHERE arrived_at >= $1 AND arrived_at < $2');
SELECT backfill.add_step('asking', 'ask', 'SELECT EXISTS (SELECT FROM asking.tried) AND $1 > 0', $$ SELECT asking.try(t) FROM unnest(ARRAY[
	'SELECT FROM backfill.replay(''own'', current_date, current_date + 1, deliver => true)',
	'SELECT backfill.set_retention(''another'', details => ''1 day'', history => ''7 days'')',
	'SELECT backfill.set_alarm(''another'', ''silence'', false)',
	'SELECT backfill.drop_pipeline(''another'')',
	'SELECT FROM backfill.prove(''own'')',
	'SELECT backfill.request_run(''own'')']) t WHERE $1 > 0 $$);
RESET ROLE;

CALL backfill.run('asking') \gset
\echo :tally
SELECT * FROM tried ORDER BY what COLLATE "C";
SELECT requested_by FROM backfill.run JOIN backfill.pipeline USING (pipeline_id) WHERE name = 'own';
-- Nor with the rights of another caller, who is themselves again afterwards.
DELETE FROM tried;
SET ROLE regress_caller;
CALL backfill.run('asking') \gset
\echo :tally
SELECT backfill.request_run('another') > 0 AS requested;
RESET ROLE;
SELECT requested_by FROM backfill.run JOIN backfill.pipeline USING (pipeline_id) WHERE name = 'another';
SELECT * FROM tried WHERE what LIKE '%deliver%';

-- A function that only says it is immutable runs when a command is planned, and that is what the doctor does.
SET ROLE regress_asker;
CREATE FUNCTION says_immutable() RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	PERFORM backfill.set_alarm('another', 'silence', false);
	RETURN 1;
EXCEPTION WHEN insufficient_privilege THEN
	RETURN 1;
END $$;
SELECT backfill.alter_pipeline('own', candidates => 'SELECT id, arrived_at FROM asking.item WHERE arrived_at >= $1 AND arrived_at < $2 AND id >= asking.says_immutable()');
RESET ROLE;
SELECT count(*) > 0 AS looked FROM backfill.doctor();
SELECT count(*) AS settings FROM backfill.alarm_setting JOIN backfill.pipeline USING (pipeline_id) WHERE name = 'another';

SELECT backfill.drop_pipeline(name) FROM unnest('{asking,own,another}'::text[]) name;
DROP OWNED BY regress_asker, regress_caller;
DROP SCHEMA asking CASCADE;
DROP ROLE regress_asker, regress_caller;
