
-- Driving from outside: what the worker calls. Several of its sessions work on one run at once, each call is one
-- transaction, and nothing depends on the session, so that a transaction pooler may lie between. A token is given with the
-- claim; who comes with an older one is refused.

CREATE FUNCTION backfill._refuse_holder(run_id bigint) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RAISE EXCEPTION 'run % is not this holder''s any more', run_id
		USING ERRCODE = 'LE001', HINT = 'It was paused, ended, or taken over: see SELECT * FROM backfill.run_history.';
END $$;
COMMENT ON FUNCTION backfill._refuse_holder(bigint) IS 'what a holder with an older token is told';

-- Claims one after the other. A pipeline has one driven run at a time: two would leave each other's items out as busy, and
-- what a replay makes of a live run's item is silent. A run whose former holder is still at a batch has its turn later.
CREATE FUNCTION backfill.claim_run(pipelines text[] DEFAULT NULL, wanted bigint DEFAULT NULL, lease interval DEFAULT '1 minute')
	RETURNS TABLE (run_id bigint, token bigint, pipeline text, mode text, window_from timestamptz, window_to timestamptz, resume_after text,
		counted bigint, taken_over boolean, rate double precision, batch_limit integer)
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	moment timestamptz;
	r record;
BEGIN
	IF lease IS NULL OR lease < '1 second' OR lease > '1 hour' THEN
		RAISE EXCEPTION 'a run cannot be claimed for %', coalesce(lease::text, 'no time')
			USING ERRCODE = 'invalid_parameter_value', HINT = 'lease is one second to an hour; heartbeat_run extends it.';
	END IF;
	PERFORM pg_advisory_xact_lock(backfill._run_lock(0));
	moment := backfill._clock();
	UPDATE backfill.run q SET state = 'crashed', lease_until = NULL, finished_at = moment
	FROM backfill.pipeline p
	WHERE p.pipeline_id = q.pipeline_id AND (pipelines IS NULL OR p.name = ANY (pipelines))
		AND q.state = 'running' AND backfill._has_lapsed(q.lease_until) AND backfill._keeps_crashing(q);
	FOR r IN
		SELECT q.run_id, q.state, q.lease_token, p.name FROM backfill.run q JOIN backfill.pipeline p USING (pipeline_id)
		WHERE p.enabled AND (pipelines IS NULL OR p.name = ANY (pipelines)) AND (wanted IS NULL OR q.run_id = wanted)
			AND (q.state = 'requested' OR (q.state = 'running' AND backfill._has_lapsed(q.lease_until)))
			AND NOT EXISTS (SELECT FROM backfill.run o WHERE o.pipeline_id = q.pipeline_id AND o.run_id <> q.run_id AND o.state = 'running' AND NOT backfill._has_lapsed(o.lease_until))
		ORDER BY q.mode = 'replay', q.replay_id, q.window_from, q.run_id
	LOOP
		CONTINUE WHEN NOT pg_try_advisory_xact_lock(backfill._run_lock(r.run_id));
		-- Somebody's open transaction does not keep the others' runs waiting.
		PERFORM FROM backfill.run q WHERE q.run_id = r.run_id FOR UPDATE SKIP LOCKED;
		CONTINUE WHEN NOT FOUND;
		PERFORM backfill._begin_waiting_run(r.run_id);
		RETURN QUERY
		UPDATE backfill.run q
		SET state = 'running', started_at = coalesce(q.started_at, moment), lease_token = q.lease_token + 1, lease_until = moment + lease
		WHERE q.run_id = r.run_id AND q.state = r.state AND q.lease_token = r.lease_token
		RETURNING q.run_id, q.lease_token, r.name, q.mode, q.window_from, q.window_to, q.resume_after,
			q.changed + q.unchanged + q.skipped + q.failed, r.state = 'running', q.rate, q.batch_limit;
		EXIT WHEN FOUND;
	END LOOP;
END $$;
COMMENT ON FUNCTION backfill.claim_run(text[], bigint, interval) IS
	'the run to drive next, as this caller''s: one that waits, live ones first, or one whose holder has been silent for longer than its lease, to go on where it was; no row: none; a live run that has lost five holders ends as crashed';

