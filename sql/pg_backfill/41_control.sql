
-- Slowing runs down and watching them, while they run.

CREATE FUNCTION backfill._open_run(run_id bigint) RETURNS backfill.run
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	r backfill.run;
BEGIN
	SELECT q.* INTO r FROM backfill.run q WHERE q.run_id = _open_run.run_id FOR NO KEY UPDATE;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'run % does not exist', run_id
			USING ERRCODE = 'undefined_object', HINT = 'See SELECT * FROM backfill.run_progress.';
	END IF;
	PERFORM backfill._require_operator(r.pipeline_id);
	IF r.state NOT IN ('requested', 'running', 'paused') THEN
		RAISE EXCEPTION 'run % %', run_id, backfill._run_did(r.state)
			USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Only a run that waits, runs or is paused can be changed.';
	END IF;
	RETURN r;
END $$;
COMMENT ON FUNCTION backfill._open_run(bigint) IS 'locks a run that has not ended; refuses callers who may not operate its pipeline';

CREATE FUNCTION backfill.set_rate(run_id bigint, items_per_second double precision) RETURNS void
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM backfill._check_rate(items_per_second);
	PERFORM backfill._open_run(run_id);
	UPDATE backfill.run r SET rate = items_per_second WHERE r.run_id = set_rate.run_id;
END $$;
COMMENT ON FUNCTION backfill.set_rate(bigint, double precision) IS
	'bounds how many items a second a run works on, from its next batch on and at once while it waits; items that are found done do not count; null: as fast as it can';

CREATE FUNCTION backfill.set_batch(run_id bigint, items integer) RETURNS void
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF items NOT BETWEEN 1 AND 256 THEN
		RAISE EXCEPTION 'a batch cannot have % items', items
			USING ERRCODE = 'invalid_parameter_value', HINT = 'Use 1 to 256, or null: as many as take about a second.';
	END IF;
	PERFORM backfill._open_run(run_id);
	UPDATE backfill.run r SET batch_limit = items WHERE r.run_id = set_batch.run_id;
END $$;
COMMENT ON FUNCTION backfill.set_batch(bigint, integer) IS 'bounds how many items a run takes in one transaction, from its next batch on; null: as many as take about a second';

CREATE FUNCTION backfill._eta(counted_at timestamptz, ms double precision) RETURNS timestamptz
	LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
	RETURN CASE WHEN ms < 1000.0 * 86400 * 365 * 1000 THEN greatest(counted_at + make_interval(secs => ms / 1000), backfill._clock()) END;
COMMENT ON FUNCTION backfill._eta(timestamptz, double precision) IS 'when what takes so long is done, and never in the past; null: not known, or not in a thousand years';

-- An item that is found done takes a hundredth of one that is worked on, and a run that was interrupted meets all that is
-- done first. So the estimate counts the two apart, with the share of those worked on among the latest few thousand
-- items; and eta_latest says what it would be if everything that is left had to be worked on. Null is: not known.
CREATE VIEW backfill.run_progress AS
	SELECT r.run_id, p.name AS pipeline, r.mode, r.state, r.window_from, r.window_to, r.requested_at, r.started_at,
		c.candidates, c.done, c.candidates - c.done AS remaining, r.changed, r.unchanged, r.skipped, r.failed,
		r.rate, r.batch_limit, r.work_share, r.check_ms, r.work_ms, r.counted_at,
		backfill._eta(r.counted_at, e.ms) AS eta, backfill._eta(r.counted_at, e.most_ms) AS eta_latest
	FROM backfill.run r
	JOIN backfill.pipeline p USING (pipeline_id)
	CROSS JOIN LATERAL (
		SELECT CASE WHEN r.counted_at IS NOT NULL THEN r.candidates END, r.changed + r.unchanged + r.skipped + r.failed,
			CASE WHEN r.work_ms IS NOT NULL THEN greatest(r.work_ms, 1000 / r.rate) END) c (candidates, done, work_ms)
	CROSS JOIN LATERAL (
		SELECT CASE WHEN r.state = 'running' THEN (c.candidates - c.done) * (r.check_ms + CASE WHEN r.work_share = 0 THEN 0 ELSE r.work_share * c.work_ms END) END,
			CASE WHEN r.state = 'running' THEN (c.candidates - c.done) * (r.check_ms + c.work_ms) END) e (ms, most_ms)
	WHERE r.state IN ('requested', 'running', 'paused');
COMMENT ON VIEW backfill.run_progress IS 'runs that wait, run or are paused: how far they are, and when those that run will be done';
COMMENT ON COLUMN backfill.run_progress.candidates IS 'null until the run has counted them; so are remaining, eta and eta_latest';
COMMENT ON COLUMN backfill.run_progress.counted_at IS 'the moment of these counts; items that only need a look are counted once a minute';
COMMENT ON COLUMN backfill.run_progress.eta IS 'if the items that are left need as much work as the latest few thousand did; null: not known';
COMMENT ON COLUMN backfill.run_progress.eta_latest IS 'if all items that are left need work; null: not known, as long as none has needed any';
