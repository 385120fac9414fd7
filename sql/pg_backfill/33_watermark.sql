
-- Where the next live run may safely start to scan. A row is stamped with its transaction's start and becomes visible at
-- its commit, so what a scan has not seen is newer than the oldest transaction that was in progress before it.

CREATE FUNCTION backfill._oldest_transaction(OUT started timestamptz, OUT pid integer, OUT untimed_pid integer) RETURNS record
	LANGUAGE c AS 'MODULE_PATHNAME', 'pg_backfill__oldest_transaction';
COMMENT ON FUNCTION backfill._oldest_transaction() IS
	'the oldest transaction in progress in this database, but for this session''s, and one of which nobody knows when it began (track_activities is off)';

-- Of a prepared transaction only the end is known, of one without track_activities nothing. It began after the present
-- watermark or was seen by it, so that one stays safe for as long as there is any. clock_skew also covers that a
-- transaction takes its start time a moment before it shows.
CREATE FUNCTION backfill._next_watermark(present timestamptz, moment timestamptz, clock_skew interval, OUT watermark timestamptz, OUT held_by text)
	LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	long CONSTANT interval := '10 minutes';
	oldest record;
	prepared record;
BEGIN
	-- In this order: one that is being prepared meanwhile is seen twice, and not missed.
	SELECT * INTO oldest FROM backfill._oldest_transaction();
	SELECT p.gid, p.prepared INTO prepared FROM pg_prepared_xacts p WHERE p.database = current_database() ORDER BY p.prepared LIMIT 1;
	watermark := least(moment, oldest.started) - clock_skew;
	IF oldest.untimed_pid IS NOT NULL OR prepared.gid IS NOT NULL THEN
		watermark := least(watermark, present);
	END IF;
	held_by := nullif(concat_ws(' and ',
		CASE WHEN oldest.started < moment - long
			THEN format('transaction of process %s, %s old', oldest.pid, date_trunc('second', moment - oldest.started)) END,
		CASE WHEN oldest.untimed_pid IS NOT NULL
			THEN format('transaction of process %s, of unknown age because its track_activities is off', oldest.untimed_pid) END,
		CASE WHEN prepared.gid IS NOT NULL
			THEN format('prepared transaction %L of %s', prepared.gid, date_trunc('second', prepared.prepared))
				|| CASE WHEN prepared.prepared < moment THEN format(', %s old', date_trunc('second', moment - prepared.prepared)) ELSE '' END END), '');
END $$;
COMMENT ON FUNCTION backfill._next_watermark(timestamptz, timestamptz, interval) IS 'to be asked before a scan; held_by: what keeps it back, if it is a prepared transaction or has done so for more than ten minutes';

-- A watermark of the future was set while the clock was wrong: what has been stamped since the clock was put back lies
-- before it. The newest one that an earlier run left and that is not of the future still holds.
CREATE FUNCTION backfill._present_watermark(p backfill.pipeline, moment timestamptz) RETURNS timestamptz
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF p.watermark > moment THEN
		RETURN coalesce(
			(SELECT r.next_watermark FROM backfill.run r
			WHERE r.pipeline_id = p.pipeline_id AND r.mode = 'live' AND r.state = 'succeeded' AND r.next_watermark <= moment
			ORDER BY r.run_id DESC LIMIT 1),
			backfill._add_interval(moment, -p.max_catchup, p.timezone));
	END IF;
	RETURN p.watermark;
END $$;
COMMENT ON FUNCTION backfill._present_watermark(backfill.pipeline, timestamptz) IS 'the pipeline''s watermark, or an earlier one if the clock was put back behind it';

-- Seen by no live run that succeeded or is still open; the watermark's own slot is one of them if its run never came.
CREATE FUNCTION backfill._missed_slot(p backfill.pipeline, missed_from timestamptz, moment timestamptz, OUT slot_from timestamptz, OUT slot_to timestamptz)
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	present CONSTANT timestamptz := (backfill._slot_of(moment, p.slot, p.timezone)).window_from;
BEGIN
	SELECT s.slot_from, s.slot_to INTO slot_from, slot_to
	FROM backfill._slots(p.pipeline_id, missed_from, present) s
	WHERE s.slot_to <= present AND NOT EXISTS (
		SELECT FROM backfill.run r
		WHERE r.pipeline_id = p.pipeline_id AND r.mode = 'live' AND r.window_from = s.slot_from
			AND r.state IN ('requested', 'running', 'paused', 'succeeded'))
	ORDER BY s.slot_from LIMIT 1;
END $$;
COMMENT ON FUNCTION backfill._missed_slot(backfill.pipeline, timestamptz, timestamptz) IS 'the oldest slot before that of the moment in which no live run came to its end; nulls: none';

-- A live run looks at the time before a moment, which is when it was asked for and again when it begins: back to the
-- watermark and at least as far as lookback. The moment it was asked for is in its window, whenever it starts. One that catches up looks at its slot, and at what lies
-- between the watermark and that slot, since nobody else will.
CREATE FUNCTION backfill._live_range(p backfill.pipeline, moment timestamptz, OUT window_from timestamptz, OUT window_to timestamptz,
	OUT catches_up boolean, OUT scan_from timestamptz, OUT scan_to timestamptz, OUT left_out_from timestamptz,
	OUT next_watermark timestamptz, OUT held_by text)
	LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	present CONSTANT timestamptz := backfill._present_watermark(p, moment);
	earliest CONSTANT timestamptz := backfill._add_interval(moment, -p.max_catchup, p.timezone);
	missed record;
BEGIN
	SELECT w.window_from, w.window_to INTO window_from, window_to FROM backfill._slot_of(moment, p.slot, p.timezone) w;
	scan_from := backfill._add_interval(moment, -p.lookback, p.timezone);
	scan_to := moment;
	catches_up := false;
	IF present IS NOT NULL THEN
		IF p.catch_up = 'each' THEN
			SELECT * INTO missed FROM backfill._missed_slot(p, greatest(present, earliest), moment);
			catches_up := missed.slot_from IS NOT NULL;
		END IF;
		IF catches_up THEN
			window_from := missed.slot_from;
			window_to := missed.slot_to;
			scan_from := greatest(least(missed.slot_from, present), earliest);
			scan_to := missed.slot_to;
		ELSE
			scan_from := least(scan_from, greatest(present, earliest));
		END IF;
	END IF;
	left_out_from := CASE WHEN present < scan_from THEN present END;
	SELECT n.watermark, n.held_by INTO next_watermark, held_by FROM backfill._next_watermark(coalesce(present, scan_from), moment, p.clock_skew) n;
	next_watermark := least(next_watermark, scan_to);
END $$;
COMMENT ON FUNCTION backfill._live_range(backfill.pipeline, timestamptz) IS 'window and scan range of a live run that is asked for at a moment, and where the next one may start if it succeeds';