-- A batch is the range (after, upto] of keys. Batches end in any order; what is done beyond the first gap is kept aside,
-- so that no item is counted twice by whoever goes on.
CREATE FUNCTION backfill._advance(INOUT resume_after text, INOUT done_ahead jsonb, after text, upto text)
	LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	range record;
	low text := after;
	high text := upto;
BEGIN
	IF after IS NOT DISTINCT FROM resume_after THEN
		resume_after := upto;
		LOOP
			SELECT e.r ->> 1 AS high, (e.n - 1)::integer AS place INTO range
			FROM jsonb_array_elements(done_ahead) WITH ORDINALITY AS e(r, n) WHERE e.r ->> 0 = resume_after LIMIT 1;
			EXIT WHEN NOT FOUND;
			resume_after := range.high;
			done_ahead := done_ahead - range.place;
		END LOOP;
		RETURN;
	END IF;
	SELECT coalesce(max(e.r ->> 0) FILTER (WHERE e.r ->> 1 = after), low), coalesce(max(e.r ->> 1) FILTER (WHERE e.r ->> 0 = upto), high),
		coalesce(jsonb_agg(e.r) FILTER (WHERE e.r ->> 1 <> after AND e.r ->> 0 <> upto), '[]')
	INTO low, high, done_ahead
	FROM jsonb_array_elements(done_ahead) AS e(r);
	done_ahead := done_ahead || jsonb_build_array(jsonb_build_array(low, high));
END $$;
COMMENT ON FUNCTION backfill._advance(text, jsonb, text, text) IS 'where a run stands when a range of its keys is done';

CREATE FUNCTION backfill._add_step_counts(counts jsonb, more jsonb) RETURNS jsonb
	LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT coalesce(jsonb_agg(jsonb_build_object('step', s.step, 'status', s.status, 'reason', s.reason, 'items', s.items) ORDER BY s.step, s.status, s.reason), '[]')
	FROM (SELECT c.step, c.status, c.reason, sum(c.items) AS items
		FROM jsonb_to_recordset(counts || more) AS c(step text, status text, reason text, items bigint)
		GROUP BY c.step, c.status, c.reason) s
$$;
COMMENT ON FUNCTION backfill._add_step_counts(jsonb, jsonb) IS 'adds up two arrays of {step, status, reason, items}';

-- In the batch's own transaction. The row is locked to its end, which is soon.
CREATE FUNCTION backfill._count_batch(run_id bigint, token bigint, after text, upto text, done bigint, changed bigint, unchanged bigint, skipped bigint,
	failed bigint, newly_failed bigint, step_counts text) RETURNS boolean
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
	r backfill.run;
	place record;
	all_done jsonb;
BEGIN
	SELECT q.* INTO r FROM backfill.run q
	WHERE q.run_id = _count_batch.run_id AND q.lease_token = token AND q.state = 'running' FOR NO KEY UPDATE;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	place := backfill._advance(r.resume_after, r.done_ahead, after, upto);
	SELECT coalesce(jsonb_agg(jsonb_build_object('step', s.name, 'status', 'skipped', 'reason', 'done', 'items', done)), '[]') INTO all_done
	FROM backfill.step s WHERE s.pipeline_id = r.pipeline_id AND done > 0;
	UPDATE backfill.run q
	SET changed = q.changed + changed, unchanged = q.unchanged + unchanged + done, skipped = q.skipped + skipped, failed = q.failed + failed,
		newly_failed = q.newly_failed + newly_failed,
		step_counts = backfill._add_step_counts(q.step_counts, step_counts::jsonb || all_done),
		resume_after = place.resume_after, done_ahead = place.done_ahead,
		-- As long as nobody has said how many candidates there are, the items that are done are no measure of it.
		counted_at = CASE WHEN q.counted_at IS NOT NULL THEN backfill._clock() END,
		candidates = greatest(q.candidates, q.changed + q.unchanged + q.skipped + q.failed + changed + unchanged + skipped + failed + done)
	WHERE q.run_id = r.run_id;
	RETURN true;
END $$;
COMMENT ON FUNCTION backfill._count_batch(bigint, bigint, text, text, bigint, bigint, bigint, bigint, bigint, bigint, text) IS
	'adds what a batch came to, and done items that lacked nothing, to its run; false if the run is no longer this holder''s';

