-- Stops the bench if the three did not do the same.
DO $$
DECLARE
	odd text;
BEGIN
	SELECT string_agg(DISTINCT what, ', ') INTO odd
	FROM (SELECT what FROM bench.made GROUP BY what HAVING count(DISTINCT (rows, hash)) > 1 OR count(DISTINCT contender) < 3) x;
	IF odd IS NOT NULL OR NOT EXISTS (SELECT FROM bench.made) THEN
		RAISE EXCEPTION 'contenders do not make the same: %', odd;
	END IF;
END $$;
