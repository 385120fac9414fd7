-- What would happen, and that nothing of it does.
CREATE SCHEMA rehearsal;
SET search_path = rehearsal;
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
CREATE TABLE told (id bigint PRIMARY KEY);
CREATE FUNCTION make(keys bigint[]) RETURNS TABLE (k bigint, outcome backfill.outcome) LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT FROM item i WHERE i.id = ANY (keys) AND i.body = 'poison') THEN
		RAISE EXCEPTION 'poisoned' USING ERRCODE = 'data_exception';
	END IF;
	INSERT INTO output AS o SELECT i.id, i.body FROM item i WHERE i.id = ANY (keys) AND i.body <> 'none'
	ON CONFLICT (id) DO UPDATE SET body = excluded.body;
	PERFORM backfill.count('made', key => t::text), pg_notify('made', t::text) FROM unnest(keys) t;
	RETURN QUERY SELECT i.id, backfill.stop('no_report') FROM item i WHERE i.id = ANY (keys) AND i.body = 'none';
END $$;
CREATE FUNCTION tell(k bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO told VALUES (k);
	PERFORM backfill.emit('email:customer' || k || '@example.com', 'offer', jsonb_build_object('body', (SELECT body FROM output WHERE id = k)), channel => 'mail');
	PERFORM backfill.emit('slack:#team', 'new_' || k, '1');
END $$;
SELECT backfill.create_pipeline('tried', 'SELECT id, arrived_at FROM item WHERE arrived_at >= $1 AND arrived_at < $2', lookback => '3 days', summary_to => 'slack:#ops');
SELECT backfill.add_batch_step('tried', 'make', 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM output o JOIN item i USING (id, body) WHERE o.id = k)',
	'SELECT * FROM make($1)', clear => 'DELETE FROM output WHERE id = ANY ($1)');
SELECT backfill.add_step('tried', 'tell', 'SELECT EXISTS (SELECT FROM told t WHERE t.id = $1)', 'SELECT tell($1)', clear => 'DELETE FROM told WHERE id = $1');
SELECT backfill.create_pipeline('next', 'SELECT id FROM item WHERE $1 < $2', after => 'tried');
SELECT backfill.add_step('next', 'make', 'SELECT $1 > 0', 'SELECT $1');
-- Done, lacking, stale, poisoned, stopped; and one that is too old to be told of.
INSERT INTO item VALUES (1, '2026-11-03 09:00+00', 'a'), (2, '2026-11-03 09:00+00', 'a'), (3, '2026-11-03 09:00+00', 'b'),
	(4, '2026-11-03 09:00+00', 'poison'), (5, '2026-11-03 09:00+00', 'none'), (6, '2026-11-01 09:00+00', 'a');
INSERT INTO output VALUES (1, 'a'), (3, 'a');
INSERT INTO told VALUES (1), (3);

-- All there is, and what of it cannot be rolled back by accident.
CREATE FUNCTION image() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	found text;
	all_of text := '';
BEGIN
	FOR found IN SELECT format('SELECT string_agg(t::text, E''\n'' ORDER BY t::text) FROM %s t', c.oid::regclass) FROM pg_class c
		WHERE c.relkind = 'r' AND c.relnamespace IN ('backfill'::regnamespace, 'rehearsal'::regnamespace) ORDER BY c.oid LOOP
		EXECUTE found INTO found;
		all_of := concat(all_of, found);
	END LOOP;
	RETURN md5(all_of);
END $$;
SELECT image() AS before \gset
LISTEN backfill_run;
LISTEN made;
SELECT * FROM backfill.rehearse('tried');
SELECT channel, recipient, message_type, window_from, would, reason, payload FROM backfill.rehearse_messages('tried') WHERE channel <> 'slack' OR message_type LIKE 'new%';
SELECT image() = :'before' AS as_it_was, (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()) AS locks, backfill.mode();
SELECT count(*) FROM backfill.run;
-- In a transaction of the caller's: the same, and his own work stays his.
BEGIN;
INSERT INTO item VALUES (7, '2026-11-03 09:30+00');
SELECT * FROM backfill.rehearse('tried') WHERE part = 'item';
SELECT count(*) FROM backfill.run;
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid();
COMMIT;
SELECT id FROM item WHERE id = 7;
DELETE FROM item WHERE id = 7;
SELECT image() = :'before' AS as_it_was;

