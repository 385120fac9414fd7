
-- Where the next live run may safely start to scan. A row is stamped with its transaction's start and becomes visible at
-- its commit, so what a scan has not seen is newer than the oldest transaction that was in progress before it.

CREATE FUNCTION backfill._oldest_transaction(OUT started timestamptz, OUT pid integer) RETURNS record
	LANGUAGE c AS 'MODULE_PATHNAME', 'pg_backfill__oldest_transaction';
COMMENT ON FUNCTION backfill._oldest_transaction() IS 'the oldest transaction in progress in this database, but for this session''s';

-- A transaction takes its start time a moment before it shows, and clocks are set; the overlap costs a check each.
CREATE FUNCTION backfill._watermark_slack() RETURNS interval
	LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN interval '1 minute';
COMMENT ON FUNCTION backfill._watermark_slack() IS 'how far the watermark stays behind what is known to be safe';

-- Of a prepared transaction only the end is known. It began after the present watermark or was seen by it, so that one
-- stays safe for as long as there is any.
CREATE FUNCTION backfill._next_watermark(present timestamptz, moment timestamptz, OUT watermark timestamptz, OUT held_by text)
	LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	oldest record;
	prepared record;
BEGIN
	SELECT * INTO oldest FROM backfill._oldest_transaction();
	watermark := least(moment, oldest.started) - backfill._watermark_slack();
	IF oldest.started < moment - interval '10 minutes' THEN
		held_by := format('transaction of process %s, %s old', oldest.pid, date_trunc('second', moment - oldest.started));
	END IF;
	SELECT p.gid, p.prepared INTO prepared FROM pg_prepared_xacts p WHERE p.database = current_database() ORDER BY p.prepared LIMIT 1;
	IF FOUND THEN
		watermark := least(watermark, present);
		held_by := format('prepared transaction %L of %s', prepared.gid, date_trunc('second', prepared.prepared));
	END IF;
END $$;
COMMENT ON FUNCTION backfill._next_watermark(timestamptz, timestamptz) IS 'to be asked before a scan; held_by: what has kept it back for more than ten minutes';

CREATE FUNCTION backfill._live_scan_from(lookback interval, max_catchup interval, watermark timestamptz, moment timestamptz) RETURNS timestamptz
	LANGUAGE sql STABLE PARALLEL SAFE
	RETURN LEAST(moment - lookback, CASE WHEN watermark IS NOT NULL THEN GREATEST(watermark, moment - max_catchup) END);
COMMENT ON FUNCTION backfill._live_scan_from(interval, interval, timestamptz, timestamptz) IS 'where a live run that is asked for at a moment begins to look: at the watermark and at least lookback ago, but no longer ago than max_catchup';
