
-- What a run writes about itself. Called by the engine, as the extension's owner.

CREATE TABLE backfill.item_failure (
	pipeline_id  integer NOT NULL REFERENCES backfill.pipeline ON DELETE CASCADE,
	item         text NOT NULL,
	windows      integer NOT NULL DEFAULT 1 CHECK (windows > 0),
	first_window timestamptz NOT NULL,
	last_window  timestamptz NOT NULL,
	PRIMARY KEY (pipeline_id, item)
);
COMMENT ON TABLE backfill.item_failure IS 'items whose last live turn failed, and in how many windows in a row';
COMMENT ON COLUMN backfill.item_failure.windows IS 'windows in a row in which the item failed, whatever lay between them';
SELECT pg_catalog.pg_extension_config_dump('backfill.item_failure', '');

CREATE FUNCTION backfill._slot_from(at timestamptz, slot text, timezone text) RETURNS timestamptz
	LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
	RETURN date_trunc(slot, at, timezone);
COMMENT ON FUNCTION backfill._slot_from(timestamptz, text, text) IS 'start of the calendar slot that contains a time';

-- An hour is 60 minutes on every day; longer slots end where the next one begins on the calendar.
CREATE FUNCTION backfill._slot_to(at timestamptz, slot text, timezone text) RETURNS timestamptz
	LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
	RETURN CASE slot
		WHEN 'hour' THEN date_trunc(slot, at, timezone) + interval '1 hour'
		ELSE (date_trunc(slot, at AT TIME ZONE timezone) + ('1 ' || slot)::interval) AT TIME ZONE timezone
	END;
COMMENT ON FUNCTION backfill._slot_to(timestamptz, text, text) IS 'end of the calendar slot that contains a time, where the next one begins';

-- How long a session may be silent before its run counts as crashed. A batch is bounded by one second; a single slow
-- item may take longer.
CREATE FUNCTION backfill._run_lease() RETURNS interval
	LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN interval '10 minutes';
COMMENT ON FUNCTION backfill._run_lease() IS 'how long a run may be silent before it counts as crashed';

CREATE FUNCTION backfill._begin_live_run(pipeline_id integer, requested_by text) RETURNS backfill.run
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	p backfill.pipeline;
	r backfill.run;
	started CONSTANT timestamptz := clock_timestamp();
BEGIN
	SELECT q.* INTO STRICT p FROM backfill.pipeline q WHERE q.pipeline_id = _begin_live_run.pipeline_id;
	UPDATE backfill.run q SET state = 'crashed', finished_at = started
	WHERE q.pipeline_id = p.pipeline_id AND q.state = 'running' AND q.lease_until < started;
	INSERT INTO backfill.run AS q (pipeline_id, mode, state, window_from, window_to, scan_from, scan_to, run_time, requested_by,
		requested_at, started_at, lease_token, lease_until)
	VALUES (p.pipeline_id, 'live', 'running', backfill._slot_from(started, p.slot, p.timezone), backfill._slot_to(started, p.slot, p.timezone),
		started - p.lookback, started, started, requested_by, started, started, 1, started + backfill._run_lease())
	RETURNING q.* INTO r;
	RETURN r;
END $$;
COMMENT ON FUNCTION backfill._begin_live_run(integer, text) IS 'creates a live run that starts now, and closes those that crashed';

CREATE FUNCTION backfill._write_progress(run_id bigint, candidates bigint, changed bigint, unchanged bigint, skipped bigint, failed bigint) RETURNS boolean
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	UPDATE backfill.run r
	SET candidates = _write_progress.candidates, changed = _write_progress.changed, unchanged = _write_progress.unchanged,
		skipped = _write_progress.skipped, failed = _write_progress.failed, lease_until = clock_timestamp() + backfill._run_lease()
	WHERE r.run_id = _write_progress.run_id AND r.state = 'running';
	RETURN FOUND;
END $$;
COMMENT ON FUNCTION backfill._write_progress(bigint, bigint, bigint, bigint, bigint, bigint) IS 'counts so far, and a longer lease; false if the run is no longer running';

CREATE FUNCTION backfill._note_failures(run_id bigint, failed text[], recovered text[]) RETURNS bigint
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	r backfill.run;
	repeated bigint;
BEGIN
	SELECT q.* INTO STRICT r FROM backfill.run q WHERE q.run_id = _note_failures.run_id;
	DELETE FROM backfill.item_failure f WHERE f.pipeline_id = r.pipeline_id AND f.item = ANY (recovered);
	WITH noted AS (
		INSERT INTO backfill.item_failure AS f (pipeline_id, item, first_window, last_window)
		SELECT r.pipeline_id, i.item, r.window_from, r.window_from FROM unnest(failed) AS i(item) ORDER BY i.item
		ON CONFLICT (pipeline_id, item) DO UPDATE
		SET windows = f.windows + CASE WHEN f.last_window < excluded.last_window THEN 1 ELSE 0 END, last_window = excluded.last_window
		RETURNING f.windows)
	SELECT count(*) INTO repeated FROM noted n WHERE n.windows > 1;
	RETURN repeated;
END $$;
COMMENT ON FUNCTION backfill._note_failures(bigint, text[], text[]) IS 'keeps the streaks of failing items; returns how many failed in an earlier window too';

CREATE FUNCTION backfill._finish_run(run_id bigint, state text, sqlstate text, error text, steps text[], statuses text[], reasons text[], items bigint[]) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	UPDATE backfill.run r
	SET state = _finish_run.state, finished_at = clock_timestamp(), lease_until = NULL,
		sqlstate = nullif(_finish_run.sqlstate, ''), error = nullif(_finish_run.error, '')
	WHERE r.run_id = _finish_run.run_id AND r.state = 'running';
	INSERT INTO backfill.step_count (run_id, step, status, reason, items)
	SELECT _finish_run.run_id, c.* FROM unnest(steps, statuses, reasons, items) AS c;
END $$;
COMMENT ON FUNCTION backfill._finish_run(bigint, text, text, text, text[], text[], text[], bigint[]) IS 'closes a run and writes its counts';
