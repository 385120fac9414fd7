
-- What a run writes about itself. Called by the engine, as the extension's owner.

CREATE TABLE backfill.item_failure (
	pipeline_id  integer NOT NULL REFERENCES backfill.pipeline ON DELETE CASCADE,
	item         text NOT NULL,
	windows      integer NOT NULL DEFAULT 1 CHECK (windows > 0),
	first_window timestamptz NOT NULL,
	last_window  timestamptz NOT NULL,
	item_time    timestamptz,
	scan_from    timestamptz,
	scan_to      timestamptz,
	PRIMARY KEY (pipeline_id, item)
);
COMMENT ON TABLE backfill.item_failure IS 'items whose last live turn failed, and in how many windows in a row';
COMMENT ON COLUMN backfill.item_failure.windows IS 'windows in which the item failed without succeeding in between';
COMMENT ON COLUMN backfill.item_failure.item_time IS 'by which live runs look for it again; null: its candidate query does not say, so that they ask for scan_from to scan_to';
SELECT pg_catalog.pg_extension_config_dump('backfill.item_failure', '');

-- How long a session may be silent before its run counts as crashed. A batch is bounded by one second; a single slow
-- item may take longer.
CREATE FUNCTION backfill._run_lease() RETURNS interval
	LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN interval '10 minutes';
COMMENT ON FUNCTION backfill._run_lease() IS 'how long a run may be silent before it counts as crashed';

-- A lease that reaches further than any is given was given by a clock that has been put back since.
CREATE FUNCTION backfill._has_lapsed(lease_until timestamptz) RETURNS boolean
	LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
	RETURN lease_until < backfill._clock() OR lease_until > backfill._clock() + interval '1 hour';
COMMENT ON FUNCTION backfill._has_lapsed(timestamptz) IS 'whether the holder of a run counts as crashed';

CREATE FUNCTION backfill._new_live_run(pipeline_id integer, requested_by text, starts_now boolean) RETURNS backfill.run
	LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$
	INSERT INTO backfill.run AS r (pipeline_id, mode, state, window_from, window_to, catches_up, scan_from, scan_to, left_out_from, next_watermark, held_by,
		run_time, rate, requested_by, requested_at, started_at, lease_token, lease_until)
	SELECT p.pipeline_id, 'live', CASE WHEN starts_now THEN 'running' ELSE 'requested' END, l.window_from, l.window_to, l.catches_up,
		l.scan_from, l.scan_to, l.left_out_from, l.next_watermark, l.held_by, t.moment, p.rate, requested_by, t.moment,
		CASE WHEN starts_now THEN t.moment END, starts_now::integer, CASE WHEN starts_now THEN t.moment + backfill._run_lease() END
	FROM backfill.pipeline p, (SELECT backfill._clock()) t (moment), backfill._live_range(p, t.moment) l
	WHERE p.pipeline_id = _new_live_run.pipeline_id
	ON CONFLICT (pipeline_id) WHERE mode = 'live' AND state = 'requested' AND started_at IS NULL DO NOTHING
	RETURNING r.*
$$;
COMMENT ON FUNCTION backfill._new_live_run(integer, text, boolean) IS 'writes a live run that waits or starts now; null if one waits already';

-- Who asked again while it waited may have seen what arrived since, so a run looks as far as the moment at which it begins;
-- its window and its time stay those it was asked for in. What has got too old to be caught up with is left out, as of a
-- run that is asked for now. Where each slot has a run of its own, it looks to the end of its slot, and becomes one that is
-- followed by another.
CREATE FUNCTION backfill._begin_waiting_run(run_id bigint) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	p backfill.pipeline;
	r backfill.run;
	l record;