CREATE FUNCTION backfill._count_ranges(run_id bigint, token bigint, ranges jsonb) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	range record;
BEGIN
	FOR range IN SELECT e.r ->> 0 AS after, e.r ->> 1 AS upto, (e.r ->> 2)::bigint AS items FROM jsonb_array_elements(ranges) WITH ORDINALITY AS e(r, n) ORDER BY e.n LOOP
		IF NOT backfill._count_batch(run_id, token, range.after, range.upto, range.items, 0, 0, 0, 0, 0, '[]') THEN
			PERFORM backfill._refuse_holder(run_id);
		END IF;
	END LOOP;
END $$;
COMMENT ON FUNCTION backfill._count_ranges(bigint, bigint, jsonb) IS 'counts ranges of items that lacked nothing: array of [after, upto, items]';

-- A run begins with its pipeline's rate.
CREATE FUNCTION backfill._run_limits(run_id bigint, OUT rate double precision, OUT batch_limit integer)
	LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT r.rate, r.batch_limit FROM backfill.run r WHERE r.run_id = _run_limits.run_id
$$;
COMMENT ON FUNCTION backfill._run_limits(bigint) IS 'items a second and items a batch that a run may do; null: as many as it can';

-- Asked every second; writes only when there is something to write.
CREATE FUNCTION backfill.heartbeat_run(run_id bigint, token bigint, lease interval DEFAULT '1 minute', candidates bigint DEFAULT NULL, done jsonb DEFAULT NULL,
	pipelines text[] DEFAULT NULL, work_share double precision DEFAULT NULL, check_ms double precision DEFAULT NULL,
	work_ms double precision DEFAULT NULL, OUT state text, OUT rate double precision, OUT batch_limit integer, OUT live_waits boolean)
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	r backfill.run;
	moment CONSTANT timestamptz := backfill._clock();
BEGIN
	SELECT q.* INTO r FROM backfill.run q WHERE q.run_id = heartbeat_run.run_id;
	IF NOT FOUND OR r.lease_token IS DISTINCT FROM token THEN
		state := 'lost';
		RETURN;
	END IF;
	state := r.state;
	IF state = 'running' AND (r.lease_until < moment + lease * 0.7 OR heartbeat_run.candidates > r.candidates OR (r.counted_at IS NULL AND heartbeat_run.candidates IS NOT NULL) OR done <> '[]' OR heartbeat_run.check_ms IS NOT NULL) THEN
		UPDATE backfill.run q
		SET lease_until = moment + lease, candidates = greatest(q.candidates, heartbeat_run.candidates),
			counted_at = CASE WHEN heartbeat_run.candidates IS NULL THEN q.counted_at ELSE moment END,
			work_share = coalesce(heartbeat_run.work_share, q.work_share), check_ms = coalesce(heartbeat_run.check_ms, q.check_ms),
			work_ms = coalesce(heartbeat_run.work_ms, q.work_ms)
		WHERE q.run_id = r.run_id AND q.lease_token = token AND q.state = 'running';
		IF NOT FOUND THEN
			state := 'lost';
			RETURN;
		END IF;
		PERFORM backfill._count_ranges(r.run_id, token, done) WHERE done IS NOT NULL;
	END IF;
	SELECT l.rate, l.batch_limit INTO rate, batch_limit FROM backfill._run_limits(r.run_id) l;
	live_waits := r.mode = 'replay' AND EXISTS (
		SELECT FROM backfill.run q JOIN backfill.pipeline p USING (pipeline_id)
		WHERE q.state = 'requested' AND q.mode = 'live' AND p.enabled AND (pipelines IS NULL OR p.name = ANY (pipelines))
			AND NOT EXISTS (SELECT FROM backfill.run o WHERE o.pipeline_id = q.pipeline_id AND o.run_id NOT IN (q.run_id, r.run_id) AND o.state = 'running' AND NOT backfill._has_lapsed(o.lease_until)));
