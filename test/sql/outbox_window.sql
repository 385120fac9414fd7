-- Windows that are cut anew: who was told once may be told again, and whoever changes the slot or the time zone hears of it.
CREATE SCHEMA cut;
SET search_path = cut;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET client_min_messages = warning;
SET backfill.narrate = 'none';
\set SHOW_CONTEXT never
CREATE FUNCTION at_time(at timestamptz) RETURNS void LANGUAGE sql AS $$
	SELECT FROM set_config('backfill.test_clock_seconds', extract(epoch FROM at)::text, false) $$;
SELECT at_time('2026-11-03 22:00+00');
CREATE TABLE item (id bigint PRIMARY KEY, at timestamptz, v integer);
CREATE TABLE output (id bigint PRIMARY KEY, v integer);
INSERT INTO item VALUES (1, '2026-11-03 21:00+00', 1);
SELECT backfill.create_pipeline('cut', 'SELECT id, at FROM item WHERE at >= $1 AND at < $2');
SELECT backfill.add_step('cut', 'tell', 'SELECT EXISTS (SELECT FROM output JOIN item USING (id, v) WHERE id = $1)',
	$$ WITH o AS (INSERT INTO output SELECT id, v FROM item WHERE id = $1 ON CONFLICT (id) DO UPDATE SET v = excluded.v RETURNING v)
		SELECT backfill.emit('slack:#ops', 'welcome', to_jsonb(v)) FROM o $$);
-- Nothing was told yet.
SELECT backfill.alter_pipeline('cut', timezone => 'Asia/Kolkata');
SELECT backfill.alter_pipeline('cut', timezone => 'UTC');
CALL backfill.run('cut') \g /dev/null
SELECT backfill.mark_sent(array_agg(message_id), min(token)) FROM backfill.claim_deliveries('slack');
-- Neither when it stays as it is, nor when something else changes.
SELECT backfill.alter_pipeline('cut', timezone => 'UTC', slot => 'day', lookback => '2 days');
SELECT backfill.alter_pipeline('cut', timezone => 'Asia/Kolkata');
UPDATE item SET v = 2;
CALL backfill.run('cut') \g /dev/null
SELECT window_from, state, payload FROM backfill.outbox WHERE pipeline = 'cut' ORDER BY message_id;
SELECT backfill.alter_pipeline('cut', slot => 'hour');
-- Not when it is too old to be told at all; in longer windows it may be young again.
SELECT at_time('2026-11-04 20:01+00');
SELECT backfill.alter_pipeline('cut', timezone => 'UTC');
SELECT at_time('2026-11-06 12:00+00');
SELECT backfill.alter_pipeline('cut', slot => 'day');
SELECT backfill.alter_pipeline('cut', slot => 'week');
SELECT backfill.alter_pipeline('cut', slot => 'day', delivery_max_age => '6 days');
SELECT * FROM backfill.check_invariants();

SELECT backfill.drop_pipeline('cut');
RESET backfill.test_clock_seconds;
TRUNCATE backfill.emission, backfill.superseded, backfill.intervention, backfill.undelivered, backfill.delivery, backfill.message RESTART IDENTITY;
DROP SCHEMA cut CASCADE;