BEGIN
	SELECT q.* INTO r FROM backfill.run q
	WHERE q.run_id = _begin_waiting_run.run_id AND q.mode = 'live' AND q.state = 'requested' AND q.started_at IS NULL AND NOT q.catches_up;
	IF NOT FOUND THEN
		RETURN;
	END IF;
	SELECT q.* INTO STRICT p FROM backfill.pipeline q WHERE q.pipeline_id = r.pipeline_id;
	l := backfill._live_range(p, backfill._clock());
	IF p.catch_up = 'each' AND l.window_from > r.window_from THEN
		UPDATE backfill.run q SET catches_up = true, scan_to = r.window_to, next_watermark = least(l.next_watermark, r.window_to) WHERE q.run_id = r.run_id;
	ELSIF l.scan_to > r.scan_to THEN
		UPDATE backfill.run q
		SET scan_from = least(l.scan_from, greatest(r.scan_from, e.earliest)), scan_to = l.scan_to, next_watermark = l.next_watermark, held_by = l.held_by,
			-- Before the first run there is no watermark that says what was not looked at.
			left_out_from = coalesce(r.left_out_from, l.left_out_from, CASE WHEN p.watermark IS NULL AND r.scan_from < e.earliest THEN r.scan_from END)
		FROM (SELECT backfill._add_interval(l.scan_to, -p.max_catchup, p.timezone)) e (earliest)
		WHERE q.run_id = r.run_id;
	END IF;
END $$;
COMMENT ON FUNCTION backfill._begin_waiting_run(bigint) IS 'lets a live run that never began look as far as one that is asked for now';

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

-- A person may call a run beside one that goes on, which then leaves each other's items alone; what is requested comes
-- one after the other.
CREATE FUNCTION backfill._is_live_going(pipeline_id integer) RETURNS boolean
	LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN EXISTS (SELECT FROM backfill.run r
		WHERE r.pipeline_id = _is_live_going.pipeline_id AND r.mode = 'live' AND r.state = 'running' AND NOT backfill._has_lapsed(r.lease_until));
END $$;
COMMENT ON FUNCTION backfill._is_live_going(integer) IS 'whether somebody works on a live run of the pipeline';

-- Takes a run that waits. Its next holder gets a new token, so that a former one can write no more.
CREATE FUNCTION backfill._claim_run(run_id bigint, pipeline_id integer) RETURNS backfill.run
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	moment CONSTANT timestamptz := backfill._clock();
	r backfill.run;
BEGIN
	PERFORM pg_advisory_xact_lock(backfill._run_lock(run_id));
	-- Two who take two live runs take turns here, so that the second sees the first.
	PERFORM FROM backfill.pipeline p WHERE p.pipeline_id = _claim_run.pipeline_id FOR NO KEY UPDATE;
	IF (SELECT q.mode = 'live' FROM backfill.run q WHERE q.run_id = _claim_run.run_id) AND backfill._is_live_going(pipeline_id) THEN
		RETURN NULL;
	END IF;
	PERFORM backfill._begin_waiting_run(run_id);
	UPDATE backfill.run q
	SET state = 'running', started_at = coalesce(q.started_at, moment), finished_at = NULL, lease_token = q.lease_token + 1,
		lease_until = moment + backfill._run_lease()
	WHERE q.run_id = _claim_run.run_id AND q.pipeline_id = _claim_run.pipeline_id AND q.state = 'requested'
	RETURNING q.* INTO r;
	RETURN r;
END $$;
COMMENT ON FUNCTION backfill._claim_run(bigint, integer) IS 'makes a requested run of the pipeline this session''s; null if somebody else was faster, or works on another live run';

CREATE FUNCTION backfill._begin_live_run(pipeline_id integer, requested_by text) RETURNS backfill.run
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM backfill._free_crashed_runs(pipeline_id, false);
	RETURN backfill._new_live_run(pipeline_id, requested_by, true);
END $$;
COMMENT ON FUNCTION backfill._begin_live_run(integer, text) IS 'creates a live run that starts now in this session';

-- Each holder has a new token. A replay is driven until somebody cancels it: no later run would do what it left.
CREATE FUNCTION backfill._keeps_crashing(r backfill.run) RETURNS boolean
	LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
	RETURN r.mode = 'live' AND r.lease_token >= 5;
COMMENT ON FUNCTION backfill._keeps_crashing(backfill.run) IS 'whether a run whose holder is gone has had so many that it is not to have another';

-- Who drives what was requested takes a crashed run up where it was. Who calls a live run does what a crashed one left,
-- so that one is closed; and so is one that keeps crashing.
CREATE FUNCTION backfill._free_crashed_runs(pipeline_id integer, resume boolean) RETURNS void
	LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$
	WITH crashed AS (
		SELECT r.run_id, r.mode = 'replay' OR (resume AND NOT backfill._keeps_crashing(r)) AS goes_on
		FROM backfill.run r
		WHERE r.pipeline_id = _free_crashed_runs.pipeline_id AND r.state = 'running' AND backfill._has_lapsed(r.lease_until)
		FOR UPDATE)
	UPDATE backfill.run r
	SET state = CASE WHEN c.goes_on THEN 'requested' ELSE 'crashed' END, lease_until = NULL, finished_at = CASE WHEN NOT c.goes_on THEN backfill._clock() END
	FROM crashed c WHERE r.run_id = c.run_id
