-- Proving: what is not safe to run twice is found and its step is named, what is safe is proven, and nothing stays.
CREATE SCHEMA prove;
SET search_path = prove;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET client_min_messages = warning;
SET backfill.narrate = 'none';
\set SHOW_CONTEXT never

CREATE TABLE sale (id bigint PRIMARY KEY, amount numeric NOT NULL, email text, arrived_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE invoice (sale_id bigint PRIMARY KEY, total numeric, made_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE tax (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, sale_id bigint UNIQUE, amount numeric, invoices bigint[]);
CREATE TABLE odd (k bigint PRIMARY KEY, n bigint NOT NULL DEFAULT 0, t text, at timestamptz);
CREATE TABLE loose (k bigint NOT NULL, note text);
CREATE TABLE dated (k bigint PRIMARY KEY, at timestamptz NOT NULL DEFAULT now());
CREATE SEQUENCE number;
INSERT INTO sale (id, amount, email) SELECT n, n * 10, CASE WHEN n % 2 = 0 THEN 'customer' || n || '@example.com' END FROM generate_series(1, 20) n;

-- The README's pipeline and more: an upsert, a surrogate key and copies of it, a time of making, messages, a skip that is
-- recorded, a poisoned item, a work that a unique key refuses.
CREATE FUNCTION make_tax(keys bigint[]) RETURNS TABLE (k bigint, outcome backfill.outcome) LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT FROM sale WHERE id = ANY (keys) AND amount = 70) THEN
		RAISE EXCEPTION 'poisoned' USING ERRCODE = 'data_exception';
	END IF;
	DELETE FROM tax t WHERE t.sale_id = ANY (keys);
	INSERT INTO tax (sale_id, amount) SELECT id, amount FROM sale WHERE id = ANY (keys) ORDER BY id;
	UPDATE tax t SET invoices = ARRAY[t.id] WHERE t.sale_id = ANY (keys);
	PERFORM backfill.count('taxed', key => s.id::text, amount => s.amount) FROM sale s WHERE s.id = ANY (keys);
	RETURN QUERY SELECT id, backfill.skip('small') FROM sale WHERE id = ANY (keys) AND amount < 50;
END $$;
SELECT backfill.create_pipeline('sound', 'SELECT id, arrived_at FROM sale WHERE arrived_at >= $1 AND arrived_at < $2');
SELECT backfill.add_batch_step('sound', 'write_invoice',
	lacking => 'SELECT s.id FROM sale s LEFT JOIN invoice i ON i.sale_id = s.id AND i.total = s.amount * 1.18 WHERE s.id = ANY ($1) AND i.sale_id IS NULL',
	work => 'INSERT INTO invoice SELECT id, amount * 1.18 FROM sale WHERE id = ANY ($1) ON CONFLICT (sale_id) DO UPDATE SET total = excluded.total');
SELECT backfill.add_batch_step('sound', 'make_tax',
	lacking => 'SELECT s.id FROM sale s LEFT JOIN tax t ON t.sale_id = s.id AND t.amount = s.amount WHERE s.id = ANY ($1) AND t.id IS NULL',
	work => 'SELECT * FROM make_tax($1)', clear => 'DELETE FROM tax WHERE sale_id = ANY ($1)');
SELECT backfill.add_step('sound', 'tell',
	done => $$ SELECT NOT EXISTS (SELECT FROM sale s WHERE s.id = $1 AND s.email IS NOT NULL)
		OR EXISTS (SELECT FROM backfill.message m WHERE m.pipeline = 'sound' AND m.item = $1::text) $$,
	work => $$ SELECT backfill.emit('email:' || email, 'invoice_ready', jsonb_build_object('sale', id)) FROM sale WHERE id = $1 $$);
SELECT backfill.add_step('sound', 'note', done => 'SELECT EXISTS (SELECT FROM odd WHERE k = $1)', work => 'INSERT INTO odd (k) VALUES ($1)');

-- All there is: rows, and what a transaction leaves to its end.
CREATE FUNCTION image() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	found text;
	all_of text := '';
BEGIN
	FOR found IN SELECT format('SELECT string_agg(t::text, E''\n'' ORDER BY t::text) FROM %s t', c.oid::regclass) FROM pg_class c
		WHERE c.relkind = 'r' AND c.relnamespace IN ('backfill'::regnamespace, 'prove'::regnamespace) ORDER BY c.oid LOOP
		EXECUTE found INTO found;
		all_of := concat(all_of, found);
	END LOOP;
	RETURN md5(all_of);
END $$;
CREATE VIEW left_behind AS SELECT locktype, objid FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid();
LISTEN prove;
LISTEN backfill_run;
SELECT image() AS before \gset
SELECT * FROM backfill.prove('sound');
SELECT * FROM backfill.prove('sound', items => 3);
SELECT image() = :'before' AS as_it_was, backfill.mode(), now() = statement_timestamp() AS now_is_now;
SELECT * FROM left_behind;
-- In a transaction of the caller's: his own work stays his, and the time is what it was.
BEGIN;
INSERT INTO sale VALUES (21, 5, NULL);
SELECT now() AS started \gset
SELECT step, finding, items FROM backfill.prove('sound');
SELECT now() = :'started' AS same_time;
SELECT * FROM left_behind;
ROLLBACK;
SELECT image() = :'before' AS as_it_was;
-- When all is done, a step that can be cleared is made again; another is done over what is there.
UNLISTEN backfill_run;
CALL backfill.run('sound') \g /dev/null
SELECT image() AS before \gset
SELECT * FROM backfill.prove('sound');
SELECT image() = :'before' AS as_it_was;
TRUNCATE odd;

-- Broken ones. Each is one step of one pipeline between two sound ones.
SELECT backfill.create_pipeline('broken', 'SELECT id, arrived_at FROM sale WHERE arrived_at >= $1 AND arrived_at < $2 AND id <= 5');
CREATE TABLE first (k bigint PRIMARY KEY);
CREATE TABLE last (k bigint PRIMARY KEY);
SELECT backfill.add_step('broken', 'first', done => 'SELECT EXISTS (SELECT FROM first WHERE k = $1)', work => 'INSERT INTO first VALUES ($1)');
SELECT backfill.add_batch_step('broken', 'step', lacking => 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM odd o WHERE o.k = k.k)',
	work => 'INSERT INTO odd (k) SELECT k FROM unnest($1) k ON CONFLICT DO NOTHING');
