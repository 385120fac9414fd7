-- What all benches use: times that were taken, and the table of ratios that is printed at the end.

SET client_min_messages = warning;
ALTER SYSTEM SET autovacuum = off; -- comes when it likes
ALTER SYSTEM SET jit = off;        -- helps none of these statements, and costs the rivals
SELECT pg_reload_conf() \g /dev/null
CREATE EXTENSION pg_backfill;
CREATE EXTENSION bt_leads;
CREATE SCHEMA bench;

CREATE TABLE bench.sample (bench text NOT NULL, contender text NOT NULL, round int NOT NULL, items bigint NOT NULL, cpu_ms numeric NOT NULL, wall_ms numeric NOT NULL);
COMMENT ON TABLE bench.sample IS 'round 0 warms up and does not count';
CREATE TABLE bench.target (position int NOT NULL, what text NOT NULL, bench text NOT NULL, contender text NOT NULL, rival text NOT NULL,
	is_at_most boolean NOT NULL, ship numeric, stretch numeric);
-- How long this backend was on a processor: what it takes does not depend on what else the machine does.
CREATE FUNCTION bench.cpu_ms() RETURNS numeric LANGUAGE sql VOLATILE
	RETURN split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::numeric / 1e6;

CREATE VIEW bench.median AS
	SELECT bench, contender, count(*) AS rounds, max(items) AS items, percentile_cont(0.5) WITHIN GROUP (ORDER BY cpu_ms::float) AS cpu_ms,
		min(cpu_ms)::float AS fastest_ms,
		percentile_cont(0.5) WITHIN GROUP (ORDER BY wall_ms::float) AS wall_ms
	FROM bench.sample WHERE round > 0 GROUP BY bench, contender;

CREATE VIEW bench.ratio AS
	SELECT t.position, t.what, (c.cpu_ms / c.items / (r.cpu_ms / r.items))::numeric AS ratio, (c.fastest_ms / c.items / (r.fastest_ms / r.items))::numeric AS fastest,
		(c.wall_ms / c.items / (r.wall_ms / r.items))::numeric AS wall,
		t.is_at_most, t.ship, t.stretch
	FROM bench.target t
	LEFT JOIN bench.median c ON c.bench = t.bench AND c.contender = t.contender
	LEFT JOIN bench.median r ON r.bench = t.bench AND r.contender = t.rival;
