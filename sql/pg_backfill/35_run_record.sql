
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
COMMENT ON COLUMN backfill.item_failure.windows IS 'windows in which the item failed without succeeding in between';
SELECT pg_catalog.pg_extension_config_dump('backfill.item_failure', '');

-- How long a session may be silent before its run counts as crashed. A batch is bounded by one second; a single slow
-- item may take longer.
CREATE FUNCTION backfill._run_lease() RETURNS interval
	LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN interval '10 minutes';
COMMENT ON FUNCTION backfill._run_lease() IS 'how long a run may be silent before it counts as crashed';

-- A live run looks at the time before the moment it was asked for, back to the watermark and at least as far as
-- lookback; that moment is in its window, whenever it starts.
CREATE FUNCTION backfill._new_live_run(pipeline_id integer, requested_by text, starts_now boolean) RETURNS backfill.run
	LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$
	INSERT INTO backfill.run AS r (pipeline_id, mode, state, window_from, window_to, scan_from, scan_to, left_out_from, next_watermark, held_by,
		run_time, requested_by, requested_at, started_at, lease_token, lease_until)
	SELECT p.pipeline_id, 'live', CASE WHEN starts_now THEN 'running' ELSE 'requested' END, w.window_from, w.window_to,
		backfill._live_scan_from(p.lookback, p.max_catchup, p.watermark, t.moment), t.moment,
		CASE WHEN p.watermark < least(t.moment - p.lookback, c.earliest) THEN p.watermark END,
		n.watermark, n.held_by, t.moment, requested_by, t.moment,
		CASE WHEN starts_now THEN t.moment END, starts_now::integer, CASE WHEN starts_now THEN t.moment + backfill._run_lease() END
	FROM backfill.pipeline p, (SELECT backfill._clock()) t (moment), backfill._slot_of(t.moment, p.slot, p.timezone) w,
		backfill._next_watermark(p.watermark, t.moment) n, LATERAL (SELECT t.moment - p.max_catchup) c (earliest)
	WHERE p.pipeline_id = _new_live_run.pipeline_id
	ON CONFLICT (pipeline_id) WHERE mode = 'live' AND state = 'requested' AND started_at IS NULL DO NOTHING
	RETURNING r.*
$$;
COMMENT ON FUNCTION backfill._new_live_run(integer, text, boolean) IS 'writes a live run that waits or starts now; null if one waits already';

-- While a holder is at a batch, the next one waits: it would find the items locked and leave them out, and then the batch
-- would be rolled back because the run is not its holder's any more.
CREATE FUNCTION backfill._run_lock(run_id bigint) RETURNS bigint
	LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN pg_catalog.hashtextextended('backfill.run', run_id);
COMMENT ON FUNCTION backfill._run_lock(bigint) IS 'advisory lock that a holder shares during each batch, and the next holder takes first';

CREATE FUNCTION backfill._hold_run(run_id bigint, lease_token bigint) RETURNS boolean
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM pg_advisory_xact_lock_shared(backfill._run_lock(run_id));
	RETURN EXISTS (SELECT FROM backfill.run r WHERE r.run_id = _hold_run.run_id AND r.lease_token = _hold_run.lease_token AND r.state = 'running');
END $$;
COMMENT ON FUNCTION backfill._hold_run(bigint, bigint) IS 'keeps a run this holder''s until the transaction ends; false if it is not any more';

-- Takes a run that waits. Its next holder gets a new token, so that a former one can write no more.
CREATE FUNCTION backfill._claim_run(run_id bigint, pipeline_id integer) RETURNS backfill.run
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	moment CONSTANT timestamptz := backfill._clock();
	r backfill.run;
BEGIN
	PERFORM pg_advisory_xact_lock(backfill._run_lock(run_id));
	UPDATE backfill.run q
	SET state = 'running', started_at = coalesce(q.started_at, moment), finished_at = NULL, lease_token = q.lease_token + 1,
		lease_until = moment + backfill._run_lease()
	WHERE q.run_id = _claim_run.run_id AND q.pipeline_id = _claim_run.pipeline_id AND q.state = 'requested'
	RETURNING q.* INTO r;
	RETURN r;