$$;
COMMENT ON FUNCTION backfill._free_crashed_runs(integer, boolean) IS 'frees the runs whose holder has been silent for too long, or ends them';

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
	p.catch_up := 'coalesce'; -- what several runs would do is rehearsed at once
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
		w.window_from, w.window_to, coalesce(slot_from, (backfill._live_range(p, moment)).scan_from), coalesce(slot_to, moment), moment,
		_begin_rehearsal.deliver, _begin_rehearsal.redo, requested_by, moment, moment, 1, moment + backfill._run_lease()
	FROM backfill._slot_of(coalesce(slot_from, moment), p.slot, p.timezone) w
	RETURNING q.* INTO r;
	RETURN r;
END $$;
COMMENT ON FUNCTION backfill._begin_rehearsal(integer, text, timestamptz, timestamptz, text, boolean) IS 'a run for a rehearsal: of a live run, or of one slot of a replay';

CREATE FUNCTION backfill._write_progress(run_id bigint, lease_token bigint, candidates bigint, changed bigint, unchanged bigint, skipped bigint,
	failed bigint, newly_failed bigint, step_counts text, resume_after text, work_share double precision, check_ms double precision,
	work_ms double precision) RETURNS boolean
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	UPDATE backfill.run r
	SET candidates = _write_progress.candidates, changed = _write_progress.changed, unchanged = _write_progress.unchanged,
		skipped = _write_progress.skipped, failed = _write_progress.failed, newly_failed = _write_progress.newly_failed,
		step_counts = _write_progress.step_counts::jsonb, resume_after = coalesce(_write_progress.resume_after, r.resume_after),
		counted_at = backfill._clock(), work_share = _write_progress.work_share, check_ms = _write_progress.check_ms, work_ms = _write_progress.work_ms,
		lease_until = backfill._clock() + backfill._run_lease()
	WHERE r.run_id = _write_progress.run_id AND r.lease_token = _write_progress.lease_token AND r.state = 'running';
	RETURN FOUND;
END $$;
COMMENT ON FUNCTION backfill._write_progress(bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint, text, text, double precision, double precision, double precision) IS
	'counts and speed so far, and a longer lease; false if the run is no longer this holder''s';

-- What is busy in another run may come to nothing there, so the next live run looks at it again.
CREATE FUNCTION backfill._keep_in_range(run_id bigint, lease_token bigint, at timestamptz) RETURNS void
	LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$
	UPDATE backfill.run r SET next_watermark = least(r.next_watermark, coalesce(at, r.scan_from))
	WHERE r.run_id = _keep_in_range.run_id AND r.lease_token = _keep_in_range.lease_token AND r.state = 'running' AND r.mode = 'live'
$$;
COMMENT ON FUNCTION backfill._keep_in_range(bigint, bigint, timestamptz) IS 'keeps the next watermark from passing an item that this run left alone; null: its time is not known';

CREATE FUNCTION backfill._note_failures(run_id bigint, failed text[], times timestamptz[], recovered text[]) RETURNS bigint
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	r backfill.run;
	newly bigint;
BEGIN
	SELECT q.* INTO STRICT r FROM backfill.run q WHERE q.run_id = _note_failures.run_id;
	DELETE FROM backfill.item_failure f WHERE f.pipeline_id = r.pipeline_id AND f.item = ANY (recovered);
	WITH noted AS (
		INSERT INTO backfill.item_failure AS f (pipeline_id, item, first_window, last_window, item_time, scan_from, scan_to)
		SELECT r.pipeline_id, i.item, r.window_from, r.window_from, i.item_time, r.scan_from, r.scan_to
		FROM unnest(failed, times) AS i(item, item_time) ORDER BY i.item
		ON CONFLICT (pipeline_id, item) DO UPDATE
		SET windows = f.windows + CASE WHEN f.last_window < excluded.last_window THEN 1 ELSE 0 END,
			last_window = greatest(f.last_window, excluded.last_window), item_time = coalesce(excluded.item_time, f.item_time)
		RETURNING f.xmax = 0 AS inserted)
	SELECT count(*) FILTER (WHERE n.inserted) INTO newly FROM noted n;
	RETURN newly;
