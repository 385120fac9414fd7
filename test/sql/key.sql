-- Keys and item times: types of keys, candidates that come twice or without a key, and results that are no keys.
CREATE SCHEMA keys;
SET search_path = keys;
SET client_min_messages = error;
SET backfill.keep_events = 'all';
\set SHOW_CONTEXT never

-- Every type is taken through the same two steps, one for a batch and one for an item, with values in no order.
CREATE TYPE place AS (street text, number integer);
CREATE DOMAIN address AS place CHECK ((VALUE).number > 0);
CREATE DOMAIN mobile AS text COLLATE "und-x-icu" CHECK (VALUE <> '');
CREATE TYPE size AS ENUM ('small', 'large', 'huge');
CREATE FUNCTION try_key(key_type text, VARIADIC key_values text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE item (id %1$s, at timestamptz DEFAULT now()); CREATE TABLE one (id %1$s PRIMARY KEY); CREATE TABLE two (id %1$s PRIMARY KEY);', key_type);
	EXECUTE format('INSERT INTO item (id) SELECT v::%s FROM unnest(%L::text[]) v', key_type, key_values);
	PERFORM backfill.create_pipeline('keys', 'SELECT id, at FROM item WHERE at >= $1 AND at < $2', key_type::regtype);
	PERFORM backfill.add_batch_step('keys', 'one', 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM one WHERE one.id = k)',
		'INSERT INTO one SELECT k FROM unnest($1) k');
	PERFORM backfill.add_step('keys', 'two', 'SELECT EXISTS (SELECT FROM two WHERE two.id = $1)', 'INSERT INTO two VALUES ($1)');
END $$;
CREATE FUNCTION forget_key() RETURNS void LANGUAGE sql AS $$ SELECT backfill.drop_pipeline('keys'); DROP TABLE item, one, two; $$;
-- Both steps saw the keys in their order; a key that came twice is one item.
CREATE FUNCTION handled(run bigint) RETURNS SETOF text LANGUAGE sql AS
$$ SELECT step || ': ' || string_agg(item, ' ' ORDER BY step_event_id) FROM backfill.step_event WHERE run_id = run GROUP BY step ORDER BY step $$;

SELECT try_key('bigint', '10', '-7', '9', '9');
CALL backfill.run('keys') \gset
\echo :tally
SELECT handled(:run_id);
SELECT forget_key(), try_key('smallint', '300', '-300', '2');
CALL backfill.run('keys') \gset
\echo :tally
SELECT handled(:run_id);
SELECT forget_key(), try_key('text', 'b', 'a', 'B', 'ä', '', 'a b');
CALL backfill.run('keys') \gset
\echo :tally
SELECT handled(:run_id);
SELECT forget_key(), try_key('uuid', 'f0000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-00000000000a');
CALL backfill.run('keys') \gset
\echo :tally
SELECT handled(:run_id);
-- As text, times are in the pipeline's zone whatever the session's is, so that all runs mean the same item.
SELECT forget_key(), try_key('timestamptz', '2026-03-01 12:00+02', '1999-12-31 23:59:59.5+00', 'infinity');
CALL backfill.run('keys') \gset
\echo :tally
SELECT handled(:run_id);
SELECT forget_key(), try_key('numeric', '1.50', '-2', '1.5', 'NaN');
CALL backfill.run('keys') \gset
\echo :tally
SELECT handled(:run_id);
-- Bytes too are written in one way, or two runs would not meet at the item's lock.
SET bytea_output = 'escape';
SELECT forget_key(), try_key('bytea', '\x00ff', '\x61');
CALL backfill.run('keys') \gset
\echo :tally
SELECT handled(:run_id);
RESET bytea_output;
SELECT forget_key(), try_key('size', 'small', 'huge', 'large');
CALL backfill.run('keys') \gset
\echo :tally
SELECT handled(:run_id);
SELECT forget_key(), try_key('place', '(b,1)', '(a,2)', '(a,1)');
CALL backfill.run('keys') \gset
\echo :tally
SELECT handled(:run_id);
SELECT forget_key(), try_key('address', '(b,1)', '(a,2)', '(a,1)');
CALL backfill.run('keys') \gset
\echo :tally
SELECT handled(:run_id);
-- Types whose plain name means a length of one.
SELECT forget_key(), try_key('char(2)', 'DK', 'DE', 'A');
CALL backfill.run('keys') \gset
\echo :tally
SELECT handled(:run_id);
SELECT forget_key(), try_key('bit(3)', '101', '100');
CALL backfill.run('keys') \gset
\echo :tally
SELECT handled(:run_id);
-- A collation that does not sort by bytes, of the type or of the column.
SELECT forget_key(), try_key('mobile', 'b', 'a', 'B', 'A');
CALL backfill.run('keys') \gset
\echo :tally
SELECT handled(:run_id);
SELECT forget_key(), try_key('text', 'b', 'a', 'B', 'A');
ALTER TABLE item ALTER id TYPE text COLLATE "und-x-icu";
CALL backfill.run('keys') \gset
\echo :tally
SELECT handled(:run_id);