END $$;
COMMENT ON FUNCTION backfill._claim_run(bigint, integer) IS 'makes a requested run of the pipeline this session''s; null if somebody else was faster';

CREATE FUNCTION backfill._begin_live_run(pipeline_id integer, requested_by text) RETURNS backfill.run
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM backfill._close_crashed_runs(pipeline_id);
	RETURN backfill._new_live_run(pipeline_id, requested_by, true);
END $$;
COMMENT ON FUNCTION backfill._begin_live_run(integer, text) IS 'creates a live run that starts now in this session';

-- A live run that crashed is closed: the next one does what it left. A replay's is continued where it was.
CREATE FUNCTION backfill._close_crashed_runs(pipeline_id integer) RETURNS void
	LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$
	UPDATE backfill.run r
	SET state = CASE r.mode WHEN 'live' THEN 'crashed' ELSE 'requested' END, lease_until = NULL,
		finished_at = CASE r.mode WHEN 'live' THEN backfill._clock() END
	WHERE r.pipeline_id = _close_crashed_runs.pipeline_id AND r.state = 'running' AND r.lease_until < backfill._clock()
$$;
COMMENT ON FUNCTION backfill._close_crashed_runs(integer) IS 'ends the live runs, and frees the replays, whose holder has been silent for too long';

-- A rehearsal's run has a number that no other has, and is rolled back with all it did.
CREATE FUNCTION backfill._begin_rehearsal(pipeline_id integer, requested_by text, slot_from timestamptz, slot_to timestamptz, redo text, deliver boolean) RETURNS backfill.run
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	p backfill.pipeline;
	r backfill.run;
	replay bigint;
	moment CONSTANT timestamptz := backfill._clock();
BEGIN
	SELECT q.* INTO STRICT p FROM backfill.pipeline q WHERE q.pipeline_id = _begin_rehearsal.pipeline_id;
	IF slot_from IS NOT NULL THEN
		INSERT INTO backfill.replay AS y (replay_id, pipeline_id, replay_from, replay_to, redo, deliver, downstream, requested_by, requested_at)
		OVERRIDING SYSTEM VALUE
		VALUES (-pg_backend_pid(), p.pipeline_id, slot_from, slot_to, redo, deliver, false, requested_by, moment)
		ON CONFLICT (replay_id) DO UPDATE SET replay_to = excluded.replay_to
		RETURNING y.replay_id INTO replay;
	END IF;
	INSERT INTO backfill.run AS q (run_id, pipeline_id, replay_id, mode, state, window_from, window_to, scan_from, scan_to, run_time,
		deliver, redo, requested_by, requested_at, started_at, lease_token, lease_until)
	SELECT -1000000 * pg_backend_pid()::bigint - (SELECT count(*) FROM backfill.run o WHERE o.run_id < 0), p.pipeline_id, replay, CASE WHEN replay IS NULL THEN 'live' ELSE 'replay' END, 'running',
		w.window_from, w.window_to, coalesce(slot_from, moment - p.lookback), coalesce(slot_to, moment), moment,
		_begin_rehearsal.deliver, _begin_rehearsal.redo, requested_by, moment, moment, 1, moment + backfill._run_lease()
	FROM backfill._slot_of(coalesce(slot_from, moment), p.slot, p.timezone) w
	RETURNING q.* INTO r;
	RETURN r;
END $$;
COMMENT ON FUNCTION backfill._begin_rehearsal(integer, text, timestamptz, timestamptz, text, boolean) IS 'a run for a rehearsal: of a live run, or of one slot of a replay';

