
-- Time: the clock, calendar slots, and the window of what is told or counted.

CREATE FUNCTION backfill._clock() RETURNS timestamptz
	LANGUAGE c VOLATILE PARALLEL SAFE AS 'MODULE_PATHNAME', 'pg_backfill__clock';
COMMENT ON FUNCTION backfill._clock() IS 'the server''s clock, unless a superuser''s test moved it: backfill.test_clock_seconds';

CREATE FUNCTION backfill._add_interval(at timestamptz, amount interval, timezone text) RETURNS timestamptz
	LANGUAGE sql STABLE STRICT PARALLEL SAFE
	-- Only months and days go by local time, in which an hour may happen twice.
	RETURN CASE WHEN amount = pg_catalog.make_interval(secs => pg_catalog.date_part('hour', amount) * 3600
			+ pg_catalog.date_part('minute', amount) * 60 + pg_catalog.date_part('second', amount)) THEN at
		ELSE ((at AT TIME ZONE timezone)
			+ pg_catalog.make_interval(
				months => (pg_catalog.date_part('year', amount) * 12 + pg_catalog.date_part('month', amount))::integer,
				days => pg_catalog.date_part('day', amount)::integer)) AT TIME ZONE timezone END
		+ pg_catalog.make_interval(secs => pg_catalog.date_part('hour', amount) * 3600
			+ pg_catalog.date_part('minute', amount) * 60 + pg_catalog.date_part('second', amount));
COMMENT ON FUNCTION backfill._add_interval(timestamptz, interval, text) IS 'months and days by the calendar of a time zone, hours by the clock; the session''s time zone has no part in it';

CREATE FUNCTION backfill._slot_of(at timestamptz, slot text, timezone text, OUT window_from timestamptz, OUT window_to timestamptz)
	LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	-- Where midnight happens twice the day begins with the second one, and the hour before it belongs to the day before.
	-- Where it does not happen the day begins when the clock jumps, and ends at midnight all the same.
	SELECT CASE slot WHEN 'hour' THEN l.hour ELSE l.start AT TIME ZONE timezone END,
		CASE slot WHEN 'hour' THEN l.hour + '1 hour' ELSE (l.start + ('1 ' || slot)::interval) AT TIME ZONE timezone END
	FROM (SELECT CASE WHEN b.begins AT TIME ZONE timezone > at THEN b.begins - ('1 ' || slot)::interval ELSE b.begins END,
			pg_catalog.date_trunc('hour', at, timezone)
		FROM (SELECT pg_catalog.date_trunc(slot, at AT TIME ZONE timezone)) b (begins)) l (start, hour);
END;
COMMENT ON FUNCTION backfill._slot_of(timestamptz, text, text) IS 'calendar slot a moment belongs to, [from, to)';

CREATE FUNCTION backfill._slot_name(window_from timestamptz, slot text, timezone text) RETURNS text
	LANGUAGE sql STABLE STRICT PARALLEL SAFE
	RETURN pg_catalog.to_char(window_from AT TIME ZONE timezone, CASE slot WHEN 'hour' THEN 'YYYY-MM-DD HH24:MI' WHEN 'week' THEN '"week of "YYYY-MM-DD'
		WHEN 'month' THEN 'YYYY-MM' ELSE 'YYYY-MM-DD' END);
COMMENT ON FUNCTION backfill._slot_name(timestamptz, text, text) IS 'a slot as people of its time zone call it';

CREATE FUNCTION backfill._message_window(item_time timestamptz, run_from timestamptz, run_to timestamptz, slot text, timezone text, OUT window_from timestamptz, OUT window_to timestamptz)
	LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT COALESCE(s.window_from, run_from), COALESCE(s.window_to, run_to) FROM backfill._slot_of(item_time, slot, timezone) s;
END;
COMMENT ON FUNCTION backfill._message_window(timestamptz, timestamptz, timestamptz, text, text) IS 'window of what is told or counted: the slot of its item''s time, or the run''s window where it has none';
