
-- Proving that a pipeline is safe to run twice.

CREATE FUNCTION backfill.prove(pipeline text, items integer DEFAULT 100)
	RETURNS TABLE (step text, finding text, items bigint, detail text, hint text)
	LANGUAGE c AS 'MODULE_PATHNAME', 'pg_backfill_prove';
COMMENT ON FUNCTION backfill.prove(text, integer) IS
	'makes the newest items again and again, rolls it all back, and lists what is not safe to run twice; the last row says whether anything is. Reads the tables that the steps write from end to end; nothing of it stays, apart from gaps in sequences';
