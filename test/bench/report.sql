\pset footer off
\echo
\echo == Medians, microseconds an item
SELECT bench, contender, items, rounds, round((cpu_ms * 1000 / items)::numeric, 1) AS cpu, round((fastest_ms * 1000 / items)::numeric, 1) AS fastest,
	round((wall_ms * 1000 / items)::numeric, 1) AS "by the clock"
FROM bench.median ORDER BY bench, contender;
\echo == Ratios and targets
SELECT what, round(ratio, 2) AS ratio, round(fastest, 2) AS "of the fastest", round(wall, 2) AS "by the clock", CASE WHEN is_at_most THEN '<= ' ELSE '>= ' END || ship AS ship,
	CASE WHEN is_at_most THEN '<= ' ELSE '>= ' END || stretch AS stretch,
	CASE WHEN ship IS NULL THEN '' WHEN ratio IS NULL THEN 'not measured' WHEN (ratio <= stretch) = is_at_most THEN 'met, stretch too'
		WHEN (ratio <= ship) = is_at_most THEN 'met' ELSE 'not met' END AS verdict
FROM bench.ratio ORDER BY position, ship NULLS LAST;
