-- Defining pipelines and steps: what is accepted, and an error of its own with a way out for everything else.
CREATE SCHEMA define;
SET search_path = define;
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE TABLE orders (id bigint PRIMARY KEY, status text, arrived_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE price (order_id bigint PRIMARY KEY, amount numeric);
CREATE VIEW defined AS
SELECT name, owner = current_user AS mine, key_type, search_path, lookback, slot, timezone, delivery_max_age, max_catchup,
	(SELECT u.name FROM backfill.pipeline u WHERE u.pipeline_id = p.after) AS after, enabled, watermark, candidates
FROM backfill.pipeline p WHERE name ~ '^(orders|upstream|middle)' ORDER BY name;
CREATE VIEW steps AS
SELECT position, s.name, batch, check_sql, work_sql, clear_sql FROM backfill.step s JOIN backfill.pipeline p USING (pipeline_id) WHERE p.name = 'orders' ORDER BY position;

-- With nothing but a name and a query, and with everything.
SELECT backfill.create_pipeline('orders', 'SELECT id FROM orders WHERE arrived_at >= $1 AND arrived_at < $2');
SELECT backfill.create_pipeline(name => 'upstream', candidates => 'SELECT id::text, arrived_at FROM orders WHERE arrived_at >= $1 AND arrived_at < $2;',
	key_type => 'text', lookback => '36 hours', slot => 'week', timezone => 'Asia/Kolkata', delivery_max_age => '2 days', max_catchup => '30 days', after => 'orders');
\x on
SELECT * FROM defined;
\x off
SELECT backfill.create_pipeline('orders', 'SELECT id FROM orders WHERE arrived_at >= $1 AND arrived_at < $2');

-- Names, and values that no run could use.
SELECT backfill.create_pipeline('Orders', 'SELECT id FROM orders WHERE arrived_at BETWEEN $1 AND $2');
SELECT backfill.create_pipeline('', 'SELECT id FROM orders WHERE arrived_at BETWEEN $1 AND $2');
SELECT backfill.create_pipeline(repeat('a', 64), 'SELECT id FROM orders WHERE arrived_at BETWEEN $1 AND $2');
SELECT backfill.create_pipeline(NULL, 'SELECT id FROM orders WHERE arrived_at BETWEEN $1 AND $2');
SELECT backfill.create_pipeline('orders_2', NULL);
SELECT backfill.create_pipeline('orders_2', 'SELECT id FROM orders WHERE arrived_at BETWEEN $1 AND $2', key_type => NULL);
SELECT backfill.create_pipeline('orders_2', 'SELECT id FROM orders WHERE arrived_at BETWEEN $1 AND $2', slot => 'fortnight');
SELECT backfill.create_pipeline('orders_2', 'SELECT id FROM orders WHERE arrived_at BETWEEN $1 AND $2', timezone => 'Asia/Atlantis');
SELECT backfill.create_pipeline('orders_2', 'SELECT id FROM orders WHERE arrived_at BETWEEN $1 AND $2', timezone => 'IST');
SELECT backfill.create_pipeline('orders_2', 'SELECT id FROM orders WHERE arrived_at BETWEEN $1 AND $2', lookback => '0');
SELECT backfill.create_pipeline('orders_2', 'SELECT id FROM orders WHERE arrived_at BETWEEN $1 AND $2', lookback => '1 day -25 hours');
SELECT backfill.create_pipeline('orders_2', 'SELECT id FROM orders WHERE arrived_at BETWEEN $1 AND $2', max_catchup => '-1 s');
SELECT backfill.create_pipeline('orders_2', 'SELECT id FROM orders WHERE arrived_at BETWEEN $1 AND $2', delivery_max_age => '-1 s');
SELECT backfill.create_pipeline('orders_2', 'SELECT id FROM orders WHERE arrived_at BETWEEN $1 AND $2', lookback => '1000000 years');
SELECT backfill.create_pipeline('orders_2', 'SELECT id FROM orders WHERE arrived_at BETWEEN $1 AND $2', after => 'nowhere');

-- Candidate queries.
SELECT backfill.create_pipeline('orders_2', '');
SELECT backfill.create_pipeline('orders_2', '-- nothing');
SELECT backfill.create_pipeline('orders_2', 'SELECT 1; SELECT 2');
SELECT backfill.create_pipeline('orders_2', 'SELEC id FROM orders');
SELECT backfill.create_pipeline('orders_2', 'SELECT id FROM order_history WHERE arrived_at BETWEEN $1 AND $2');
SELECT backfill.create_pipeline('orders_2', 'SELECT id, nothing FROM orders WHERE arrived_at BETWEEN $1 AND $2');
SELECT backfill.create_pipeline('orders_2', 'SELECT id FROM orders');
SELECT backfill.create_pipeline('orders_2', 'SELECT id FROM orders WHERE arrived_at >= $1');
SELECT backfill.create_pipeline('orders_2', 'SELECT id FROM orders WHERE arrived_at < $2');
SELECT backfill.create_pipeline('orders_2', 'SELECT id FROM orders WHERE arrived_at BETWEEN $1 AND $3');
SELECT backfill.create_pipeline('orders_2', 'SELECT id, arrived_at, status FROM orders WHERE arrived_at BETWEEN $1 AND $2');
SELECT backfill.create_pipeline('orders_2', 'SELECT FROM orders WHERE arrived_at BETWEEN $1 AND $2');
SELECT backfill.create_pipeline('orders_2', 'SELECT status FROM orders WHERE arrived_at BETWEEN $1 AND $2');
SELECT backfill.create_pipeline('orders_2', 'SELECT id, status FROM orders WHERE arrived_at BETWEEN $1 AND $2');
SELECT backfill.create_pipeline('orders_2', 'DELETE FROM orders WHERE arrived_at BETWEEN $1 AND $2 RETURNING id');
SELECT backfill.create_pipeline('orders_2', 'WITH gone AS (DELETE FROM orders WHERE arrived_at BETWEEN $1 AND $2 RETURNING id) SELECT id FROM gone');
SELECT backfill.create_pipeline('orders_2', 'SELECT id FROM orders WHERE arrived_at BETWEEN $1 AND $2 FOR UPDATE SKIP LOCKED');
SELECT backfill.create_pipeline('orders_2', 'SELECT id FROM (SELECT * FROM orders FOR SHARE) o WHERE arrived_at BETWEEN $1 AND $2');
SELECT backfill.create_pipeline('orders_2', 'SELECT id INTO copied FROM orders WHERE arrived_at BETWEEN $1 AND $2');
SELECT backfill.create_pipeline('orders_2', 'VACUUM orders');
SELECT backfill.create_pipeline('orders_2', 'COPY orders FROM STDIN');
SELECT count(*) FROM backfill.pipeline WHERE name = 'orders_2';

-- Steps for a batch.
SELECT backfill.add_batch_step('orders', 'price', 'SELECT k FROM unnest($1) k LEFT JOIN price p ON p.order_id = k WHERE p.order_id IS NULL',
	'INSERT INTO price SELECT k, 1 FROM unnest($1) k', 'DELETE FROM price WHERE order_id = ANY ($1)');
SELECT backfill.add_batch_step('orders', 'price', 'SELECT k FROM unnest($1) k', 'SELECT $1');
SELECT backfill.add_batch_step('nowhere', 'x', 'SELECT k FROM unnest($1) k', 'SELECT $1');
SELECT backfill.add_batch_step('orders', 'two words', 'SELECT k FROM unnest($1) k', 'SELECT $1');
SELECT backfill.add_batch_step('orders', 'x', NULL, 'SELECT $1');
SELECT backfill.add_batch_step('orders', 'x', 'SELECT k FROM unnest($1) k', NULL);
SELECT backfill.add_batch_step('orders', 'x', 'SELECT order_id FROM price', 'SELECT $1');
SELECT backfill.add_batch_step('orders', 'x', 'SELECT k, k FROM unnest($1) k', 'SELECT $1');
SELECT backfill.add_batch_step('orders', 'x', 'SELECT k::text FROM unnest($1) k', 'SELECT $1');
SELECT backfill.add_batch_step('orders', 'x', 'SELECT k::integer FROM unnest($1) k', 'SELECT $1');
SELECT backfill.add_batch_step('orders', 'x', 'UPDATE price SET amount = 0 WHERE order_id = ANY ($1) RETURNING order_id', 'SELECT $1');
SELECT backfill.add_batch_step('orders', 'x', 'SELECT order_id FROM price WHERE order_id = ANY ($1) FOR UPDATE', 'SELECT $1');
SELECT backfill.add_batch_step('orders', 'x', 'SELECT k FROM unnest($1) k', 'INSERT INTO price VALUES (1, 1)');
SELECT backfill.add_batch_step('orders', 'x', 'SELECT k FROM unnest($1) k', 'INSERT INTO prices SELECT k FROM unnest($1) k');
SELECT backfill.add_batch_step('orders', 'x', 'SELECT k FROM unnest($1) k', 'INSERT INTO price SELECT k FROM unnest($1) k; SELECT 1');
SELECT backfill.add_batch_step('orders', 'x', 'SELECT k FROM unnest($1) k', '');
SELECT backfill.add_batch_step('orders', 'x', 'SELECT k FROM unnest($1) k', 'CALL define.nothing($1)');
SELECT backfill.add_batch_step('orders', 'x', 'SELECT k FROM unnest($1) k', 'COMMIT');
SELECT backfill.add_batch_step('orders', 'x', 'SELECT k FROM unnest($1) k', 'SELECT k::text, backfill.ok() FROM unnest($1) k');
SELECT backfill.add_batch_step('orders', 'x', 'SELECT k FROM unnest($1) k', 'SELECT $1', clear => 'DELETE FROM price');
SELECT backfill.add_batch_step('orders', 'x', 'SELECT k FROM unnest($1) k', 'SELECT $1', clear => 'TRUNCATE price');
SELECT backfill.add_batch_step('orders', 'x', 'SELECT $1', 'SELECT $1');

-- Steps for one item.
SELECT backfill.add_step('orders', 'tell', 'SELECT EXISTS (SELECT FROM price WHERE order_id = $1)', 'UPDATE orders SET status = ''told'' WHERE id = $1');
SELECT backfill.add_step('orders', 'x', 'SELECT order_id FROM price WHERE order_id = $1', 'SELECT $1');
SELECT backfill.add_step('orders', 'x', 'SELECT true, true WHERE $1 = 1', 'SELECT $1');
SELECT backfill.add_step('orders', 'x', 'SELECT true', 'SELECT $1');
SELECT backfill.add_step('orders', 'x', 'SELECT true WHERE 1 = ANY ($1)', 'SELECT $1');
SELECT backfill.add_step('orders', 'x', 'SELECT $1 = 1', 'SELECT 1');
SELECT backfill.add_step('orders', 'x', 'SELECT $1 = $2', 'SELECT $1');
SELECT * FROM steps;

-- Changing: what is not given stays, what is given is checked as if it were new.
SELECT backfill.alter_pipeline('orders', candidates => 'SELECT id, arrived_at FROM orders WHERE arrived_at >= $1 AND arrived_at < $2', slot => 'hour', timezone => 'Europe/Berlin',
	lookback => '2 hours', delivery_max_age => '0', max_catchup => '1 day');
\x on
SELECT * FROM defined WHERE name = 'orders';
\x off
SELECT backfill.alter_pipeline('nowhere', slot => 'hour');
SELECT backfill.alter_pipeline('orders', candidates => 'SELECT id::text, arrived_at FROM orders WHERE arrived_at BETWEEN $1 AND $2');
SELECT backfill.alter_pipeline('orders', slot => 'minute');
SELECT backfill.alter_pipeline('orders', timezone => 'Nowhere');
SELECT backfill.alter_pipeline('orders', lookback => '-1 day');
SELECT backfill.alter_pipeline('orders', owner => 'regress_nobody');
-- A pipeline never waits for itself, not even in a circle.
SELECT backfill.create_pipeline('middle', 'SELECT id FROM orders WHERE arrived_at BETWEEN $1 AND $2', after => 'upstream');
SELECT backfill.alter_pipeline('orders', after => 'orders');
SELECT backfill.alter_pipeline('orders', after => 'middle');
SELECT backfill.alter_pipeline('middle', after => '');
SELECT backfill.alter_pipeline('orders', after => 'middle');
SELECT name, after FROM defined;

SELECT backfill.alter_step('orders', 'price', lacking => 'SELECT k FROM unnest($1) k WHERE k NOT IN (SELECT order_id FROM price)', "position" => 2);
SELECT backfill.alter_step('orders', 'tell', new_name => 'told', done => 'SELECT status = ''told'' FROM orders WHERE id = $1', clear => 'UPDATE orders SET status = NULL WHERE id = $1');
SELECT * FROM steps;
SELECT backfill.alter_step('orders', 'price', clear => '');
SELECT name, clear_sql FROM steps;
SELECT backfill.alter_step('orders', 'nothing', work => 'SELECT $1');
SELECT backfill.alter_step('orders', 'price', done => 'SELECT $1 = 1');
SELECT backfill.alter_step('orders', 'told', lacking => 'SELECT k FROM unnest($1) k');
SELECT backfill.alter_step('orders', 'price', "position" => 3);
SELECT backfill.alter_step('orders', 'price', "position" => 0);
SELECT backfill.alter_step('orders', 'price', new_name => 'told');
SELECT backfill.alter_step('orders', 'price', new_name => 'no good');
SELECT backfill.alter_step('orders', 'price', work => 'SELECT 1');
SELECT backfill.alter_step('orders', 'price', clear => 'SELECT 1');
SELECT backfill.alter_step(NULL, 'price');
SELECT backfill.alter_step('orders', NULL);

-- Dropping closes the gap; a pipeline that others wait for stays.
SELECT backfill.add_step('orders', 'last', 'SELECT $1 = 1', 'SELECT $1');
SELECT backfill.drop_step('orders', 'told');
SELECT position, name FROM steps;
SELECT backfill.drop_step('orders', 'told');
SELECT backfill.drop_step('orders', 'price'), backfill.drop_step('orders', 'last');
SELECT backfill.drop_step('orders', 'last');
SELECT backfill.drop_pipeline('middle');
SELECT backfill.drop_pipeline('nowhere');
-- Nothing of all this has run.
SELECT count(*) FROM backfill.run JOIN backfill.pipeline USING (pipeline_id) WHERE name IN ('orders', 'upstream', 'middle');
SELECT count(*) FROM price;

-- Commands mean what they meant under the search path they were registered with, whatever it is later.
CREATE SCHEMA define_shadow;
CREATE TABLE define_shadow.price (order_id bigint PRIMARY KEY, amount numeric);
CREATE TABLE define_shadow.orders (id bigint PRIMARY KEY, status text, arrived_at timestamptz NOT NULL DEFAULT now());
INSERT INTO orders VALUES (1);
INSERT INTO define_shadow.orders VALUES (2);
SET search_path = define_shadow, pg_catalog;
SELECT backfill.add_step('orders', 'price', 'SELECT EXISTS (SELECT FROM price WHERE order_id = $1)', 'INSERT INTO price VALUES ($1)');
SET backfill.narrate = none;
SET client_min_messages = error;
CALL backfill.run('orders') \gset
\echo :tally
SELECT 'define', order_id FROM define.price UNION ALL SELECT 'define_shadow', order_id FROM define_shadow.price;
SET search_path = define;

-- Only the owner changes a definition, and gives it only to a role that he is a member of.
CREATE ROLE regress_definer;
CREATE ROLE regress_other;
GRANT USAGE ON SCHEMA define TO regress_definer, regress_other;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA backfill TO regress_definer, regress_other;
SET ROLE regress_other;
SELECT backfill.alter_pipeline('orders', slot => 'day');
SELECT backfill.drop_pipeline('orders');
SELECT backfill.enable_pipeline('orders');
SELECT backfill.disable_pipeline('orders');
SELECT backfill.add_step('orders', 'x', 'SELECT $1 = 1', 'SELECT $1');
SELECT backfill.add_batch_step('orders', 'x', 'SELECT k FROM unnest($1) k', 'SELECT $1');
SELECT backfill.alter_step('orders', 'price', work => 'SELECT $1');
SELECT backfill.drop_step('orders', 'price');
-- The functions that write the rows, and the rows themselves, are out of reach.
SELECT backfill._drop_pipeline(1);
SELECT backfill._add_step(1, 'x', true, '', '', NULL);
UPDATE backfill.pipeline SET owner = 'regress_other';
RESET ROLE;
SELECT backfill.alter_pipeline('orders', owner => 'regress_definer');
SET ROLE regress_definer;
SELECT backfill.alter_step('orders', 'price', work => 'SELECT $1, 1');
SELECT backfill.alter_pipeline('orders', owner => 'regress_other');
RESET ROLE;
GRANT regress_definer TO regress_other;
SET ROLE regress_other;
SELECT backfill.disable_pipeline('orders');
SELECT backfill.drop_step('orders', 'price');
RESET ROLE;
SELECT name, owner, enabled FROM backfill.pipeline WHERE name = 'orders';
DROP OWNED BY regress_definer, regress_other;
DROP ROLE regress_definer, regress_other;
-- With the owner gone, a superuser may still put it right.
SELECT backfill.alter_pipeline('orders', owner => current_user);
SELECT backfill.drop_pipeline('upstream'), backfill.drop_pipeline('orders'), backfill.drop_pipeline('middle');
DROP SCHEMA define, define_shadow CASCADE;
