-- What a run tells: keys, windows, modes and what is refused.
\set VERBOSITY default
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SET client_min_messages = warning;
SET backfill.narrate = 'none';
SET datestyle = 'ISO';
CREATE SCHEMA told;
SET search_path = told;

-- Outside a run nothing is told and nothing is counted.
SELECT backfill.emit('slack:#ops', 'note', '{}');
SELECT backfill.count('notes');

CREATE TABLE item (id bigint PRIMARY KEY, at timestamptz, who text, kind text DEFAULT 'note', payload jsonb DEFAULT '{}', channel text);
CREATE TABLE done (id bigint PRIMARY KEY);
SELECT backfill.create_pipeline('told', 'SELECT id, at FROM told.item WHERE $1 < $2', slot => 'day', timezone => 'Europe/Berlin', delivery_max_age => '100 years');
SELECT backfill.add_step('told', 'tell', done => 'SELECT EXISTS (SELECT FROM told.done WHERE id = $1)',
	work => $$ WITH d AS (INSERT INTO told.done VALUES ($1))
		SELECT backfill.emit(i.who, i.kind, i.payload, i.channel), backfill.count('told') FROM told.item i WHERE i.id = $1 $$);

-- A message belongs to the slot of its item's time in the pipeline's zone, here days of 24, 25 and 23 hours.
INSERT INTO item VALUES (1, '2026-10-24 23:30+00', 'email:a@b.example'), (2, '2026-10-24 21:30+00', 'email:a@b.example'),
	(3, '2026-03-29 10:00+02', 'slack:#ops'), (4, '2026-10-25 23:00+00', 'webhook:crm'), (5, '2026-10-25 22:59:59.999999+00', 'nats:a.b');
CALL backfill.run('told') \g /dev/null
SELECT recipient, window_from, window_to, window_to - window_from AS length, channel, state FROM backfill.outbox ORDER BY message_id;
SELECT pipeline, metric, window_from, amount, keys FROM backfill.counter_total ORDER BY window_from;

-- Without an item time it is the run's window.
INSERT INTO item VALUES (6, NULL, 'slack:#late');
CALL backfill.run('told') \g /dev/null
SELECT m.recipient, m.window_from = r.window_from AND m.window_to = r.window_to AS of_the_run
FROM backfill.message m JOIN backfill.run r USING (run_id) WHERE m.recipient = 'slack:#late';

-- The same key again is the same message; a failed item has told nobody.
INSERT INTO item (id, who, kind, payload, channel, at)
SELECT v.*, '2026-10-25 05:00+00' FROM (VALUES (7, 'email:a@b.example', 'note', '{"more": 1}'::jsonb, NULL), (8, 'email:not an address', 'note', '{}', NULL),
	(9, NULL, 'note', '{}', NULL), (10, 'slack:#x', 'Not A Name', '{}', NULL), (11, 'slack:#x', 'note', '{}', 'not a channel'),
	(12, 'slack:#x', 'note', to_jsonb(repeat('x', 262143)), NULL), (13, 'slack:#full', 'note', to_jsonb(repeat('x', 262142)), 'big')) v;
CALL backfill.run('told') \g /dev/null
SELECT item, sqlstate, message FROM backfill.step_event WHERE status = 'failed' ORDER BY item::bigint;
SELECT recipient, window_from, left(payload::text, 15) AS payload, channel, item FROM backfill.outbox WHERE item <> '6' ORDER BY message_id;
SELECT channel, message_type, state, reason, messages FROM backfill.run_emission WHERE run_id = (SELECT max(run_id) FROM backfill.run) ORDER BY 1, 2, 3, 4;
SELECT * FROM backfill.check_invariants();

-- A batch step names the item, by a key of its own type or as text.
SELECT backfill.create_pipeline('told_batch', 'SELECT id, at FROM told.item WHERE $1 < $2 AND id < 4', delivery_max_age => '100 years');
SELECT backfill.add_batch_step('told_batch', 'tell', lacking => 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM backfill.message m WHERE m.pipeline = ''told_batch'' AND m.item = k::text)',
	work => $$ SELECT backfill.emit('slack:#' || k, 'note', '{}', key => k) FROM unnest($1) k WHERE k < 2
		UNION ALL SELECT backfill.emit('slack:#' || k, 'note', '{}', key => k::text, channel => 'chat') FROM unnest($1) k WHERE k = 2
		UNION ALL SELECT backfill.emit('slack:#' || k, 'note', '{}') FROM unnest($1) k WHERE k = 3 $$);
CALL backfill.run('told_batch') \g /dev/null
SELECT recipient, window_from, channel, item FROM backfill.outbox WHERE pipeline = 'told_batch' ORDER BY recipient;
SELECT item, sqlstate, message FROM backfill.step_event WHERE status = 'failed' AND run_id = (SELECT max(run_id) FROM backfill.run);

-- Counting again overwrites.
SELECT count(*), sum(amount) FROM backfill.counter WHERE key = '1';
DELETE FROM done WHERE id = 1;
CALL backfill.run('told') \g /dev/null
SELECT count(*), sum(amount) FROM backfill.counter WHERE key = '1';

SELECT backfill.drop_pipeline('told'), backfill.drop_pipeline('told_batch');
-- The messages stay: a pipeline of that name knows what it told.
SELECT count(*) FROM backfill.message;
TRUNCATE backfill.emission, backfill.superseded, backfill.intervention, backfill.undelivered, backfill.delivery, backfill.message, backfill.counter RESTART IDENTITY;
DROP SCHEMA told CASCADE;
