-- A pass over items that are done takes as many transaction ids as its own row needs, however many items there are.
SET client_min_messages = error;
CREATE SCHEMA no_op;
CREATE TABLE no_op.item (id bigint PRIMARY KEY, at timestamptz NOT NULL DEFAULT now());
CREATE TABLE no_op.output (id bigint PRIMARY KEY);
CREATE TABLE no_op.taken (items bigint, ids bigint);
SELECT backfill.create_pipeline('no_op', 'SELECT id, at FROM no_op.item WHERE at >= $1 AND at < $2');
SELECT backfill.add_batch_step('no_op', 'make', 'SELECT k FROM unnest($1) k LEFT JOIN no_op.output o ON o.id = k WHERE o.id IS NULL',
	'INSERT INTO no_op.output SELECT unnest($1)');
SET backfill.narrate = 'none';
-- Two passes each, of which the least counts: others may take an id in between.
INSERT INTO no_op.item SELECT generate_series(1, 10);
CALL backfill.run('no_op') \gset
\echo :tally
SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS first \gset
CALL backfill.run('no_op') \gset
INSERT INTO no_op.taken SELECT 10, pg_snapshot_xmax(pg_current_snapshot())::text::bigint - :first;
SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS first \gset
CALL backfill.run('no_op') \gset
INSERT INTO no_op.taken SELECT 10, pg_snapshot_xmax(pg_current_snapshot())::text::bigint - :first;
INSERT INTO no_op.item SELECT generate_series(11, 3000);
CALL backfill.run('no_op') \gset
\echo :tally
SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS first \gset
CALL backfill.run('no_op') \gset
INSERT INTO no_op.taken SELECT 3000, pg_snapshot_xmax(pg_current_snapshot())::text::bigint - :first;
SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS first \gset
CALL backfill.run('no_op') \gset
\echo :tally
INSERT INTO no_op.taken SELECT 3000, pg_snapshot_xmax(pg_current_snapshot())::text::bigint - :first;
SELECT items, min(ids) AS ids FROM no_op.taken GROUP BY items ORDER BY items;
SELECT count(*) AS locked FROM no_op.output WHERE xmax <> 0;
SELECT backfill.drop_pipeline('no_op');
DROP SCHEMA no_op CASCADE;