END $$;
COMMENT ON FUNCTION backfill._note_failures(bigint, text[], timestamptz[], text[]) IS 'keeps the streaks of failing items; returns how many fail for the first time';

-- The watermark passes what failed, so that one poisoned item does not widen every run. Live runs ask for it apart, at
-- the moment that it arrived, and so meet it as long as its data are as they are. Neighbours share a question.
CREATE FUNCTION backfill._failing_earlier(run_id bigint) RETURNS TABLE (ask_from timestamptz, ask_to timestamptz, item text)
	LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
	WITH failing AS (
		SELECT f.item, coalesce(f.item_time, f.scan_from) AS ask_from, coalesce(f.item_time + interval '1 microsecond', f.scan_to) AS ask_to
		FROM backfill.run r JOIN backfill.item_failure f USING (pipeline_id)
		WHERE r.run_id = _failing_earlier.run_id AND r.mode = 'live' AND coalesce(f.item_time, f.scan_from) < r.scan_from
		-- The ones that have not been tried for longest, if they are too many for one night.
		ORDER BY f.last_window, f.item LIMIT 10000),
	marked AS (
		SELECT f.*, f.ask_from > max(f.ask_to) OVER (ORDER BY f.ask_from, f.item ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) + interval '1 second' AS is_apart
		FROM failing f),
	numbered AS (
		SELECT m.*, count(*) FILTER (WHERE m.is_apart) OVER (ORDER BY m.ask_from, m.item) AS island FROM marked m)
	SELECT min(n.ask_from) OVER w, max(n.ask_to) OVER w, n.item
	FROM numbered n WINDOW w AS (PARTITION BY n.island) ORDER BY 1, 3
$$;
COMMENT ON FUNCTION backfill._failing_earlier(bigint) IS 'items that failed in earlier live runs and lie before the range of this one, with the range to ask for them in';

CREATE FUNCTION backfill._forget_failures(run_id bigint, asked text[], found text[]) RETURNS void
	LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$
	DELETE FROM backfill.item_failure f USING backfill.run r
	WHERE r.run_id = _forget_failures.run_id AND f.pipeline_id = r.pipeline_id AND f.item = ANY (asked) AND f.item <> ALL (found)
$$;
COMMENT ON FUNCTION backfill._forget_failures(bigint, text[], text[]) IS 'forgets failing items that the candidate query does not know any more';

-- A run that goes on where it was has only the rest of them.
CREATE FUNCTION backfill._note_asked_again(run_id bigint, items bigint) RETURNS void
	LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$
	UPDATE backfill.run r SET asked_again = items WHERE r.run_id = _note_asked_again.run_id AND r.asked_again < items
$$;
COMMENT ON FUNCTION backfill._note_asked_again(bigint, bigint) IS 'keeps how many of a run''s candidates were asked for because they failed earlier';

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
		-- The next slot that was missed, or the present one.
		IF r.catches_up THEN
			PERFORM backfill._new_live_run(r.pipeline_id, r.requested_by, false), pg_notify('backfill_request', p.name)
			FROM backfill.pipeline p WHERE p.pipeline_id = r.pipeline_id AND p.enabled;
		END IF;
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
COMMENT ON FUNCTION backfill._tell_downstream(backfill.run) IS 'what a run that succeeded starts, or a replay that has ended';

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
		jsonb_build_object('pipeline', p.name, 'run_id', r.run_id, 'window', backfill._slot_name(r.window_from, p.slot, p.timezone), 'window_from', r.window_from, 'candidates', r.candidates, 'changed', r.changed,
			'unchanged', r.unchanged, 'skipped', r.skipped, 'failed', r.failed, 'newly_failed', r.newly_failed,
			'reasons', (SELECT coalesce(jsonb_object_agg(c.reason, c.items), '{}')
				FROM (SELECT s.reason, sum(s.items) AS items
					FROM jsonb_to_recordset(r.step_counts) AS s(status text, reason text, items bigint)
					WHERE s.status <> 'ok' AND s.reason NOT IN ('', 'done') GROUP BY s.reason) c))
			|| jsonb_strip_nulls(jsonb_build_object('left_out_from', r.left_out_from,
				'left_out_to', CASE WHEN r.left_out_from IS NOT NULL THEN r.scan_from END, 'held_by', r.held_by)),
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
