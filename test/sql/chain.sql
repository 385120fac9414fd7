-- The chain: what check and work decide for an item, alone and in a batch. One pipeline for all: candidates are the rows
-- of chain.item, and each section brings its own steps.
CREATE SCHEMA chain;
SET search_path = chain;
SET client_min_messages = error;
\set SHOW_CONTEXT never
CREATE TABLE item (id bigint PRIMARY KEY, arrived_at timestamptz NOT NULL DEFAULT now(), behaves text NOT NULL DEFAULT '');
CREATE TABLE output (step text, id bigint, fingerprint text NOT NULL DEFAULT '', PRIMARY KEY (step, id));
SELECT backfill.create_pipeline('chain', $$ SELECT id, arrived_at FROM item WHERE arrived_at >= $1 AND arrived_at < $2 $$);

-- What a run of the pipeline decided: the tally, then item by item, then the counts.
SET backfill.keep_events = 'all';
CREATE VIEW last_run AS SELECT max(run_id) AS run_id FROM backfill.run JOIN backfill.pipeline USING (pipeline_id) WHERE name LIKE 'chain%';
CREATE VIEW decided AS
SELECT string_agg(concat_ws(' ', step, status, nullif(reason, ''), sqlstate, message), ', ' ORDER BY step_event_id) AS decided, item
FROM backfill.step_event JOIN last_run USING (run_id) GROUP BY item ORDER BY length(item), item;
CREATE VIEW counted AS
SELECT step, status, reason, items FROM backfill.run_step_count JOIN last_run USING (run_id) ORDER BY 1, 2, 3;
-- Nothing comes back when the run's figures agree with each other.
CREATE VIEW disagreement AS
SELECT r.run_id, r.candidates, r.changed, r.unchanged, r.skipped, r.failed, r.state
FROM backfill.run r JOIN last_run USING (run_id)
WHERE r.candidates <> r.changed + r.unchanged + r.skipped + r.failed
	OR r.failed <> (SELECT coalesce(sum(items), 0) FROM backfill.run_step_count c WHERE c.run_id = r.run_id AND c.status = 'failed')
	OR r.candidates <> (SELECT sum(items) FROM backfill.run_step_count c JOIN backfill.step s ON s.name = c.step
		WHERE c.run_id = r.run_id AND s.pipeline_id = r.pipeline_id AND s.position = 1);

-- The four ways to end a turn, said by the work of a batch. Row 5 claims success without an output, row 7 says nothing
-- and makes none, row 8 says nothing and makes one.
INSERT INTO item (id, behaves) VALUES (1, 'ok'), (2, 'skip'), (3, 'stop'), (4, 'fail'), (5, 'lie'), (6, 'error'), (7, 'idle'), (8, 'silent'), (9, 'null');
CREATE FUNCTION behave(step text, item_id bigint) RETURNS backfill.outcome LANGUAGE plpgsql AS $$
DECLARE
	behaves CONSTANT text := (SELECT i.behaves FROM chain.item i WHERE i.id = item_id);
BEGIN
	IF behaves = 'error' THEN
		RAISE EXCEPTION 'item % is poisoned', item_id USING ERRCODE = 'P4242', DETAIL = 'Detail is not kept.';
	END IF;
	IF behaves IN ('ok', 'silent', 'null') THEN
		INSERT INTO chain.output VALUES (step, item_id);
	END IF;
	RETURN CASE behaves
		WHEN 'ok' THEN backfill.ok('fresh') WHEN 'skip' THEN backfill.skip('not_needed')
		WHEN 'stop' THEN backfill.stop('no_report') WHEN 'fail' THEN backfill.fail('unreadable')
		WHEN 'lie' THEN backfill.ok() WHEN 'null' THEN ROW(NULL, 'x')::backfill.outcome END;
END $$;
SELECT backfill.add_batch_step('chain', 'first',
	lacking => $$ SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM output o WHERE o.step = 'first' AND o.id = k) $$,
	work => $$ SELECT k, behave('first', k) FROM unnest($1) k WHERE k NOT IN (7) $$);
SELECT backfill.add_batch_step('chain', 'second',
	lacking => $$ SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM output o WHERE o.step = 'second' AND o.id = k) $$,
	work => $$ INSERT INTO output SELECT 'second', k FROM unnest($1) k $$);