SELECT backfill.add_step('broken', 'last', done => 'SELECT EXISTS (SELECT FROM last WHERE k = $1)', work => 'INSERT INTO last VALUES ($1)');
CREATE FUNCTION prove_with(lacking text DEFAULT NULL, work text DEFAULT NULL, clear text DEFAULT '')
	RETURNS TABLE (step text, finding text, items bigint, detail text, hint text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM backfill.alter_step('broken', 'step',
		lacking => coalesce(lacking, 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM odd o WHERE o.k = k.k)'),
		work => coalesce(work, 'INSERT INTO odd (k) SELECT k FROM unnest($1) k ON CONFLICT DO NOTHING'), clear => clear);
	RETURN QUERY SELECT * FROM backfill.prove('broken');
END $$;
SELECT image() AS before \gset
SELECT * FROM prove_with();
\echo an upsert that counts up
SELECT * FROM prove_with(work => 'INSERT INTO odd AS o (k, n) SELECT k, 1 FROM unnest($1) k ON CONFLICT (k) DO UPDATE SET n = o.n + 1');
\echo an insert without a key
SELECT * FROM prove_with(lacking => 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM loose o WHERE o.k = k.k)', work => 'INSERT INTO loose SELECT k FROM unnest($1) k');
\echo now() in an output
SELECT * FROM prove_with(work => 'INSERT INTO odd (k, at) SELECT k, now() FROM unnest($1) k ON CONFLICT DO NOTHING');
SELECT * FROM prove_with(work => 'INSERT INTO odd (k, t) SELECT k, CURRENT_DATE FROM unnest($1) k ON CONFLICT DO NOTHING');
\echo but in a column with that DEFAULT it says when the row was written
SELECT * FROM prove_with(lacking => 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM dated d WHERE d.k = k.k)',
	work => 'INSERT INTO dated SELECT k, now() FROM unnest($1) k ON CONFLICT DO NOTHING');