-- The run that follows does what was said.
CREATE TABLE said AS SELECT * FROM backfill.rehearse('tried');
CREATE FUNCTION report_of(first_run bigint) RETURNS TABLE (part text, name text, would text, reason text, items bigint) LANGUAGE sql AS $$
	SELECT 'item', '', i.would, '', sum(i.items)::bigint
	FROM backfill.run r, LATERAL (VALUES ('change', r.changed), ('leave', r.unchanged), ('skip', r.skipped), ('fail', r.failed)) AS i(would, items)
	WHERE r.run_id >= first_run GROUP BY i.would HAVING sum(i.items) > 0
	UNION ALL
	SELECT 'step', c.step, CASE c.status WHEN 'ok' THEN 'do' WHEN 'skipped' THEN 'skip' ELSE 'fail' END, c.reason, sum(c.items)::bigint
	FROM backfill.run_step_count c WHERE c.run_id >= first_run GROUP BY c.step, c.status, c.reason
	UNION ALL
	SELECT 'message', m.channel || ' ' || m.message_type, CASE WHEN e.reason IN ('new', 'opted_in') THEN 'send' WHEN e.state = 'pending' THEN 'wait' WHEN e.state = 'suppressed' THEN 'suppress' ELSE 'not send' END,
		CASE WHEN e.state IN ('pending', 'suppressed') THEN e.reason ELSE e.state END, count(*)
	FROM backfill.emission e JOIN backfill.message m USING (message_id) WHERE e.run_id >= first_run GROUP BY 2, 3, 4 $$;
UNLISTEN *;
CALL backfill.run('tried') \gset
TABLE said EXCEPT ALL SELECT * FROM report_of(:run_id);
SELECT * FROM report_of(:run_id) EXCEPT ALL TABLE said;
SELECT count(*) AS lines, sum(items) FROM said;
SELECT image() = :'before' AS as_it_was;
-- And a rehearsal after that finds it done.
SELECT * FROM backfill.rehearse('tried');

-- Of a replay, over its days: with what was sent, what never was, and what another one suppressed.
DO $$
DECLARE
	claim record;
BEGIN
	FOR claim IN SELECT * FROM backfill.claim_deliveries('mail') LOOP
		PERFORM backfill.mark_sent(ARRAY[claim.message_id], claim.token);
	END LOOP;
END $$;
INSERT INTO item VALUES (8, '2026-11-02 09:00+00');
SELECT image() AS before \gset
SELECT * FROM backfill.rehearse('tried', '2026-11-01', '2026-11-04');
SELECT * FROM backfill.rehearse('tried', '2026-11-01', '2026-11-04', redo => 'all');
SELECT * FROM backfill.rehearse('tried', '2026-11-01', '2026-11-04', redo => 'all', deliver => true);
SELECT message_type, recipient, would, reason FROM backfill.rehearse_messages('tried', '2026-11-01', '2026-11-04', redo => 'all', deliver => true) WHERE channel = 'mail';
SELECT image() = :'before' AS as_it_was;
-- Followed by the replay itself, silent and then opted in.
TRUNCATE said;
INSERT INTO said SELECT * FROM backfill.rehearse('tried', '2026-11-01', '2026-11-04', redo => 'all');
SELECT min(run_id) AS first_run FROM backfill.replay('tried', '2026-11-01', '2026-11-04', redo => 'all') \gset
CALL backfill.run_requested('tried');
TABLE said EXCEPT ALL SELECT * FROM report_of(:first_run);
SELECT * FROM report_of(:first_run) EXCEPT ALL TABLE said;
TRUNCATE said;
INSERT INTO said SELECT * FROM backfill.rehearse('tried', '2026-11-01', '2026-11-04', redo => 'all', deliver => true);
SET client_min_messages = notice;
ALTER TABLE backfill.replay ALTER replay_id RESTART WITH 801;
ALTER TABLE backfill.run ALTER run_id RESTART WITH 8000000001;
SELECT min(run_id) AS first_run FROM backfill.replay('tried', '2026-11-01', '2026-11-04', redo => 'all', deliver => true) \gset
SET client_min_messages = warning;
CALL backfill.run_requested('tried');
TABLE said EXCEPT ALL SELECT * FROM report_of(:first_run);
SELECT * FROM report_of(:first_run) EXCEPT ALL TABLE said;
SELECT sum(items) AS sent FROM said WHERE part = 'message' AND would = 'send';
SELECT count(*) AS slack_and_mail FROM backfill.claim_deliveries('mail');