-- A batch step names its item by its key, whatever the type: one whose cast to text says something else than its output, too.
CREATE FUNCTION try_telling(key_type text, VARIADIC key_values text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM forget_key(), try_key(key_type, VARIADIC key_values);
	PERFORM backfill.alter_step('keys', 'one', work => 'INSERT INTO one SELECT k FROM unnest($1) k WHERE backfill.emit(''slack:#ops'', ''told_'' || left(md5(k::text), 6), ''{}'', key => k) > 0');
END $$;
CREATE VIEW told AS SELECT item FROM backfill.message WHERE pipeline = 'keys' ORDER BY item COLLATE "C";
SELECT try_telling('inet', '10.0.0.1', '10.0.0.0/8', '::1');
CALL backfill.run('keys') \g /dev/null
SELECT try_telling('boolean', 'true', 'false');
CALL backfill.run('keys') \g /dev/null
SELECT try_telling('bytea', '\x00ff');
CALL backfill.run('keys') \g /dev/null
SELECT try_telling('timestamptz', '2026-03-01 12:00+02');
CALL backfill.run('keys') \g /dev/null
SELECT try_telling('place', '(b,1)', '(,)');
CALL backfill.run('keys') \g /dev/null
SELECT try_telling('text', '', 'a');
CALL backfill.run('keys') \g /dev/null
SELECT * FROM told;
-- A key that is null names no item.
SELECT try_telling('inet', '10.0.0.1');
SELECT backfill.alter_step('keys', 'one', work => 'SELECT backfill.emit(''slack:#ops'', ''nobody'', ''{}'', key => nullif(k, k)) FROM unnest($1) k');
CALL backfill.run('keys') \g /dev/null
SELECT DISTINCT message FROM backfill.step_event e JOIN backfill.run USING (run_id) JOIN backfill.pipeline p USING (pipeline_id) WHERE p.name = 'keys' AND e.status = 'failed' ORDER BY 1;
-- Whoever explains one may write it as he likes.
SELECT part, name, state FROM backfill.explain_item('keys', '10.0.0.1/32') WHERE part = 'item';
DROP VIEW told;
TRUNCATE backfill.emission, backfill.superseded, backfill.intervention, backfill.undelivered, backfill.delivery, backfill.message RESTART IDENTITY;

-- Types that cannot be keys.
SELECT forget_key();
SELECT backfill.create_pipeline('keys', 'SELECT NULL::json WHERE $1 < $2', 'json');
SELECT backfill.create_pipeline('keys', 'SELECT NULL::text[] WHERE $1 < $2', 'text[]');
SELECT backfill.create_pipeline('keys', 'SELECT ROW(1) WHERE $1 < $2', 'record');

-- A check that returns what only looks like the key: refused when it is registered, and when it has changed since.
SELECT try_key('numeric', '1', '2');
SELECT backfill.alter_step('keys', 'one', lacking => 'SELECT 1 FROM unnest($1) k');
CREATE TABLE shape (id numeric);
INSERT INTO shape VALUES (1);
SELECT backfill.alter_step('keys', 'one', lacking => 'SELECT id FROM shape WHERE id = ANY ($1)');
ALTER TABLE shape ALTER id TYPE integer;
CALL backfill.run('keys') \gset
SELECT forget_key();

-- A key that the command was not given, and a null.
SELECT try_key('bigint', '1', '2');
SELECT backfill.alter_step('keys', 'one', lacking => 'SELECT k + 1 FROM unnest($1) k');
CALL backfill.run('keys') \gset
SELECT backfill.alter_step('keys', 'one', lacking => 'SELECT nullif(k, 1) FROM unnest($1) k');
CALL backfill.run('keys') \gset
-- Keys named twice lack the output once.
SELECT backfill.alter_step('keys', 'one', lacking => 'SELECT k FROM unnest($1) k, generate_series(1, 3) WHERE NOT EXISTS (SELECT FROM one WHERE one.id = k)');
CALL backfill.run('keys') \gset
\echo :tally
-- A candidate without a key: those that have one are processed, and the run says what is wrong with it.
INSERT INTO item (id) VALUES (3), (NULL);
CALL backfill.run('keys') \gset
SELECT * FROM one ORDER BY id;
SELECT state, candidates, changed, error FROM backfill.run ORDER BY run_id DESC LIMIT 1;
SELECT forget_key();

-- An item's time is the newest of its candidate's, however the query orders them; a query may give none.
SELECT try_key('bigint', '1', '2', '3');
INSERT INTO item VALUES (1, now() - interval '2 hours'), (2, now() + interval '1 hour'), (3, now() - interval '3 hours');
UPDATE item SET at = now() - interval '1 hour' WHERE id = 3 AND at > now() - interval '1 minute';
CREATE TABLE seen (id bigint PRIMARY KEY, hours_ago numeric);
SELECT backfill.add_batch_step('keys', 'three', 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM seen WHERE seen.id = k)',
	$$ INSERT INTO seen SELECT k, (SELECT round(extract(epoch FROM backfill.run_time() - c.item_time) / 3600) FROM backfill._run_context(k::text) c) FROM unnest($1) k $$);
CALL backfill.run('keys') \gset
\echo :tally
SELECT * FROM seen ORDER BY id;
TRUNCATE seen;
SELECT backfill.alter_pipeline('keys', candidates => 'SELECT id FROM item WHERE at BETWEEN $1 AND $2; -- the newest is not asked for');
CALL backfill.run('keys') \gset
\echo :tally
SELECT * FROM seen ORDER BY id;
-- In a batch a function must name its item, and one of this batch.
SELECT backfill.alter_step('keys', 'three', work => $$ INSERT INTO seen SELECT k, 0 FROM unnest($1) k WHERE backfill._run_context() IS NOT NULL $$);
TRUNCATE seen;
CALL backfill.run('keys') \gset
\echo :tally
SELECT DISTINCT message FROM backfill.step_event WHERE run_id = :run_id ORDER BY message;
SELECT backfill.alter_step('keys', 'three', work => $$ INSERT INTO seen SELECT k, 0 FROM unnest($1) k WHERE backfill._run_context('99') IS NOT NULL $$);
CALL backfill.run('keys') \gset
SELECT DISTINCT message FROM backfill.step_event WHERE run_id = :run_id ORDER BY message;
SELECT * FROM backfill._run_context();
SELECT forget_key();
DROP SCHEMA keys CASCADE;
