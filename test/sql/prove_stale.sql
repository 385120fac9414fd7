-- Proving: a check that does not see that an output was made from older inputs is found, also where the work leaves alone what is there.
CREATE SCHEMA prove_stale;
SET search_path = prove_stale;
SET client_min_messages = warning;
SET backfill.narrate = 'none';
CREATE TABLE input (id bigint PRIMARY KEY, v integer, status text NOT NULL DEFAULT 'new', arrived_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE output (id bigint PRIMARY KEY, v integer);
INSERT INTO input (id, v) SELECT n, n * 10 FROM generate_series(1, 5) n;
SELECT backfill.create_pipeline('stale', 'SELECT id, arrived_at FROM input WHERE arrived_at >= $1 AND arrived_at < $2');
CREATE FUNCTION prove_step(done text, work text, clear text DEFAULT NULL)
	RETURNS TABLE (step text, finding text, items bigint, detail text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM backfill.drop_step('stale', s.name) FROM backfill.step s JOIN backfill.pipeline p USING (pipeline_id) WHERE p.name = 'stale';
	PERFORM backfill.add_step('stale', 'copy', done => done, work => work, clear => clear);
	RETURN QUERY SELECT p.step, p.finding, p.items, p.detail FROM backfill.prove('stale') p;
END $$;
CREATE FUNCTION prove_batch(lacking text, work text, clear text DEFAULT NULL)
	RETURNS TABLE (step text, finding text, items bigint, detail text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM backfill.drop_step('stale', s.name) FROM backfill.step s JOIN backfill.pipeline p USING (pipeline_id) WHERE p.name = 'stale';
	PERFORM backfill.add_batch_step('stale', 'copy', lacking => lacking, work => work, clear => clear);
	RETURN QUERY SELECT p.step, p.finding, p.items, p.detail FROM backfill.prove('stale') p;
END $$;
\set exists '''SELECT EXISTS (SELECT FROM output WHERE id = $1)'''
\set absent '''SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM output o WHERE o.id = k)'''

\echo a key that refuses, one that is passed by, one that is replaced, an output that can be cleared
SELECT * FROM prove_step(:exists, 'INSERT INTO output SELECT id, v FROM input WHERE id = $1');
SELECT * FROM prove_step(:exists, 'INSERT INTO output SELECT id, v FROM input WHERE id = $1 ON CONFLICT DO NOTHING');
SELECT * FROM prove_step(:exists, 'INSERT INTO output SELECT id, v FROM input WHERE id = $1 ON CONFLICT (id) DO UPDATE SET v = excluded.v');
SELECT * FROM prove_step(:exists, 'INSERT INTO output SELECT id, v FROM input WHERE id = $1', 'DELETE FROM output WHERE id = $1');
SELECT * FROM prove_step(:exists, 'INSERT INTO output SELECT id, v FROM input WHERE id = $1 ON CONFLICT DO NOTHING', 'DELETE FROM output WHERE id = $1');
\echo in a batch
SELECT * FROM prove_batch(:absent, 'INSERT INTO output SELECT id, v FROM input WHERE id = ANY ($1)');
SELECT * FROM prove_batch(:absent, 'INSERT INTO output SELECT id, v FROM input WHERE id = ANY ($1) ON CONFLICT DO NOTHING');
SELECT * FROM prove_batch(:absent, 'INSERT INTO output SELECT id, v FROM input WHERE id = ANY ($1)', 'DELETE FROM output WHERE id = ANY ($1)');
\echo a negative answer that is recorded
SELECT * FROM prove_batch(:absent, $$ WITH o AS (INSERT INTO output SELECT id, v FROM input WHERE id = ANY ($1) RETURNING id, v)
	SELECT id, backfill.skip('odd') FROM o $$);
\echo some are there already: found with the others
INSERT INTO output SELECT id, v FROM input WHERE id <= 2;
SELECT * FROM prove_step(:exists, 'INSERT INTO output SELECT id, v FROM input WHERE id = $1');
\echo all are there already: only clearing them shows it
INSERT INTO output SELECT id, v FROM input ON CONFLICT DO NOTHING;
SELECT * FROM prove_step(:exists, 'INSERT INTO output SELECT id, v FROM input WHERE id = $1');
SELECT * FROM prove_step(:exists, 'INSERT INTO output SELECT id, v FROM input WHERE id = $1', 'DELETE FROM output WHERE id = $1');
TRUNCATE output;

\echo a check that sees it, whatever the work
SELECT * FROM prove_step('SELECT EXISTS (SELECT FROM output JOIN input USING (id, v) WHERE id = $1)',
	'INSERT INTO output SELECT id, v FROM input WHERE id = $1', 'DELETE FROM output WHERE id = $1');
SELECT * FROM prove_step('SELECT EXISTS (SELECT FROM output JOIN input USING (id, v) WHERE id = $1)',
	'INSERT INTO output SELECT id, v FROM input WHERE id = $1 ON CONFLICT (id) DO UPDATE SET v = excluded.v');
\echo columns that do not matter, and one that says for which items there is anything to make
SELECT * FROM prove_step(:exists, 'INSERT INTO output SELECT id, 1 FROM input WHERE id = $1');
SELECT * FROM prove_step(:exists, $$ INSERT INTO output SELECT id, 1 FROM input WHERE id = $1 AND status = 'new' $$);
\echo a value that the output refuses: nobody knows whether it matters
ALTER TABLE output ADD CHECK (v % 10 = 0);
SELECT * FROM prove_step(:exists, 'INSERT INTO output SELECT id, v FROM input WHERE id = $1');
SELECT hint FROM backfill.prove('stale');
\echo a value that it refuses of some items
UPDATE input SET v = 9 WHERE id > 3;
ALTER TABLE output DROP CONSTRAINT output_v_check;
ALTER TABLE output ADD CHECK (v < 20);
SELECT * FROM prove_step(:exists, 'INSERT INTO output SELECT id, v FROM input WHERE id = $1');
ALTER TABLE output DROP CONSTRAINT output_v_check;
\echo a value that the input refuses, and a type that no other value is known of
ALTER TABLE input ADD state text DEFAULT 'new' CHECK (state IN ('new', 'old')), ADD about jsonb DEFAULT '{}', ADD none uuid;
SELECT * FROM prove_step('SELECT EXISTS (SELECT FROM output JOIN input USING (id, v) WHERE id = $1)',
	'INSERT INTO output SELECT id, v FROM input WHERE id = $1 ON CONFLICT (id) DO UPDATE SET v = excluded.v');
SELECT hint FROM backfill.prove('stale');
ALTER TABLE input DROP state, DROP about, DROP none;
SELECT count(*) FROM output;

\echo a later step is tried with what the earlier ones make
CREATE TABLE later (id bigint PRIMARY KEY, v integer);
SELECT * FROM prove_step('SELECT EXISTS (SELECT FROM output JOIN input USING (id) WHERE id = $1 AND output.v = input.v + 1)',
	'INSERT INTO output SELECT id, v + 1 FROM input WHERE id = $1 ON CONFLICT (id) DO UPDATE SET v = excluded.v');
SELECT backfill.add_step('stale', 'later', done => 'SELECT EXISTS (SELECT FROM later WHERE id = $1)',
	work => 'INSERT INTO later SELECT id, v FROM output WHERE id = $1');
SELECT step, finding, items, detail FROM backfill.prove('stale');
\echo which may keep what it has while the same is said
CREATE TABLE numbered (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id bigint UNIQUE, tens integer, v integer);
CREATE TABLE last (id bigint PRIMARY KEY, tens integer, made_of bigint);
SELECT backfill.alter_step('stale', 'copy', done => 'SELECT EXISTS (SELECT FROM numbered n JOIN input USING (id, v) WHERE id = $1)',
	work => 'INSERT INTO numbered (id, tens, v) SELECT id, v / 10, v FROM input WHERE id = $1', clear => 'DELETE FROM numbered WHERE id = $1');
SELECT backfill.alter_step('stale', 'later', done => 'SELECT EXISTS (SELECT FROM last JOIN numbered USING (id, tens) WHERE id = $1)',
	work => 'INSERT INTO last SELECT id, tens, number FROM numbered WHERE id = $1');
SELECT step, finding, items, detail FROM backfill.prove('stale');
SELECT backfill.alter_step('stale', 'later', work => 'INSERT INTO last SELECT id, tens, number FROM numbered WHERE id = $1
	ON CONFLICT (id) DO UPDATE SET (tens, made_of) = (excluded.tens, excluded.made_of)');
SELECT step, finding, items, detail FROM backfill.prove('stale');
SELECT count(*) FROM output;
SELECT count(*) FROM later;

\echo when no item gets through any step, nothing is tried
SELECT backfill.drop_step('stale', 'later'), backfill.alter_step('stale', 'copy', work => 'INSERT INTO numbered (id) SELECT id / 0 FROM input WHERE id = $1');
SELECT * FROM backfill.prove('stale');

RESET backfill.narrate;
SELECT backfill.drop_pipeline('stale');
DROP SCHEMA prove_stale CASCADE;