-- An error inside ends the rehearsal and leaves as little behind: in a check, in the candidate query, in the whole batch.
SELECT image() AS before \gset
CREATE VIEW fragile AS SELECT id, arrived_at, 4 / (id - 2) AS divided FROM item;
SELECT backfill.alter_pipeline('tried', candidates => 'SELECT id, arrived_at FROM fragile WHERE arrived_at >= $1 AND arrived_at < $2 AND divided IS NOT NULL');
SELECT * FROM backfill.rehearse('tried');
SELECT * FROM backfill.rehearse('tried', '2026-11-01', '2026-11-04');
SELECT backfill.alter_pipeline('tried', candidates => 'SELECT id, arrived_at FROM item WHERE arrived_at >= $1 AND arrived_at < $2');
SELECT backfill.alter_step('tried', 'make', lacking => 'SELECT k FROM unnest($1) k WHERE 1 / (k - 2) IS NOT NULL');
SELECT * FROM backfill.rehearse('tried');
BEGIN;
SAVEPOINT here;
SELECT * FROM backfill.rehearse('tried');
ROLLBACK TO here;
SELECT backfill.mode(), count(*) AS locks FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid();
COMMIT;
SELECT backfill.alter_step('tried', 'make', lacking => 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM output o JOIN item i USING (id, body) WHERE o.id = k)');
SELECT image() = :'before' AS as_it_was;
SELECT count(*) FROM backfill.rehearse('tried');

-- What a rehearsal is refused.
SELECT * FROM backfill.rehearse('nowhere');
SELECT * FROM backfill.rehearse('tried', '2026-11-01');
SELECT * FROM backfill.rehearse('tried', NULL, '2026-11-01');
SELECT * FROM backfill.rehearse('tried', '2026-11-01', '2026-11-01 12:00');
SELECT * FROM backfill.rehearse('tried', '2026-11-01', '2026-11-02', redo => 'some');
SELECT * FROM backfill.rehearse('tried', redo => 'all');
SELECT * FROM backfill.rehearse('tried', deliver => true);
SELECT * FROM backfill.rehearse('tried', redo => NULL);
SELECT * FROM backfill.rehearse('tried', deliver => NULL);
CREATE ROLE rehearsal_other;
GRANT EXECUTE ON FUNCTION backfill.rehearse TO rehearsal_other;
SET ROLE rehearsal_other;
SELECT * FROM backfill.rehearse('tried');
RESET ROLE;
REVOKE ALL ON FUNCTION backfill.rehearse FROM rehearsal_other;
DROP ROLE rehearsal_other;
-- More items than the server's sessions can have locks together.
CREATE TABLE many (id bigint PRIMARY KEY);
SELECT backfill.create_pipeline('many', 'SELECT generate_series(1, 30000)::bigint WHERE $1 < $2');
SELECT backfill.add_batch_step('many', 'make', 'SELECT k FROM unnest($1) k LEFT JOIN many m ON m.id = k WHERE m.id IS NULL', 'INSERT INTO many SELECT unnest($1)');
SELECT part, would, items FROM backfill.rehearse('many');
SELECT count(*) FROM many;
SELECT backfill.drop_pipeline('many');
SELECT * FROM backfill.check_invariants();

RESET backfill.test_clock_seconds;
RESET backfill.narrate;
SELECT backfill.drop_pipeline('next'), backfill.drop_pipeline('tried');
TRUNCATE backfill.emission, backfill.superseded, backfill.intervention, backfill.undelivered, backfill.delivery, backfill.message, backfill.counter RESTART IDENTITY;
DROP SCHEMA rehearsal CASCADE;