END $$;
COMMENT ON FUNCTION backfill.heartbeat_run(bigint, bigint, interval, bigint, jsonb, text[], double precision, double precision, double precision) IS
	'keeps a run its holder''s and says what somebody wants of it: state running, paused, cancelled, or lost to another holder; done: [[after, upto, items], ...] that lacked nothing; live_waits: a replay might let a live run pass; work_share, check_ms and work_ms are what run_progress tells';

CREATE FUNCTION backfill.finish_run(run_id bigint, token bigint, state text, sqlstate text DEFAULT NULL, error text DEFAULT NULL,
	candidates bigint DEFAULT NULL, done jsonb DEFAULT NULL, impure_step text DEFAULT NULL)
	RETURNS TABLE (changed bigint, unchanged bigint, skipped bigint, failed bigint, newly_failed bigint, step_counts jsonb)
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
	IF state IS NULL OR state NOT IN ('succeeded', 'failed', 'broken', 'cancelled') THEN
		RAISE EXCEPTION 'a run cannot end as "%"', state
			USING ERRCODE = 'invalid_parameter_value', HINT = 'Use succeeded, failed, broken or cancelled; release_run hands it back.';
	END IF;
	PERFORM backfill._count_ranges(finish_run.run_id, token, done) WHERE done IS NOT NULL;
	UPDATE backfill.run q
	SET candidates = coalesce(finish_run.candidates, q.candidates),
		step_counts = CASE WHEN impure_step IS NULL THEN q.step_counts
			ELSE backfill._add_step_counts(q.step_counts, jsonb_build_array(jsonb_build_object('step', impure_step, 'status', 'failed', 'reason', 'impure', 'items', 1))) END
	WHERE q.run_id = finish_run.run_id AND q.lease_token = token AND q.state = 'running';
	IF NOT FOUND THEN
		PERFORM backfill._refuse_holder(finish_run.run_id);
	END IF;
	PERFORM backfill._finish_run(finish_run.run_id, token, finish_run.state, coalesce(finish_run.sqlstate, ''), coalesce(finish_run.error, ''));
	RETURN QUERY SELECT q.changed, q.unchanged, q.skipped, q.failed, q.newly_failed, q.step_counts FROM backfill.run q WHERE q.run_id = finish_run.run_id;
END $$;
COMMENT ON FUNCTION backfill.finish_run(bigint, bigint, text, text, text, bigint, jsonb, text) IS
	'closes a run and starts what comes after it; returns its tally; candidates: how many its holder was given, with those before it';

CREATE FUNCTION backfill.release_run(run_id bigint, token bigint, done jsonb DEFAULT NULL) RETURNS boolean
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	pipeline text;
BEGIN
	SELECT p.name INTO pipeline FROM backfill.run q JOIN backfill.pipeline p USING (pipeline_id)
	WHERE q.run_id = release_run.run_id AND q.lease_token = token AND q.state = 'running' FOR NO KEY UPDATE OF q;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	PERFORM backfill._count_ranges(release_run.run_id, token, done) WHERE done IS NOT NULL;
	UPDATE backfill.run q SET state = 'requested', lease_until = NULL WHERE q.run_id = release_run.run_id;
	PERFORM pg_notify('backfill_request', pipeline);
	RETURN true;
END $$;
COMMENT ON FUNCTION backfill.release_run(bigint, bigint, jsonb) IS 'hands a run back, for whoever claims it next to go on with; false if it is not this holder''s';

CREATE FUNCTION backfill._driven_pipeline(run_id bigint, token bigint, OUT pipeline text, OUT stamp bigint)
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	SELECT p.name, hashtextextended(concat_ws(chr(1), p.pipeline_id, p.owner, (SELECT o.oid FROM pg_roles o WHERE o.rolname = p.owner), p.candidates,
			p.key_type, p.search_path, p.timezone, p.enabled,
			(SELECT string_agg(concat_ws(chr(1), s.step_id, s.name, s.position, s.batch, s.check_sql, s.work_sql, s.clear_sql), chr(2) ORDER BY s.position)
				FROM backfill.step s WHERE s.pipeline_id = p.pipeline_id)), 0)
	INTO pipeline, stamp
	FROM backfill.run r JOIN backfill.pipeline p USING (pipeline_id)
	WHERE r.run_id = _driven_pipeline.run_id AND r.lease_token = token AND r.state = 'running';
	IF NOT FOUND THEN
		PERFORM backfill._refuse_holder(run_id);
	END IF;
