-- The candidate query costs what arrived in the range, and not what the tables have: blocks touched at two sizes, with
-- the same inflow, by a plan that was made while the tables were empty.
\getenv test_folder PG_ABS_SRCDIR
\set helper :test_folder '/data/leads.psql'
\set ECHO none
\i :helper
CREATE FUNCTION pg_temp.blocks_touched() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
	EXECUTE $q$EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) SELECT * FROM bt.candidates('2026-03-04 00:00+00', '2026-03-05 00:00+00')$q$ INTO plan;
	RETURN (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::bigint + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::bigint;
END $$;
-- Leads of all ages that are stuck, their reports of long ago, and fifty reports and fifty leads of the day.
CREATE FUNCTION pg_temp.grow(first integer, last integer) RETURNS void LANGUAGE sql AS $$
	INSERT INTO bt.lead (mobile, status, created_at, status_changed_at)
	SELECT 7000000000 + n, CASE n % 3 WHEN 0 THEN 'no_home_loan' WHEN 1 THEN 'initiated' ELSE 'options_ready' END, '2026-01-01', '2026-01-01'
	FROM generate_series(first, last) n;
	INSERT INTO bt.credit_report (mobile, body, received_at)
	SELECT 7000000000 + n, 'x', '2026-01-01' FROM generate_series(first, last) n $$;
CREATE FUNCTION pg_temp.arrive() RETURNS void LANGUAGE sql AS $$
	INSERT INTO bt.credit_report (mobile, body, received_at)
	SELECT 7000000000 + n * 37, 'y', '2026-03-04 09:00+00' FROM generate_series(1, 50) n;
	INSERT INTO bt.lead (mobile, created_at, status_changed_at)
	SELECT 7900000000 + n, '2026-03-04 10:00+00', '2026-03-04 10:00+00' FROM generate_series(1, 50) n $$;
CREATE TEMPORARY TABLE measured (size text, blocks bigint, candidates bigint);
\set ECHO all

SELECT count(*) FROM bt.candidates('2026-03-04 00:00+00', '2026-03-05 00:00+00');

SELECT pg_temp.grow(1, 4000), pg_temp.arrive();
VACUUM bt.lead, bt.credit_report;
INSERT INTO measured SELECT 'small', pg_temp.blocks_touched(), count(*) FROM bt.candidates('2026-03-04 00:00+00', '2026-03-05 00:00+00');
SELECT pg_temp.grow(4001, 40000);
VACUUM bt.lead, bt.credit_report;
INSERT INTO measured SELECT 'large', pg_temp.blocks_touched(), count(*) FROM bt.candidates('2026-03-04 00:00+00', '2026-03-05 00:00+00');

-- A level more of an index is one block more for each lead.

SELECT s.candidates, l.candidates AS in_the_large, l.blocks < 1.6 * s.blocks AS cost_follows_the_inflow, l.blocks < 250 AS little
FROM measured s, measured l WHERE s.size = 'small' AND l.size = 'large';

SELECT backfill.drop_pipeline('bt_leads');