CALL backfill.run('chain') \gset
\echo :tally
SELECT * FROM decided;
SELECT * FROM counted;
SELECT * FROM disagreement;
-- Later steps of 3 (stopped) and of 4 to 7 (failed) were not touched.
SELECT step, array_agg(id ORDER BY id) FROM output GROUP BY step ORDER BY step;

-- Skipped done. What stopped or failed is asked again, for no decision to skip reads bookkeeping.
CALL backfill.run('chain') \gset
\echo :tally
SELECT * FROM decided;
SELECT * FROM disagreement;

-- The same, said by the work for one item.
SELECT backfill.drop_step('chain', 'first'), backfill.drop_step('chain', 'second');
TRUNCATE output;
SELECT backfill.add_step('chain', 'first',
	done => $$ SELECT EXISTS (SELECT FROM output WHERE step = 'first' AND id = $1) $$,
	work => $$ SELECT behave('first', $1) WHERE $1 NOT IN (7) $$);
SELECT backfill.add_step('chain', 'second',
	done => $$ SELECT true FROM output WHERE step = 'second' AND id = $1 $$,
	work => $$ INSERT INTO output VALUES ('second', $1) RETURNING backfill.ok() $$);
CALL backfill.run('chain') \gset
\echo :tally
SELECT * FROM decided;
SELECT * FROM disagreement;
SELECT step, array_agg(id ORDER BY id) FROM output GROUP BY step ORDER BY step;
CALL backfill.run('chain') \gset
\echo :tally

-- Work that fails an item by name has written, and what it wrote stays and is not claimed as a change.
SELECT backfill.drop_step('chain', 'first'), backfill.drop_step('chain', 'second');
TRUNCATE item, output;
INSERT INTO item (id) VALUES (1);
SELECT backfill.add_step('chain', 'first', 'SELECT EXISTS (SELECT FROM output WHERE step = ''first'' AND id = $1)',
	'INSERT INTO output VALUES (''first'', $1) RETURNING backfill.fail(''on_second_thought'')');
CALL backfill.run('chain') \gset
\echo :tally
SELECT * FROM output;
SELECT changed, failed FROM backfill.run WHERE run_id = :run_id;
SELECT backfill.drop_step('chain', 'first');

-- Stale output is lacking: it is made again, and there is never a second one.
TRUNCATE item, output;
INSERT INTO item (id, behaves) SELECT i, 'v1' FROM generate_series(1, 3) i;
SELECT backfill.add_batch_step('chain', 'copy',
	$$ SELECT i.id FROM item i LEFT JOIN output o ON o.step = 'copy' AND o.id = i.id AND o.fingerprint = i.behaves WHERE i.id = ANY ($1) AND o.id IS NULL $$,
	$$ INSERT INTO output SELECT 'copy', id, behaves FROM item WHERE id = ANY ($1) ON CONFLICT (step, id) DO UPDATE SET fingerprint = excluded.fingerprint $$);
CALL backfill.run('chain') \gset
\echo :tally
UPDATE item SET behaves = 'v2' WHERE id = 2;
CALL backfill.run('chain') \gset
\echo :tally
SELECT id, fingerprint FROM output ORDER BY id;
SELECT backfill.drop_step('chain', 'copy');

-- An item stopped after any of its steps is completed, and what was there is not written again: row version and place stay.
TRUNCATE item, output;
INSERT INTO item (id) SELECT generate_series(1, 4);
SELECT backfill.add_batch_step('chain', step, format('SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM output o WHERE o.step = %L AND o.id = k)', step),
	format('INSERT INTO output SELECT %L, k FROM unnest($1) k', step)) FROM unnest('{a,b,c}'::text[]) WITH ORDINALITY s(step, n) ORDER BY n;
INSERT INTO output VALUES ('a', 2), ('a', 3), ('b', 3), ('a', 4), ('b', 4), ('c', 4);
CREATE TABLE before AS SELECT step, id, xmin::text AS version, ctid::text AS place FROM output;
CALL backfill.run('chain') \gset
\echo :tally
SELECT * FROM decided;
SELECT count(*) AS rows, count(b.id) AS kept FROM output o LEFT JOIN before b ON (b.step, b.id, b.version, b.place) = (o.step, o.id, o.xmin::text, o.ctid::text);
SELECT backfill.drop_step('chain', s) FROM unnest('{a,b,c}'::text[]) s;

