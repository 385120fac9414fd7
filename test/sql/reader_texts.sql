-- What an error says may quote data: the owner and operators read it, and whoever only looks does not, wherever he looks.
\set SHOW_CONTEXT never
SET client_min_messages = error;
SET backfill.narrate = 'none';
SELECT FROM set_config('backfill.test_clock_seconds', extract(epoch FROM '2026-11-03 10:00+00'::timestamptz)::text, false);
SELECT backfill.create_roles();
CREATE ROLE texts_reader;
GRANT backfill_reader TO texts_reader;
CREATE ROLE texts_operator;
GRANT backfill_operator TO texts_operator;
CREATE ROLE texts_owner;
GRANT backfill_reader TO texts_owner;
CREATE SCHEMA texts;
GRANT USAGE ON SCHEMA texts TO texts_owner;
CREATE TABLE texts.person (id bigint PRIMARY KEY, at timestamptz, ssn text);
GRANT SELECT ON texts.person TO texts_owner;
INSERT INTO texts.person VALUES (1, '2026-11-03 09:00+00', '078-05-1120');
-- Evaluated where a plan is made.
CREATE FUNCTION texts.peek() RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN (SELECT ssn FROM texts.person)::integer; END $$;

-- Errors of a plan, of a run and of an item.
SELECT backfill.create_pipeline(name, 'SELECT id, at FROM texts.person WHERE at >= $1 AND at < $2') FROM unnest('{of_plan,of_run,of_item}'::text[]) name;
SELECT backfill.add_step('of_plan', 'make', 'SELECT true FROM texts.person WHERE id = $1 AND id > texts.peek()', 'SELECT $1');
SELECT backfill.add_step('of_run', 'make', 'SELECT $1 < 0', 'SELECT $1');
SELECT backfill.add_step('of_item', 'make', 'SELECT $1 < 0', 'SELECT ssn::integer FROM texts.person WHERE id = $1');
UPDATE backfill.pipeline SET owner = 'texts_owner', created_at = '2026-11-03 09:00+00' WHERE name LIKE 'of\_%';
CALL backfill.run('of_item') \g /dev/null
SELECT backfill.alter_pipeline('of_run', candidates => 'SELECT ssn::integer, at FROM texts.person WHERE at >= $1 AND at < $2');
CALL backfill.run('of_run') \g /dev/null
CALL backfill.run('of_plan') \g /dev/null
INSERT INTO backfill.item_failure SELECT pipeline_id, '1', 4, '2026-10-31', '2026-11-03' FROM backfill.pipeline WHERE name = 'of_item' ON CONFLICT (pipeline_id, item) DO UPDATE SET windows = 4;

-- All that the role of the moment can select or call.
CREATE FUNCTION texts.seen(OUT source text, OUT lines bigint) RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
	query text;
BEGIN
	FOR source, query IN
		SELECT c.relname, format('SELECT count(*) FROM (SELECT %s FROM backfill.%I) x WHERE x::text ~ ''078-05-1120''', string_agg(quote_ident(a.attname), ', '), c.relname)
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		WHERE c.relnamespace = 'backfill'::regnamespace AND c.relkind IN ('r', 'v') AND has_column_privilege(c.oid, a.attnum, 'SELECT')
		GROUP BY c.relname
		UNION ALL VALUES ('doctor()', 'SELECT count(*) FROM backfill.doctor() d WHERE d::text ~ ''078-05-1120'''),
			('narration()', 'SELECT count(*) FROM backfill.run r, backfill.narration(r.run_id) n WHERE n.line ~ ''078-05-1120''')
		ORDER BY 1
	LOOP
		EXECUTE query INTO lines;
		IF lines > 0 THEN
			RETURN NEXT;
		END IF;
	END LOOP;
END $$;
GRANT USAGE ON SCHEMA texts TO texts_reader, texts_operator;
SET ROLE texts_reader;
SELECT * FROM texts.seen();
SELECT detail FROM backfill.doctor() WHERE "check" = 'commands';
SET ROLE texts_owner;
SELECT * FROM texts.seen();
SET ROLE texts_operator;
SELECT * FROM texts.seen();
RESET ROLE;

SELECT backfill.drop_pipeline(name) FROM backfill.pipeline WHERE name LIKE 'of\_%';
RESET backfill.test_clock_seconds;
DROP SCHEMA texts CASCADE;
DROP OWNED BY texts_reader, texts_operator, texts_owner, backfill_reader, backfill_operator, backfill_deliver, backfill_worker;
DROP ROLE texts_reader, texts_operator, texts_owner, backfill_reader, backfill_operator, backfill_deliver, backfill_worker;