CREATE FUNCTION backfill._write_progress(run_id bigint, lease_token bigint, candidates bigint, changed bigint, unchanged bigint, skipped bigint,
	failed bigint, newly_failed bigint, step_counts text, resume_after text) RETURNS boolean
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	UPDATE backfill.run r
	SET candidates = _write_progress.candidates, changed = _write_progress.changed, unchanged = _write_progress.unchanged,
		skipped = _write_progress.skipped, failed = _write_progress.failed, newly_failed = _write_progress.newly_failed,
		step_counts = _write_progress.step_counts::jsonb, resume_after = coalesce(_write_progress.resume_after, r.resume_after),
		lease_until = backfill._clock() + backfill._run_lease()
	WHERE r.run_id = _write_progress.run_id AND r.lease_token = _write_progress.lease_token AND r.state = 'running';
	RETURN FOUND;
END $$;
COMMENT ON FUNCTION backfill._write_progress(bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint, text, text) IS
	'counts so far, and a longer lease; false if the run is no longer this holder''s';

CREATE FUNCTION backfill._note_failures(run_id bigint, failed text[], recovered text[]) RETURNS bigint
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	r backfill.run;
	newly bigint;
BEGIN
	SELECT q.* INTO STRICT r FROM backfill.run q WHERE q.run_id = _note_failures.run_id;
	DELETE FROM backfill.item_failure f WHERE f.pipeline_id = r.pipeline_id AND f.item = ANY (recovered);
	WITH noted AS (
		INSERT INTO backfill.item_failure AS f (pipeline_id, item, first_window, last_window)
		SELECT r.pipeline_id, i.item, r.window_from, r.window_from FROM unnest(failed) AS i(item) ORDER BY i.item
		ON CONFLICT (pipeline_id, item) DO UPDATE
		SET windows = f.windows + CASE WHEN f.last_window < excluded.last_window THEN 1 ELSE 0 END,
			last_window = greatest(f.last_window, excluded.last_window)
		RETURNING f.xmax = 0 AS inserted)
	SELECT count(*) FILTER (WHERE n.inserted) INTO newly FROM noted n;
	RETURN newly;
END $$;
COMMENT ON FUNCTION backfill._note_failures(bigint, text[], text[]) IS 'keeps the streaks of failing items; returns how many fail for the first time';

CREATE FUNCTION backfill._finish_run(run_id bigint, lease_token bigint, state text, sqlstate text, error text) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	r backfill.run;
BEGIN
	UPDATE backfill.run q
	SET state = _finish_run.state, finished_at = backfill._clock(), lease_until = NULL, done_ahead = '[]',
		sqlstate = nullif(_finish_run.sqlstate, ''), error = nullif(_finish_run.error, '')
	WHERE q.run_id = _finish_run.run_id AND q.lease_token = _finish_run.lease_token AND q.state = 'running'
	RETURNING q.* INTO r;
	IF r.mode = 'live' THEN
		PERFORM backfill._watch_run(r);
	END IF;
	IF r.mode = 'live' AND r.state = 'succeeded' THEN
		UPDATE backfill.pipeline p SET watermark = r.next_watermark
		WHERE p.pipeline_id = r.pipeline_id AND p.watermark IS DISTINCT FROM r.next_watermark;
		PERFORM backfill._warn_of_range(r);
		PERFORM backfill._tell_summary(r);
	END IF;
	-- A replay whose last slot failed has changed what the others changed.
	IF r.mode = 'replay' OR r.state = 'succeeded' THEN
		PERFORM backfill._tell_downstream(r);
	END IF;
END $$;
COMMENT ON FUNCTION backfill._finish_run(bigint, bigint, text, text, text) IS 'closes a run, and starts what comes after it';

-- A live run that changed something tells whoever listens and starts the pipelines after it; a replay does neither,
-- unless asked to, and then once, when its last slot is done.
CREATE FUNCTION backfill._tell_downstream(r backfill.run) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	p backfill.pipeline;
	changed boolean := r.changed > 0;
