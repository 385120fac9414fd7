
-- How each pipeline stands, in one row. pg_cron may be in this database, in another or nowhere, so it is looked for when
-- somebody looks.

-- The latest of its ticks are looked at only, since nobody purges what pg_cron keeps of them.
CREATE FUNCTION backfill._last_tick(jobs bigint[], OUT at timestamptz, OUT status text)
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE 'SELECT d.start_time, d.status FROM (SELECT r.* FROM cron.job_run_details r ORDER BY r.runid DESC LIMIT 1000) d WHERE d.jobid = ANY ($1) ORDER BY d.runid DESC LIMIT 1'
		INTO at, status USING jobs;
END $$;
COMMENT ON FUNCTION backfill._last_tick(bigint[]) IS 'when pg_cron last began one of some jobs, and how it ended; for callers who have seen that pg_cron is here';

CREATE FUNCTION backfill._cron_job(pipeline text, OUT state text, OUT schedule text, OUT next_tick timestamptz, OUT last_tick timestamptz, OUT last_tick_status text)
	LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	home CONSTANT text := current_setting('cron.database_name', true);
	jobs record;
BEGIN
	IF NOT backfill._cron_is_here() THEN
		state := CASE WHEN home IS NULL THEN 'no pg_cron' WHEN home <> current_database() THEN format('pg_cron is in database %s', home) ELSE 'pg_cron is not created' END;
		RETURN;
	END IF;
	-- Those that are switched off count where no other is.
	SELECT count(*) AS count, bool_or(j.active) AS active, string_agg(j.schedule, '; ' ORDER BY j.jobid) AS schedule, array_agg(j.jobid) AS ids,
		string_agg(format('%s of %s', j.jobid, j.username), ', ' ORDER BY j.jobid) AS whose, min(backfill._next_tick(j.schedule)) FILTER (WHERE j.active) AS next_tick
	INTO jobs
	FROM (SELECT q.*, rank() OVER (ORDER BY q.active DESC) AS n FROM backfill._cron_jobs(pipeline) q) j WHERE j.n = 1;
	state := CASE WHEN jobs.count = 0 THEN 'not scheduled' WHEN NOT jobs.active THEN 'switched off' WHEN jobs.count = 1 THEN 'scheduled'
		ELSE format('scheduled by %s jobs: %s', jobs.count, jobs.whose) END;
	schedule := jobs.schedule;
	next_tick := jobs.next_tick;
	IF jobs.count > 0 THEN
		SELECT t.at, t.status INTO last_tick, last_tick_status FROM backfill._last_tick(jobs.ids) t;
	END IF;
END $$;
COMMENT ON FUNCTION backfill._cron_job(text) IS 'the pg_cron job of this database that runs a pipeline or asks for its runs, or all of them, if there is one that can be seen';

CREATE VIEW backfill.pipeline_status AS
	SELECT p.name AS pipeline, p.owner, p.enabled,
		r.run_id AS last_run, r.state AS last_state, r.started_at AS last_started_at, r.finished_at AS last_finished_at,
		c.run_id AS last_change, c.run_time AS last_change_at,
		(SELECT pg_catalog.count(*) FROM backfill.run o WHERE o.pipeline_id = p.pipeline_id AND o.state IN ('requested', 'running', 'paused')) AS open_runs,
		p.watermark, backfill._clock() - p.watermark AS watermark_lag, r.held_by,
		j.state AS cron, j.schedule, j.next_tick, j.last_tick, j.last_tick_status,
		ARRAY(SELECT pg_catalog.concat_ws(' ', a.kind, nullif(a.subject, '')) FROM backfill.alarm a
			WHERE a.pipeline_id = p.pipeline_id AND a.closed_at IS NULL ORDER BY a.alarm_id) AS open_alarms,
		coalesce(d.waiting, 0) AS waiting, d.oldest_waiting_at, coalesce(d.unknown, 0) AS unknown, coalesce(d.dead, 0) AS dead
	FROM backfill.pipeline p
	LEFT JOIN LATERAL (
		SELECT q.run_id, q.state, q.started_at, q.finished_at, q.held_by FROM backfill.run q
		WHERE q.pipeline_id = p.pipeline_id AND q.mode = 'live' AND q.started_at IS NOT NULL ORDER BY q.run_id DESC LIMIT 1) r ON true
	LEFT JOIN LATERAL (
		SELECT s.run_id, s.run_time FROM backfill.run_shape s
		WHERE s.pipeline_id = p.pipeline_id AND s.changed > 0 ORDER BY s.run_id DESC LIMIT 1) c ON true
	CROSS JOIN LATERAL backfill._cron_job(p.name) j
	LEFT JOIN (
		SELECT s.pipeline, pg_catalog.count(*) FILTER (WHERE s.state = 'waiting') AS waiting, pg_catalog.min(s.created_at) FILTER (WHERE s.state = 'waiting') AS oldest_waiting_at,
			pg_catalog.count(*) FILTER (WHERE s.state = 'unknown') AS unknown, pg_catalog.count(*) FILTER (WHERE s.state = 'dead') AS dead
		FROM (
			SELECT m.pipeline, 'waiting' AS state, m.created_at FROM backfill.undelivered u JOIN backfill.message m USING (message_id)
			UNION ALL
			SELECT n.pipeline, n.state, NULL FROM backfill._needs_person n) s
		GROUP BY s.pipeline) d ON d.pipeline = p.name;
COMMENT ON VIEW backfill.pipeline_status IS 'each pipeline in a row: its last live run, watermark, schedule, open alarms and what of its messages waits or needs a person';
COMMENT ON COLUMN backfill.pipeline_status.last_run IS 'the last live run that has started; what waits is in open_runs';
COMMENT ON COLUMN backfill.pipeline_status.last_change IS 'the last live run that changed something';
COMMENT ON COLUMN backfill.pipeline_status.watermark_lag IS 'how long ago the next live run would start to scan; it always scans its lookback at least';
COMMENT ON COLUMN backfill.pipeline_status.held_by IS 'what kept the watermark back at the last live run';
COMMENT ON COLUMN backfill.pipeline_status.cron IS 'scheduled, switched off or not scheduled by pg_cron; by which jobs, if there are several; or where that is, if it is not in this database';
COMMENT ON COLUMN backfill.pipeline_status.next_tick IS 'of pg_cron, which reads schedules in its own time zone; null where there is none, or its schedule does not go by the calendar';
COMMENT ON COLUMN backfill.pipeline_status.waiting IS 'messages that wait or are being sent';
COMMENT ON COLUMN backfill.pipeline_status.dead IS 'messages that were refused or exhausted their attempts, and that nobody has discarded';
