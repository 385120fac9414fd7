-- One item: its checks, what a run would make of it now, and what is known of it.
CREATE SCHEMA explain;
SET search_path = explain;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET client_min_messages = warning;
SET backfill.narrate = 'none';
\set SHOW_CONTEXT never
CREATE FUNCTION at_time(at timestamptz) RETURNS void LANGUAGE sql AS $$
	SELECT FROM set_config('backfill.test_clock_seconds', extract(epoch FROM at)::text, false) $$;
SELECT at_time('2026-11-03 10:00+00');

CREATE TABLE item (id bigint PRIMARY KEY, arrived_at timestamptz NOT NULL, body text NOT NULL DEFAULT 'a');
CREATE TABLE output (id bigint PRIMARY KEY, body text NOT NULL);
CREATE FUNCTION make(k bigint) RETURNS backfill.outcome LANGUAGE plpgsql AS $$
DECLARE
	body text := (SELECT i.body FROM item i WHERE i.id = k);
BEGIN
	IF body = 'poison' THEN
		RAISE EXCEPTION 'poisoned' USING ERRCODE = 'data_exception';
	ELSIF body = 'none' THEN
		RETURN backfill.stop('no_report');
	ELSIF body = 'refused' THEN
		RETURN backfill.fail('unreadable');
	END IF;
	INSERT INTO output AS o VALUES (k, body) ON CONFLICT (id) DO UPDATE SET body = excluded.body;
	RETURN backfill.ok('fresh');
END $$;
SELECT backfill.create_pipeline('explained', 'SELECT id, arrived_at FROM item WHERE arrived_at >= $1 AND arrived_at < $2');
SELECT backfill.add_step('explained', 'make', 'SELECT EXISTS (SELECT FROM output o JOIN item i USING (id, body) WHERE o.id = $1)', 'SELECT make($1)');
SELECT backfill.add_step('explained', 'tell', $$ SELECT EXISTS (SELECT FROM backfill.message m WHERE m.pipeline = 'explained' AND m.item = $1::text) $$,
	$$ SELECT backfill.emit('email:customer' || $1 || '@example.com', 'ready', jsonb_build_object('body', (SELECT body FROM output WHERE id = $1))) $$);
SELECT backfill.add_step('explained', 'divide', 'SELECT 1 / ($1 - 6) IS NOT NULL', 'SELECT $1');
INSERT INTO item (id, arrived_at, body) VALUES (1, '2026-11-03 09:00+00', 'a'), (2, '2026-11-03 09:00+00', 'poison'), (3, '2026-11-03 09:00+00', 'none'), (4, '2026-11-03 09:00+00', 'refused'),
	(5, '2026-10-01 09:00+00', 'a'), (6, '2026-11-03 09:00+00', 'a');
SELECT * FROM backfill.explain_item('explained', '1');
SELECT * FROM backfill.explain_item('explained', '2');
SELECT * FROM backfill.explain_item('explained', '3');
SELECT * FROM backfill.explain_item('explained', '4');
\echo too old for the next run; a check that ends the run; no such item
SELECT * FROM backfill.explain_item('explained', '5');
SELECT * FROM backfill.explain_item('explained', '6');
SELECT * FROM backfill.explain_item('explained', '99');
SELECT count(*) FROM output;
SELECT count(*) FROM backfill.message WHERE pipeline = 'explained';
SELECT count(*) AS locks FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid();

-- After two nights.
DELETE FROM item WHERE id = 6;
ALTER TABLE backfill.run ALTER run_id RESTART WITH 9001;
CALL backfill.run('explained') \g /dev/null
SELECT at_time('2026-11-04 02:00+00');
CALL backfill.run('explained') \g /dev/null
CREATE VIEW explained AS SELECT i.id, e.part, e.name, e.state, e.would, e.reason, regexp_replace(e.detail, 'message \d+|, [0-9-]+ [0-9:.]+\+00', '', 'g') AS detail
FROM item i CROSS JOIN LATERAL backfill.explain_item('explained', i.id::text) e;
SELECT part, name, state, would, reason, detail FROM explained WHERE id = 1;
SELECT part, name, state, would, reason, detail FROM explained WHERE id = 2;
-- Changed since: stale is lacking, and the message waits already.
UPDATE item SET body = 'b' WHERE id = 1;
SELECT part, name, state, would, reason, detail FROM explained WHERE id = 1 AND part <> 'history';
-- The watermark decides, as in a run: what arrived since the last one that succeeded is looked at, however long ago that was.
UPDATE backfill.pipeline SET watermark = '2026-10-30' WHERE name = 'explained';
SELECT part, name, state, detail FROM explained WHERE id = 1 AND name = 'candidate';

-- Looking is for when it does not run, too.
SELECT backfill.disable_pipeline('explained');
SELECT part, name, state, would, detail FROM explained WHERE id = 1 AND part <> 'history';
SELECT part, name, would, items FROM backfill.rehearse('explained');
SELECT step, finding FROM backfill.prove('explained');
SELECT backfill.enable_pipeline('explained');

-- Keys of any type, and what cannot be one.
SELECT * FROM backfill.explain_item('explained', ' 01 ') WHERE part = 'item';
SELECT * FROM backfill.explain_item('explained', 'one');
SELECT * FROM backfill.explain_item('explained', NULL);
SELECT * FROM backfill.explain_item('nowhere', '1');
CREATE DOMAIN code AS text CHECK (value ~ '^[A-Z]+$');
SELECT backfill.create_pipeline('coded', $$ SELECT body::code, arrived_at FROM item WHERE arrived_at >= $1 AND arrived_at < $2 AND body ~ '^[A-Z]+$' $$, key_type => 'code');
SELECT backfill.add_step('coded', 'make', $$ SELECT $1 = 'X' $$, 'SELECT $1');
SELECT * FROM backfill.explain_item('coded', 'X');
SELECT * FROM backfill.explain_item('coded', 'it''s');
CREATE ROLE explain_other;
GRANT EXECUTE ON FUNCTION backfill.explain_item TO explain_other;
SET ROLE explain_other;
SELECT * FROM backfill.explain_item('explained', '1');
RESET ROLE;
REVOKE ALL ON FUNCTION backfill.explain_item FROM explain_other;
DROP ROLE explain_other;
SELECT * FROM backfill.check_invariants();

RESET backfill.test_clock_seconds;
RESET backfill.narrate;
SELECT backfill.drop_pipeline('explained'), backfill.drop_pipeline('coded');
TRUNCATE backfill.emission, backfill.superseded, backfill.intervention, backfill.undelivered, backfill.delivery, backfill.message, backfill.counter RESTART IDENTITY;
DROP SCHEMA explain CASCADE;