-- One poisoned item in a batch costs only itself, and more than 60 of them are no problem: every third of 300 fails.
TRUNCATE item, output;
INSERT INTO item (id, behaves) SELECT i, CASE WHEN i % 3 = 0 THEN 'error' ELSE 'ok' END FROM generate_series(1, 300) i;
SELECT backfill.add_batch_step('chain', step, format('SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM output o WHERE o.step = %L AND o.id = k)', step),
	format('SELECT k, behave(%L, k) FROM unnest($1) k', step)) FROM unnest('{a,b}'::text[]) WITH ORDINALITY s(step, n) ORDER BY n;
CALL backfill.run('chain') \gset
\echo :tally
SELECT * FROM counted;
SELECT * FROM disagreement;
SELECT step, count(*), count(*) FILTER (WHERE id % 3 = 0) AS wrong FROM output GROUP BY step ORDER BY step;
SELECT count(*) AS events, count(*) FILTER (WHERE sqlstate = 'P4242') AS of_errors FROM backfill.step_event WHERE run_id = :run_id;
-- One bad item among 256 is found by halving: about twice log2(256) commands, not 256.
TRUNCATE item, output;
INSERT INTO item (id, behaves) SELECT i, CASE WHEN i = 100 THEN 'error' ELSE 'ok' END FROM generate_series(1, 256) i;
CREATE SEQUENCE attempted;
CREATE FUNCTION count_call(keys bigint[]) RETURNS bigint[] LANGUAGE sql VOLATILE AS $$ SELECT CASE WHEN nextval('chain.attempted') > 0 THEN keys END $$;
SELECT backfill.alter_step('chain', 'a', work => $$ SELECT k, behave('a', k) FROM unnest(count_call($1)) k $$), backfill.drop_step('chain', 'b');
CALL backfill.run('chain') \gset
\echo :tally
SELECT last_value BETWEEN 10 AND 20 AS few_commands FROM attempted;
-- What a server says when somebody stops it, raised by an item's own work (passed on from another server): it is that
-- item's, and costs it alone.
TRUNCATE item, output;
INSERT INTO item (id, behaves) VALUES (301, 'ok'), (302, '57014'), (303, 'ok'), (304, '57P01');
CREATE FUNCTION behave_remotely(item_id bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	state CONSTANT text := (SELECT i.behaves FROM chain.item i WHERE i.id = item_id);
BEGIN
	IF state <> 'ok' THEN
		RAISE EXCEPTION 'stopped over there' USING ERRCODE = state;
	END IF;
	INSERT INTO chain.output VALUES ('a', item_id);
END $$;
SELECT backfill.alter_step('chain', 'a', work => $$ SELECT behave_remotely(k) FROM unnest($1) k $$);
CALL backfill.run('chain') \gset
\echo :tally
SELECT * FROM decided;
SELECT backfill.drop_step('chain', 'a');

-- Fifty steps, each failing for one item of its own while the others go on.
TRUNCATE item, output;
INSERT INTO item (id) SELECT generate_series(1, 60);
SELECT count(backfill.add_batch_step('chain', 'step_' || n, format('SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM output o WHERE o.step = %L AND o.id = k)', 'step_' || n),
	format('INSERT INTO output SELECT %L, k FROM unnest($1) k WHERE 1 / (k - %s) IS NOT NULL', 'step_' || n, n))) FROM generate_series(1, 50) n;
SELECT backfill.add_step('chain', 'too_many', 'SELECT $1 > 0', 'SELECT $1');
CALL backfill.run('chain') \gset
\echo :tally
SELECT * FROM disagreement;
SELECT count(*) FROM output;
-- 50 items short-circuit, each at the step of its number; ten go all the way.
SELECT count(*) FROM (SELECT item FROM backfill.step_event WHERE run_id = :run_id AND status = 'failed' AND step = 'step_' || item) each_at_its_own;
CALL backfill.run('chain') \gset
\echo :tally
SELECT count(*) FROM output;
SELECT backfill.drop_pipeline('chain');
DROP SCHEMA chain CASCADE;