BEGIN
	SELECT q.* INTO STRICT p FROM backfill.pipeline q WHERE q.pipeline_id = r.pipeline_id;
	IF r.mode = 'replay' THEN
		PERFORM FROM backfill.replay y WHERE y.replay_id = r.replay_id AND y.downstream FOR UPDATE;
		IF NOT FOUND OR EXISTS (SELECT FROM backfill.run o WHERE o.replay_id = r.replay_id AND o.state IN ('requested', 'running', 'paused')) THEN
			RETURN;
		END IF;
		changed := EXISTS (SELECT FROM backfill.run o WHERE o.replay_id = r.replay_id AND o.changed > 0);
	END IF;
	IF NOT changed THEN
		RETURN;
	END IF;
	IF r.mode = 'live' THEN
		PERFORM pg_notify('backfill_run', json_build_object('pipeline', p.name, 'run_id', r.run_id, 'changed', r.changed)::text);
	END IF;
	PERFORM backfill._new_live_run(d.pipeline_id, r.requested_by, false) FROM backfill.pipeline d WHERE d.after = p.pipeline_id AND d.enabled ORDER BY d.pipeline_id;
	PERFORM pg_notify('backfill_request', d.name) FROM backfill.pipeline d WHERE d.after = p.pipeline_id AND d.enabled;
END $$;
COMMENT ON FUNCTION backfill._tell_downstream(backfill.run) IS 'what a run that succeeded starts';

-- A night of no-ops is silent. The ordinal in the type makes one message of a run whose end is repeated, and two of two
-- runs of one slot.
CREATE FUNCTION backfill._tell_summary(r backfill.run) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	p backfill.pipeline;
	ordinal bigint;
BEGIN
	SELECT q.* INTO STRICT p FROM backfill.pipeline q WHERE q.pipeline_id = r.pipeline_id;
	IF p.summary_to IS NULL OR (r.changed = 0 AND r.newly_failed = 0) THEN
		RETURN;
	END IF;
	SELECT count(*) INTO ordinal FROM backfill.run o
	WHERE o.pipeline_id = r.pipeline_id AND o.mode = 'live' AND o.window_from = r.window_from AND (o.run_id <= r.run_id OR r.run_id < 0);
	PERFORM backfill._emit(r.run_id, r.pipeline_id, r.mode, r.deliver, r.run_time, r.window_from, r.window_to, NULL,
		p.summary_to, 'run_summary_' || ordinal,
		jsonb_build_object('pipeline', p.name, 'run_id', r.run_id, 'window_from', r.window_from, 'candidates', r.candidates, 'changed', r.changed,
			'unchanged', r.unchanged, 'skipped', r.skipped, 'failed', r.failed, 'newly_failed', r.newly_failed,
			'reasons', (SELECT coalesce(jsonb_object_agg(c.reason, c.items), '{}')
				FROM (SELECT s.reason, sum(s.items) AS items
					FROM jsonb_to_recordset(r.step_counts) AS s(status text, reason text, items bigint)
					WHERE s.status <> 'ok' AND s.reason NOT IN ('', 'done') GROUP BY s.reason) c)),
		backfill._default_channel(p.summary_to));
END $$;
COMMENT ON FUNCTION backfill._tell_summary(backfill.run) IS 'a message about a live run, only if something changed or newly failed';

CREATE FUNCTION backfill._warn_of_range(r backfill.run) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF r.run_id < 0 THEN
		RETURN;
	END IF;
	IF r.left_out_from IS NOT NULL THEN
		RAISE WARNING 'what arrived between % and % was not looked at', r.left_out_from, r.scan_from
			USING HINT = 'It lies beyond the pipeline''s max_catchup: widen that for the next time, and use backfill.replay for what was left out.';
	END IF;
	IF r.held_by IS NOT NULL THEN
		RAISE WARNING 'the next run scans from % on, held back by %', r.next_watermark, r.held_by
			USING HINT = 'End it if it is not needed; until then each run looks at a longer range.';
	END IF;
END $$;
COMMENT ON FUNCTION backfill._warn_of_range(backfill.run) IS 'says what a live run did not look at, and what keeps the watermark back';