\echo a clock that runs on in an output
SELECT * FROM prove_with(work => 'INSERT INTO odd (k, at) SELECT k, clock_timestamp() FROM unnest($1) k ON CONFLICT DO NOTHING');
\echo random() in an output
SELECT * FROM prove_with(work => 'INSERT INTO odd (k, t) SELECT k, random() FROM unnest($1) k ON CONFLICT DO NOTHING');
\echo outputs dealt out at random
SELECT * FROM prove_with(work => 'INSERT INTO odd (k, n) SELECT k, row_number() OVER (ORDER BY random()) FROM unnest($1 || ARRAY[101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112]::bigint[]) k ON CONFLICT DO NOTHING');
\echo a sequence burnt in an output
SELECT * FROM prove_with(work => $$ INSERT INTO odd (k, n) SELECT k, nextval('number') FROM unnest($1) k ON CONFLICT DO NOTHING $$);
\echo a message emitted anew: under another key, with another payload, with the time in it
SELECT * FROM prove_with(work => $$ WITH o AS (INSERT INTO odd (k) SELECT k FROM unnest($1) k ON CONFLICT DO NOTHING)
	SELECT backfill.emit('slack:#team', 'made_' || floor(random() * 1e9)::bigint, '{}', key => k) FROM unnest($1) k $$);
SELECT * FROM prove_with(work => $$ WITH o AS (INSERT INTO odd AS o (k) SELECT k FROM unnest($1) k ON CONFLICT (k) DO UPDATE SET t = 'told' WHERE o.t IS NULL)
	SELECT backfill.emit('slack:#team', 'made_' || k, jsonb_build_object('is', (SELECT t FROM odd o WHERE o.k = k.k)), key => k) FROM unnest($1) k $$);
SELECT * FROM prove_with(work => $$ WITH o AS (INSERT INTO odd (k) SELECT k FROM unnest($1) k ON CONFLICT DO NOTHING)
	SELECT backfill.emit('slack:#team', 'made_' || k, jsonb_build_object('at', now()), key => k) FROM unnest($1) k $$);
\echo a pass that tells of items it makes nothing for, and never the same
SELECT * FROM prove_with(work => $$ SELECT k, CASE WHEN backfill.emit('slack:#team', 'seen_' || k || '_' || floor(random() * 1e9)::bigint, '{}', key => k) > 0
	THEN backfill.skip('nothing') END FROM unnest($1) k $$);
\echo NOTIFY
CREATE FUNCTION shout(keys bigint[]) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
	INSERT INTO odd (k) SELECT k FROM unnest(keys) k ON CONFLICT DO NOTHING; NOTIFY prove, 'made'; END $$;
SELECT * FROM prove_with(work => 'SELECT shout($1)');
SELECT * FROM prove_with(work => $$ WITH o AS (INSERT INTO odd (k) SELECT k FROM unnest($1) k ON CONFLICT DO NOTHING) SELECT pg_notify('prove', 'made') $$);
\echo a check that writes, locks, takes numbers, notifies
CREATE FUNCTION ask(keys bigint[], how text) RETURNS SETOF bigint LANGUAGE plpgsql AS $$ BEGIN
	CASE how WHEN 'writes' THEN INSERT INTO loose SELECT k FROM unnest(keys) k;
		WHEN 'locks' THEN PERFORM FROM sale FOR UPDATE;
		WHEN 'takes' THEN PERFORM nextval('number');
		WHEN 'notifies' THEN PERFORM pg_notify('prove', 'asked'); END CASE;
	RETURN QUERY SELECT k FROM unnest(keys) k WHERE NOT EXISTS (SELECT FROM odd o WHERE o.k = k.k);
