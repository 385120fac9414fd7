-- Plans that cannot go wrong: what a step reads was empty when its plan was made, and has grown in the same run.
CREATE SCHEMA plans;
SET search_path = plans;
SET client_min_messages = error;
SET backfill.narrate = none;
\set SHOW_CONTEXT never
CREATE TABLE item (id bigint PRIMARY KEY, arrived_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE output (id bigint PRIMARY KEY, filler text, joined boolean, sourced boolean, one boolean);
CREATE TABLE heap (id bigint, filler text);
INSERT INTO item SELECT generate_series(1, 1500);
ANALYZE;
SELECT backfill.create_pipeline('plans', 'SELECT id, arrived_at FROM item WHERE arrived_at >= $1 AND arrived_at < $2');
-- Every shape of check that people write; each a hint to the planner to read a table of nothing from end to end.
SELECT backfill.add_batch_step('plans', 'anti', 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM output o WHERE o.id = k)',
	'INSERT INTO output SELECT k, repeat(''x'', 200) FROM unnest($1) k');
SELECT backfill.add_batch_step('plans', 'outer_join', 'SELECT k FROM unnest($1) k LEFT JOIN output o ON o.id = k AND o.joined WHERE o.id IS NULL',
	'UPDATE output o SET joined = true FROM unnest($1) k WHERE o.id = k');
SELECT backfill.add_batch_step('plans', 'from_source', 'SELECT i.id FROM item i WHERE i.id = ANY ($1) AND NOT EXISTS (SELECT FROM output o WHERE o.id = i.id AND o.sourced)',
	'UPDATE output SET sourced = true WHERE id = ANY ($1)');
SELECT backfill.add_step('plans', 'one', 'SELECT EXISTS (SELECT FROM output o WHERE o.id = $1 AND o.one)', 'UPDATE output SET one = true WHERE id = $1');
CREATE VIEW reads AS SELECT relname, seq_scan, seq_tup_read < 1000 AS few, idx_scan > 1500 AS by_index FROM pg_stat_user_tables WHERE schemaname = 'plans' AND relname IN ('output', 'heap') ORDER BY relname;
CALL backfill.run('plans') \gset
\echo :tally
SELECT pg_stat_force_next_flush();
SELECT * FROM reads WHERE relname = 'output';
-- A session that prefers plans of its own kind changes nothing.
TRUNCATE output;
SELECT pg_stat_reset_single_table_counters('output'::regclass);
SET enable_indexscan = off;
SET enable_bitmapscan = off;
SET plan_cache_mode = force_custom_plan;
CALL backfill.run('plans') \gset
\echo :tally
RESET enable_indexscan;
RESET enable_bitmapscan;
RESET plan_cache_mode;
SELECT pg_stat_force_next_flush();
SELECT * FROM reads WHERE relname = 'output';

-- A second pass over what is done.
SELECT pg_stat_reset_single_table_counters('output'::regclass);
CALL backfill.run('plans') \gset
\echo :tally
SELECT pg_stat_force_next_flush();
SELECT * FROM reads WHERE relname = 'output';

-- Without an index there is no plan by index; the run is done all the same.
SELECT backfill.drop_step('plans', s) FROM unnest('{anti,outer_join,from_source,one}'::text[]) s;
SELECT backfill.add_batch_step('plans', 'heap', 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM heap h WHERE h.id = k)',
	'INSERT INTO heap SELECT k, repeat(''x'', 200) FROM unnest($1) k');
CALL backfill.run('plans') \gset
\echo :tally

-- The candidate query is planned for the range that it is given.
CREATE TABLE arrival (id bigint GENERATED ALWAYS AS IDENTITY, arrived_at timestamptz NOT NULL);
INSERT INTO arrival (arrived_at) SELECT now() - i * interval '1 minute' FROM generate_series(1, 20000) i;
CREATE INDEX ON arrival (arrived_at) INCLUDE (id);
VACUUM ANALYZE arrival;
SELECT backfill.alter_pipeline('plans', candidates => 'SELECT id, arrived_at FROM arrival WHERE arrived_at >= $1 AND arrived_at < $2', lookback => '1 hour');
CALL backfill.run('plans') \gset
SELECT candidates BETWEEN 50 AND 60 AS an_hour FROM backfill.run WHERE run_id = :run_id;
SELECT pg_stat_force_next_flush();
SELECT seq_scan - 1 AS seq_scan, idx_scan FROM pg_stat_user_tables WHERE relid = 'arrival'::regclass;
SELECT backfill.drop_pipeline('plans');
DROP SCHEMA plans CASCADE;