END $$;
COMMENT ON FUNCTION backfill._driven_pipeline(bigint, bigint) IS 'pipeline of a run, and what changes with its definition; refuses a holder with an older token';

CREATE FUNCTION backfill._held_run(run_id bigint, lease_token bigint) RETURNS backfill.run
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	r backfill.run;
BEGIN
	IF NOT backfill._hold_run(run_id, lease_token) THEN
		PERFORM backfill._refuse_holder(run_id);
	END IF;
	SELECT q.* INTO r FROM backfill.run q WHERE q.run_id = _held_run.run_id;
	RETURN r;
END $$;
COMMENT ON FUNCTION backfill._held_run(bigint, bigint) IS 'the run, which stays this holder''s until the transaction ends';

CREATE FUNCTION backfill.run_candidates(run_id bigint, token bigint, after text, "limit" integer, count boolean DEFAULT false)
	RETURNS TABLE (key text, item_time timestamptz, remaining bigint)
	LANGUAGE c VOLATILE ROWS 50000 AS 'MODULE_PATHNAME', 'pg_backfill_run_candidates';
COMMENT ON FUNCTION backfill.run_candidates(bigint, bigint, text, integer, boolean) IS
	'the next candidates of a run beyond a key, in key order, without those that are counted already; count: says how many there are, which takes longer; a null key, last: the candidate query returned one';

CREATE FUNCTION backfill.check_batch(run_id bigint, token bigint, keys text[], times timestamptz[], OUT first_steps integer[], OUT impure_step text)
	LANGUAGE c VOLATILE AS 'MODULE_PATHNAME', 'pg_backfill_check_batch';
COMMENT ON FUNCTION backfill.check_batch(bigint, bigint, text[], timestamptz[]) IS
	'for each item, in key order, the first step that it lacks the output of, from 0, or -1: none; writes nothing; impure_step: a check that did';

CREATE FUNCTION backfill.run_batch(run_id bigint, token bigint, after text, upto text, done bigint, keys text[], times timestamptz[], first_steps integer[],
	narrate text DEFAULT 'changes', OUT result text, OUT fits integer, OUT impure_step text, OUT fell_back boolean,
	OUT changed bigint, OUT unchanged bigint, OUT skipped bigint, OUT failed bigint, OUT newly_failed bigint,
	OUT step_counts json, OUT attempts json, OUT events json)
	LANGUAGE c VOLATILE AS 'MODULE_PATHNAME', 'pg_backfill_run_batch';
COMMENT ON FUNCTION backfill.run_batch(bigint, bigint, text, text, bigint, text[], timestamptz[], integer[], text) IS
	'takes items, in key order, through the chain in this transaction, and counts them and done others of (after, upto]; result: done, or too_large (do it in batches of `fits`) or impure, and then nothing was done';

CREATE FUNCTION backfill.unknown_pipelines(pipelines text[]) RETURNS SETOF text
	LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT n.name FROM unnest(pipelines) n (name) WHERE NOT EXISTS (SELECT FROM backfill.pipeline p WHERE p.name = n.name);
END;
COMMENT ON FUNCTION backfill.unknown_pipelines(text[]) IS 'for workers: those of the names that no pipeline has';

-- What a driver may be asked to hold back for.
CREATE FUNCTION backfill.pressure(OUT replica_lag_seconds double precision, OUT lock_wait_seconds double precision)
	LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	SELECT max(date_part('epoch', r.replay_lag)) INTO replica_lag_seconds FROM pg_stat_replication r WHERE r.state <> 'backup';
	SELECT max(date_part('epoch', clock_timestamp() - l.waitstart)) INTO lock_wait_seconds
	FROM pg_locks l WHERE NOT l.granted AND l.locktype <> 'advisory' AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database());
	replica_lag_seconds := coalesce(replica_lag_seconds, 0);
	lock_wait_seconds := coalesce(lock_wait_seconds, 0);
END $$;
COMMENT ON FUNCTION backfill.pressure() IS 'how far the slowest replica is behind, and how long some session of this database has waited for a lock';