END $$;
SELECT * FROM prove_with(lacking => $$ SELECT ask($1, 'writes') $$);
SELECT * FROM prove_with(lacking => $$ SELECT ask($1, 'locks') $$);
SELECT * FROM prove_with(lacking => $$ SELECT ask($1, 'takes') $$);
SELECT * FROM prove_with(lacking => $$ SELECT ask($1, 'notifies') $$);
\echo a check that is true for the wrong inputs: for any key once there is one
SELECT * FROM prove_with(lacking => 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM odd)');
\echo for smaller keys, and for larger ones
SELECT * FROM prove_with(lacking => 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM odd o WHERE o.k >= k.k)');
SELECT * FROM prove_with(lacking => 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM odd o WHERE o.k <= k.k)');
\echo for outputs made from older inputs
SELECT * FROM prove_with(work => 'INSERT INTO odd AS o (k, n) SELECT id, amount FROM sale WHERE id = ANY ($1) ON CONFLICT (k) DO UPDATE SET n = excluded.n');
SELECT * FROM prove_with(work => 'INSERT INTO odd AS o (k, n) SELECT id, amount FROM sale WHERE id = ANY ($1) ON CONFLICT (k) DO UPDATE SET n = excluded.n',
	lacking => 'SELECT id FROM sale s WHERE id = ANY ($1) AND NOT EXISTS (SELECT FROM odd o WHERE (o.k, o.n) = (s.id, s.amount))');
\echo a check that never finds what the work made
SELECT * FROM prove_with(lacking => 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM odd o WHERE o.k = -k.k)');
\echo a check that knows a batch from a key, and one that throws dice
SELECT * FROM prove_with(lacking => 'SELECT k FROM unnest($1) k WHERE cardinality($1) > 1 AND NOT EXISTS (SELECT FROM odd o WHERE o.k = k.k)');
SELECT setseed(0.5) \g /dev/null
SELECT DISTINCT step, finding FROM prove_with(lacking => 'SELECT k FROM unnest($1) k, generate_series(1, 40) WHERE random() < 0.02 AND NOT EXISTS (SELECT FROM odd o WHERE o.k = k.k)') p
WHERE p.finding = 'check_unsteady';
\echo a check by the clock
SELECT * FROM prove_with(lacking => $$ SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM odd o WHERE o.k = k.k AND now() < (SELECT max(arrived_at) FROM sale) + interval '30 days') $$);
\echo a pass that writes of items it makes nothing for
SELECT * FROM prove_with(work => $$ WITH w AS (INSERT INTO loose SELECT k FROM unnest($1) k) SELECT k, backfill.stop('nothing') FROM unnest($1) k $$);
SELECT count(*) FROM prove_with();
SELECT image() = :'before' AS as_it_was;

-- Outputs that are there already and are stale: the check does not look.
INSERT INTO odd (k, n) SELECT id, amount FROM sale WHERE id <= 5;
UPDATE sale SET amount = 11 WHERE id = 1;
INSERT INTO first SELECT id FROM sale;
SELECT * FROM prove_with(work => 'INSERT INTO odd AS o (k, n) SELECT id, amount FROM sale WHERE id = ANY ($1) ON CONFLICT (k) DO UPDATE SET n = excluded.n WHERE o.n <> excluded.n');
SELECT * FROM prove_with(lacking => 'SELECT id FROM sale s WHERE id = ANY ($1) AND NOT EXISTS (SELECT FROM odd o WHERE (o.k, o.n) = (s.id, s.amount))',
	work => 'INSERT INTO odd AS o (k, n) SELECT id, amount FROM sale WHERE id = ANY ($1) ON CONFLICT (k) DO UPDATE SET n = excluded.n WHERE o.n <> excluded.n');
