-- Publishing: all rows at once, nothing else about the table.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE SCHEMA mart;
SET search_path = mart;
CREATE ROLE mart_reader;
CREATE ROLE mart_owner;
GRANT USAGE ON SCHEMA mart TO mart_reader, mart_owner;

CREATE TABLE daily (id bigint GENERATED ALWAYS AS IDENTITY, day date PRIMARY KEY, amount numeric CHECK (amount >= 0), note text, extra json, doubled numeric GENERATED ALWAYS AS (amount * 2) STORED);
COMMENT ON TABLE daily IS 'by day';
COMMENT ON COLUMN daily.amount IS 'in rupees';
CREATE INDEX daily_amount ON daily (amount);
GRANT SELECT ON daily TO mart_reader;
ALTER TABLE daily ENABLE ROW LEVEL SECURITY;
CREATE POLICY small ON daily FOR SELECT TO mart_reader USING (amount < 100);
CREATE VIEW total AS SELECT count(*) AS days, sum(amount) AS amount FROM daily;
CREATE TABLE reference (day date REFERENCES daily);
SELECT 'daily'::regclass::oid AS before \gset

CREATE TABLE source (day date, amount numeric, note text, extra json);
INSERT INTO source SELECT date '2026-11-01' + n, n, 'n', '{}' FROM generate_series(0, 4) n;
SELECT * FROM backfill.publish('daily', 'SELECT * FROM source');
INSERT INTO reference VALUES ('2026-11-02');
SELECT * FROM total;
-- Nothing changed, nothing is written.
SELECT * FROM backfill.publish('mart.daily', 'TABLE source -- all of it');
SELECT pg_current_xact_id_if_assigned() IS NULL AS outside;
-- One changed, one gone, one new; what stayed keeps its identity, and may be referenced.
UPDATE source SET amount = 1.00 WHERE day = '2026-11-03';
DELETE FROM source WHERE day = '2026-11-05';
INSERT INTO source VALUES ('2026-11-09', 200, NULL, '{"a": 1}');
SELECT * FROM backfill.publish('daily', 'SELECT * FROM source;');
SELECT * FROM daily ORDER BY day;
SELECT 'daily'::regclass::oid = :before AS same_table, obj_description('daily'::regclass) AS comment, (SELECT count(*) FROM pg_index WHERE indrelid = 'daily'::regclass) AS indexes;
SET ROLE mart_reader;
SELECT count(*) AS policy_still_there FROM daily;
RESET ROLE;
SELECT * FROM total;

-- A build or a row that fails leaves the old. So does a row that is referenced and not built again.
SELECT backfill.publish('daily', 'SELECT * FROM source WHERE false');
DROP TABLE reference;
\set VERBOSITY terse
SELECT backfill.publish('daily', 'SELECT day, 1 / (amount - amount), note, extra FROM source');
SELECT backfill.publish('daily', $$ SELECT day, -1, note, extra FROM source $$);
SELECT backfill.publish('daily', $$ SELECT '2026-12-01'::date, 1, 'x', '{}'::json FROM source $$);
\set VERBOSITY sqlstate
SELECT backfill.publish('daily', 'SELECT day FROM source) s; DROP TABLE source; SELECT * FROM (SELECT 1');
SELECT backfill.publish('daily', 'SELECT nothing FROM nowhere');
\set VERBOSITY default
SELECT * FROM total;
SELECT relname FROM pg_class WHERE relnamespace = 'mart'::regnamespace AND relkind = 'r' ORDER BY 1;

-- Rows that are there twice are there as often as they were built. No rows at all is an answer too.
CREATE TABLE heap (a integer, "odd name" text);
SELECT * FROM backfill.publish('heap', $$ VALUES (1, 'x'), (1, 'x'), (1, 'x'), (NULL, NULL), (NULL, NULL) $$);
SELECT * FROM backfill.publish('heap', $$ VALUES (1, 'x'), (NULL, NULL), (NULL, NULL), (NULL, '') $$);
SELECT a, "odd name", count(*) FROM heap GROUP BY 1, 2 ORDER BY 1, 2;
SELECT * FROM backfill.publish('heap', 'SELECT 1, NULL WHERE false');

-- Partitions.
CREATE TABLE part (a integer, b text) PARTITION BY LIST (a);
CREATE TABLE part_1 PARTITION OF part FOR VALUES IN (1);
CREATE TABLE part_2 PARTITION OF part FOR VALUES IN (2);
SELECT * FROM backfill.publish('part', $$ VALUES (1, 'x'), (2, 'x') $$);
SELECT * FROM backfill.publish('part', $$ VALUES (1, 'x'), (2, 'y') $$);
SELECT tableoid::regclass, * FROM part ORDER BY a;

-- With the caller's rights, and his own table only.
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA backfill TO mart_owner, mart_reader;
ALTER TABLE heap OWNER TO mart_owner;
GRANT CREATE ON SCHEMA mart TO mart_owner;
SET ROLE mart_owner;
SELECT * FROM backfill.publish('heap', $$ VALUES (1, current_user::text) $$);
SELECT backfill.publish('heap', 'SELECT 1, note FROM source');
SELECT backfill.publish('daily', 'SELECT 1');
RESET ROLE;
SELECT backfill.publish('total', 'SELECT 1');
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT backfill.publish('heap', 'SELECT 1');
ROLLBACK;
DROP OWNED BY mart_owner, mart_reader CASCADE;
DROP ROLE mart_owner, mart_reader;
DROP SCHEMA mart CASCADE;
