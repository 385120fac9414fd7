
-- Numbers and states in sentences.

CREATE FUNCTION backfill._counted(n bigint, one text, many text DEFAULT NULL) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
	RETURN concat(n, ' ', CASE n WHEN 1 THEN one ELSE coalesce(many, one || 's') END);
COMMENT ON FUNCTION backfill._counted(bigint, text, text) IS 'how many of something, as a person writes it: 1 item, 2 items';

CREATE FUNCTION backfill._run_did(state text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
	RETURN CASE state WHEN 'requested' THEN 'waits for a session' WHEN 'running' THEN 'is running' WHEN 'paused' THEN 'is paused'
		WHEN 'broken' THEN 'broke' WHEN 'cancelled' THEN 'was cancelled' ELSE state END;
COMMENT ON FUNCTION backfill._run_did(text) IS 'the state of a run as what follows "it"';
