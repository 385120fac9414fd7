-- An operator's pipeline tells, counts and publishes with his rights; a reader sees how it stands, and no texts; a worker
-- claims; nobody does more.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET backfill.narrate = 'none';
SELECT backfill.create_roles();
CREATE ROLE outbox_operator;
CREATE ROLE outbox_reader;
CREATE ROLE outbox_worker;
CREATE ROLE outbox_nobody;
GRANT backfill_operator TO outbox_operator;
GRANT backfill_reader TO outbox_reader;
GRANT backfill_worker TO outbox_worker;
CREATE SCHEMA told AUTHORIZATION outbox_operator;
CREATE TABLE public.secret (n integer);

SET ROLE outbox_operator;
CREATE TABLE told.item (id bigint PRIMARY KEY, at timestamptz);
CREATE TABLE told.done (id bigint PRIMARY KEY);
CREATE TABLE told.mart (items bigint);
INSERT INTO told.item VALUES (1, now()), (2, now());
SELECT backfill.create_pipeline('told', 'SELECT id, at FROM told.item WHERE at >= $1 AND at < $2');
SELECT backfill.add_step('told', 'tell', done => 'SELECT EXISTS (SELECT FROM told.done WHERE id = $1)',
	work => $$ WITH d AS (INSERT INTO told.done VALUES ($1))
		SELECT backfill.emit('slack:#ops', 'note', '{"text": "private"}', key => $1), backfill.count('items'),
			backfill.publish('told.mart', 'SELECT count(*) FROM told.item') $$);
CALL backfill.run('told') \g /dev/null
SELECT state, changed, failed FROM backfill.run ORDER BY run_id DESC LIMIT 1;
SELECT * FROM told.mart;
SELECT message_type, state, payload FROM backfill.outbox;
SELECT metric, amount, keys FROM backfill.counter_total;
SELECT channel, pending FROM backfill.channel_status;
-- Only through the doors.
SELECT backfill.emit('slack:#ops', 'note', '{}');
SELECT backfill._emit(1, 1, 'live', false, now(), now(), now(), '1', 'slack:#ops', 'note', '{}', 'slack');
SELECT backfill._enqueue(1, now(), 'requeued');
SELECT backfill.claim_deliveries('slack');
SELECT backfill.publish('public.secret', 'SELECT 1');
UPDATE backfill.message SET payload = '{}';
DELETE FROM backfill.delivery;
SET backfill.test_clock_seconds = 1;

SET ROLE outbox_reader;
SELECT channel, message_type, state, reason, messages FROM backfill.run_emission;
SELECT channel, pending FROM backfill.channel_status;
SELECT * FROM backfill.check_invariants();
SELECT payload FROM backfill.message;
SELECT * FROM backfill.outbox;
SELECT backfill.requeue(1, 'a reason');

SET ROLE outbox_worker;
SELECT channel, pending FROM backfill.channel_status;
SELECT recipient, message_type, payload, attempt FROM backfill.claim_deliveries('slack');
SELECT backfill.mark_sent(ARRAY[1], 0) > 0 AS refused;
SELECT * FROM backfill.undelivered;
SELECT backfill.emit('slack:#ops', 'note', '{}');

SET ROLE outbox_nobody;
SELECT count(*) FROM pg_proc p WHERE pronamespace = 'backfill'::regnamespace AND proname ~ 'emit|claim|mark|requeue|discard|resolve|resend|release|heartbeat|abandon|publish|count|check'
	AND has_function_privilege(p.oid, 'EXECUTE');

RESET ROLE;
SELECT backfill.drop_pipeline('told');
TRUNCATE backfill.emission, backfill.superseded, backfill.intervention, backfill.undelivered, backfill.delivery, backfill.message, backfill.counter RESTART IDENTITY;
DROP SCHEMA told CASCADE;
DROP TABLE public.secret;
DROP OWNED BY outbox_operator, outbox_reader, outbox_worker, outbox_nobody, backfill_reader, backfill_operator, backfill_deliver, backfill_worker;
DROP ROLE outbox_operator, outbox_reader, outbox_worker, outbox_nobody, backfill_reader, backfill_operator, backfill_deliver, backfill_worker;