-- All done, and the work counts up.
SELECT * FROM prove_with(work => 'INSERT INTO odd AS o (k, n) SELECT k, 1 FROM unnest($1) k ON CONFLICT (k) DO UPDATE SET n = o.n + 1');
-- Clearing leaves the check content: nothing is there.
SELECT * FROM prove_with(lacking => 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM first f WHERE f.k = k.k)', clear => 'DELETE FROM odd WHERE k = ANY ($1)');

-- What it is refused, and nothing to try.
SELECT * FROM backfill.prove('nowhere');
SELECT * FROM backfill.prove('sound', items => 0);
SELECT * FROM backfill.prove('sound', items => 257);
SELECT * FROM backfill.prove(NULL);
SELECT backfill.disable_pipeline('broken');
SELECT * FROM backfill.prove('broken');
BEGIN;
SELECT pg_notify('prove', 'of the caller');
SELECT * FROM backfill.prove('sound');
ROLLBACK;
SET track_counts = off;
SELECT * FROM backfill.prove('sound');
RESET track_counts;
UPDATE sale SET arrived_at = '2001-01-01';
SELECT * FROM backfill.prove('sound');
UPDATE sale SET arrived_at = now() - interval '60 days';
SELECT step, finding, items FROM backfill.prove('sound');
CREATE ROLE prove_other;
GRANT EXECUTE ON FUNCTION backfill.prove TO prove_other;
SET ROLE prove_other;
SELECT * FROM backfill.prove('sound');
RESET ROLE;
-- Its owner may. Inputs are changed with the rights of their own owner, and only where he may do so too.
UPDATE sale SET arrived_at = now();
TRUNCATE odd;
GRANT USAGE ON SCHEMA prove TO prove_other;
GRANT SELECT ON sale TO prove_other;
GRANT SELECT, INSERT, UPDATE ON odd TO prove_other;
SELECT backfill.create_pipeline('owned', 'SELECT id, arrived_at FROM sale WHERE arrived_at >= $1 AND arrived_at < $2');
SELECT backfill.add_batch_step('owned', 'step', lacking => 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM odd o WHERE o.k = k.k)',
	work => 'INSERT INTO odd AS o (k, n) SELECT id, amount FROM sale WHERE id = ANY ($1) ON CONFLICT (k) DO UPDATE SET n = excluded.n');
UPDATE backfill.pipeline SET owner = 'prove_other' WHERE name = 'owned';
CREATE FUNCTION who() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	IF current_user = 'prove_other' THEN RAISE 'a trigger of the input ran as %', current_user; END IF; RETURN new; END $$;
CREATE TRIGGER who BEFORE UPDATE ON sale FOR EACH ROW EXECUTE FUNCTION who();
SET ROLE prove_other;
SELECT step, finding, items, detail FROM backfill.prove('owned');
RESET ROLE;
GRANT UPDATE ON sale TO prove_other;
SET ROLE prove_other;
SELECT step, finding, items, detail FROM backfill.prove('owned');
RESET ROLE;
SELECT count(*) FROM odd;
SELECT backfill.drop_pipeline('owned');
REVOKE ALL ON FUNCTION backfill.prove FROM prove_other;
DROP OWNED BY prove_other;
DROP ROLE prove_other;
SELECT * FROM backfill.check_invariants();

RESET backfill.narrate;
SELECT backfill.drop_pipeline('sound'), backfill.drop_pipeline('broken');
TRUNCATE backfill.emission, backfill.superseded, backfill.intervention, backfill.undelivered, backfill.delivery, backfill.message, backfill.counter RESTART IDENTITY;
DROP SCHEMA prove CASCADE;
