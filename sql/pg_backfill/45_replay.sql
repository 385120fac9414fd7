
-- Replaying and rehearsing.

CREATE FUNCTION backfill._replay_bounds(pipeline_id integer, local_from timestamp, local_to timestamp, OUT replay_from timestamptz, OUT replay_to timestamptz)
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	p backfill.pipeline;
	off timestamptz;
BEGIN
	SELECT q.* INTO STRICT p FROM backfill.pipeline q WHERE q.pipeline_id = _replay_bounds.pipeline_id;
	IF local_from IS NULL OR local_to IS NULL OR local_from >= local_to OR NOT isfinite(local_from) OR NOT isfinite(local_to) THEN
		RAISE EXCEPTION 'a replay needs a range of time'
			USING ERRCODE = 'invalid_parameter_value', HINT = 'Give its start, inclusive, and its end, exclusive.';
	END IF;
	replay_from := local_from AT TIME ZONE p.timezone;
	replay_to := local_to AT TIME ZONE p.timezone;
	SELECT b.at INTO off FROM (VALUES (replay_from), (replay_to)) AS b(at)
	WHERE b.at <> (backfill._slot_of(b.at, p.slot, p.timezone)).window_from LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION '% is not where a % of pipeline "%" begins', off AT TIME ZONE p.timezone, p.slot, p.name
			USING ERRCODE = 'invalid_parameter_value',
				HINT = format('Times are read in the pipeline''s time zone, %s. The slot it is in begins at %s.', p.timezone,
					(backfill._slot_of(off, p.slot, p.timezone)).window_from AT TIME ZONE p.timezone);
	END IF;
	IF replay_from > backfill._clock() THEN
		RAISE EXCEPTION 'a replay cannot begin in the future'
			USING ERRCODE = 'invalid_parameter_value', HINT = 'A replay goes over the past again; for what is to come there are live runs.';
	END IF;
	-- Slots that have not begun have nothing to go over.
	replay_to := least(replay_to, (backfill._slot_of(backfill._clock(), p.slot, p.timezone)).window_to);
END $$;
COMMENT ON FUNCTION backfill._replay_bounds(integer, timestamp, timestamp) IS 'a range of whole slots, from local times of the pipeline''s zone, up to the slot of now';

CREATE FUNCTION backfill._slots(pipeline_id integer, range_from timestamptz, range_to timestamptz) RETURNS TABLE (slot_from timestamptz, slot_to timestamptz)
	LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
	WITH RECURSIVE slot AS (
		SELECT p.slot AS unit, p.timezone, w.window_from, w.window_to
		FROM backfill.pipeline p, backfill._slot_of(range_from, p.slot, p.timezone) w
		WHERE p.pipeline_id = _slots.pipeline_id
		UNION ALL
		SELECT s.unit, s.timezone, w.window_from, w.window_to
		FROM slot s, backfill._slot_of(s.window_to, s.unit, s.timezone) w
		WHERE s.window_to < range_to)
	SELECT s.window_from, s.window_to FROM slot s
$$;
COMMENT ON FUNCTION backfill._slots(integer, timestamptz, timestamptz) IS 'the calendar slots of a range of whole slots, oldest first';

CREATE FUNCTION backfill._check_replay(pipeline_id integer, redo text, deliver boolean, downstream boolean) RETURNS void
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM backfill._require_operator(pipeline_id);
	IF deliver IS NULL OR downstream IS NULL THEN
		RAISE EXCEPTION 'deliver and downstream of a replay must not be null'
			USING ERRCODE = 'null_value_not_allowed', HINT = 'Give true or false.';
	END IF;
	IF redo IS NULL OR redo NOT IN ('lacking', 'all') THEN
		RAISE EXCEPTION 'redo "%" is not known', redo
			USING ERRCODE = 'invalid_parameter_value', HINT = 'Use lacking, or all, which makes the steps with a clear command again.';
	END IF;
	IF redo = 'all' AND NOT EXISTS (SELECT FROM backfill.step s WHERE s.pipeline_id = _check_replay.pipeline_id AND s.clear_sql IS NOT NULL) THEN
		RAISE EXCEPTION 'no step of the pipeline can be made again'
			USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Give a step its clear command with backfill.alter_step(..., clear => ...).';
	END IF;
	IF deliver AND NOT backfill._is_member('backfill_deliver') THEN
		RAISE EXCEPTION 'permission denied to deliver messages from a replay'
			USING ERRCODE = 'insufficient_privilege', HINT = 'Be a member of backfill_deliver, or leave deliver out: the replay is silent then.';
	END IF;
END $$;
COMMENT ON FUNCTION backfill._check_replay(integer, text, boolean, boolean) IS 'refuses a replay that the caller may not have or that could do nothing';

CREATE FUNCTION backfill._request_replay(pipeline text, local_from timestamp, local_to timestamp, redo text, deliver boolean, downstream boolean) RETURNS bigint
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	p backfill.pipeline := backfill._pipeline(pipeline);
	bounds record;
	wanted bigint;
	moment CONSTANT timestamptz := backfill._clock();
BEGIN
	PERFORM backfill._check_replay(p.pipeline_id, redo, deliver, downstream);
	bounds := backfill._replay_bounds(p.pipeline_id, local_from, local_to);
	-- A year that was mistyped would make runs for centuries.
	IF extract(epoch FROM bounds.replay_to - bounds.replay_from) > 10000 * extract(epoch FROM ('1 ' || p.slot)::interval) THEN
		RAISE EXCEPTION 'replay from % to % has more than 10000 slots', local_from, local_to
			USING ERRCODE = 'program_limit_exceeded', HINT = 'Ask for it in parts.';
	END IF;
	-- Who asks second waits here and then finds the first one's replay.
	PERFORM FROM backfill.pipeline q WHERE q.pipeline_id = p.pipeline_id FOR NO KEY UPDATE;
	SELECT y.replay_id INTO wanted FROM backfill.replay y
	WHERE y.pipeline_id = p.pipeline_id
		AND (y.replay_from, y.replay_to, y.redo, y.deliver, y.downstream)
			= (bounds.replay_from, bounds.replay_to, _request_replay.redo, _request_replay.deliver, _request_replay.downstream)
		AND EXISTS (SELECT FROM backfill.run r WHERE r.replay_id = y.replay_id AND r.state IN ('requested', 'running', 'paused'))
	ORDER BY y.replay_id LIMIT 1;
	IF FOUND THEN
		RETURN wanted;
	END IF;
	INSERT INTO backfill.replay AS y (pipeline_id, replay_from, replay_to, redo, deliver, downstream, requested_by, requested_at)
	VALUES (p.pipeline_id, bounds.replay_from, bounds.replay_to, redo, deliver, downstream, backfill._caller(), moment)
	RETURNING y.replay_id INTO wanted;
	INSERT INTO backfill.run (pipeline_id, replay_id, mode, state, window_from, window_to, scan_from, scan_to, run_time, deliver, redo, rate, requested_by, requested_at)
	SELECT p.pipeline_id, wanted, 'replay', 'requested', s.slot_from, s.slot_to, s.slot_from, s.slot_to, moment, deliver, redo, p.rate, backfill._caller(), moment
	FROM backfill._slots(p.pipeline_id, bounds.replay_from, bounds.replay_to) s ORDER BY s.slot_from;
	PERFORM pg_notify('backfill_request', p.name);
	RETURN wanted;
END $$;
COMMENT ON FUNCTION backfill._request_replay(text, timestamp, timestamp, text, boolean, boolean) IS 'writes a replay and a requested run a slot; returns the open one, if there is one';

CREATE FUNCTION backfill._rehearse(pipeline text, range_from timestamp, range_to timestamp, redo text, deliver boolean, with_messages boolean) RETURNS json
	LANGUAGE c AS 'MODULE_PATHNAME', 'pg_backfill__rehearse';
COMMENT ON FUNCTION backfill._rehearse(text, timestamp, timestamp, text, boolean, boolean) IS
	'runs the chain and rolls it back; {report: [{part, name, would, reason, items}], messages: [...]}';

-- Read inside a rehearsal, before it is rolled back.
CREATE FUNCTION backfill._rehearsal_report(with_messages boolean) RETURNS json
	LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
	WITH rehearsed AS MATERIALIZED (
		SELECT r.* FROM backfill.run r WHERE r.run_id < 0
	), told AS MATERIALIZED (
		SELECT m.channel, m.recipient, m.message_type, m.window_from, m.window_to, m.payload,
			CASE WHEN e.state = 'pending' AND e.reason IN ('new', 'opted_in') THEN 'send'
				WHEN e.state = 'pending' THEN 'wait'
				WHEN e.state = 'suppressed' THEN 'suppress'
				ELSE 'not send' END AS would,
			CASE WHEN e.state IN ('pending', 'suppressed') THEN e.reason::text ELSE e.state END AS reason
		FROM backfill.emission e JOIN rehearsed r USING (run_id) JOIN backfill.message m USING (message_id)
	), report AS (
		SELECT 1 AS n, 'item' AS part, '' AS name, i.would, '' AS reason, sum(i.items)::bigint AS items
		FROM rehearsed r, LATERAL (VALUES ('change', r.changed), ('leave', r.unchanged), ('skip', r.skipped), ('fail', r.failed)) AS i(would, items)
		GROUP BY i.would
		UNION ALL
		SELECT 2, 'step', c.step, CASE c.status WHEN 'ok' THEN 'do' WHEN 'skipped' THEN 'skip' ELSE 'fail' END, c.reason, sum(c.items)::bigint
		FROM rehearsed r, LATERAL jsonb_to_recordset(r.step_counts) AS c(step text, status text, reason text, items bigint)
		GROUP BY c.step, c.status, c.reason
		UNION ALL
		SELECT 3, 'message', t.channel || ' ' || t.message_type, t.would, t.reason, count(*)
		FROM told t GROUP BY t.channel, t.message_type, t.would, t.reason
	)
	SELECT json_build_object(
		'report', (SELECT coalesce(json_agg(r ORDER BY r.n, s.position, r.name, r.would, r.reason), '[]')
			FROM report r
			LEFT JOIN backfill.step s ON r.part = 'step' AND s.name = r.name AND s.pipeline_id = (SELECT min(q.pipeline_id) FROM rehearsed q)
			WHERE r.items > 0),
		'messages', CASE WHEN with_messages THEN
			(SELECT coalesce(json_agg(t ORDER BY t.channel, t.message_type, t.recipient, t.window_from), '[]') FROM told t) END)
$$;
COMMENT ON FUNCTION backfill._rehearsal_report(boolean) IS 'what the rehearsal of this transaction did and would have told';

CREATE FUNCTION backfill.rehearse(pipeline text, range_from timestamp DEFAULT NULL, range_to timestamp DEFAULT NULL, redo text DEFAULT 'lacking',
	deliver boolean DEFAULT false) RETURNS TABLE (part text, name text, would text, reason text, items bigint)
	LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
	SELECT r.part, r.name, r.would, r.reason, r.items
	FROM json_to_recordset(backfill._rehearse(pipeline, range_from, range_to, redo, deliver, false) -> 'report')
		AS r(part text, name text, would text, reason text, items bigint)
$$;
COMMENT ON FUNCTION backfill.rehearse(text, timestamp, timestamp, text, boolean) IS
	'what a live run, or with a range of local times a replay, would do and send; nothing of it stays, apart from gaps in sequences';

CREATE FUNCTION backfill.rehearse_messages(pipeline text, range_from timestamp DEFAULT NULL, range_to timestamp DEFAULT NULL, redo text DEFAULT 'lacking',
	deliver boolean DEFAULT false) RETURNS TABLE (channel text, recipient text, message_type text, window_from timestamptz, window_to timestamptz,
		would text, reason text, payload jsonb)
	LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
	SELECT m.channel, m.recipient, m.message_type, m.window_from, m.window_to, m.would, m.reason, m.payload
	FROM json_to_recordset(backfill._rehearse(pipeline, range_from, range_to, redo, deliver, true) -> 'messages')
		AS m(channel text, recipient text, message_type text, window_from timestamptz, window_to timestamptz, payload jsonb, would text, reason text)
$$;
COMMENT ON FUNCTION backfill.rehearse_messages(text, timestamp, timestamp, text, boolean) IS 'the messages of a rehearsal, with what would become of each';

CREATE FUNCTION backfill.replay(pipeline text, range_from timestamp, range_to timestamp, redo text DEFAULT 'lacking', deliver boolean DEFAULT false,
	downstream boolean DEFAULT false) RETURNS TABLE (replay_id bigint, run_id bigint, window_from timestamptz, window_to timestamptz, state text)
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	wanted CONSTANT bigint := backfill._request_replay(pipeline, range_from, range_to, redo, deliver, downstream);
	would_send bigint;
BEGIN
	IF deliver THEN
		SELECT coalesce(sum(r.items), 0) INTO would_send
		FROM backfill.rehearse(pipeline, range_from, range_to, redo, deliver) r WHERE r.part = 'message' AND r.would = 'send';
		RAISE NOTICE 'replay % will deliver %, as backfill.rehearse_messages shows; backfill.cancel_replay(%) stops it', wanted, backfill._counted(would_send, 'message'), wanted;
	END IF;
	RAISE NOTICE 'replay % waits for a session: CALL backfill.run_requested(%)', wanted, quote_literal(pipeline);
	RETURN QUERY SELECT r.replay_id, r.run_id, r.window_from, r.window_to, r.state FROM backfill.run r WHERE r.replay_id = wanted ORDER BY r.window_from;
END $$;
COMMENT ON FUNCTION backfill.replay(text, timestamp, timestamp, text, boolean, boolean) IS
	'asks for one run a slot over a range of local times, oldest first; silent unless deliver; asked for again while open, answers the first';

CREATE FUNCTION backfill._change_replay(replay_id bigint, wanted text) RETURNS bigint
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	y backfill.replay;
	touched bigint;
BEGIN
	SELECT q.* INTO y FROM backfill.replay q WHERE q.replay_id = _change_replay.replay_id;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'replay % does not exist', replay_id
			USING ERRCODE = 'undefined_object', HINT = 'See SELECT * FROM backfill.replay_progress.';
	END IF;
	PERFORM backfill._require_operator(y.pipeline_id);
	SELECT count(backfill._change_run(r.run_id, wanted)) INTO touched
	FROM (SELECT q.run_id FROM backfill.run q
		WHERE q.replay_id = y.replay_id AND q.state = ANY (CASE wanted WHEN 'requested' THEN '{paused}' WHEN 'paused' THEN '{requested,running}' ELSE '{requested,running,paused}' END::text[])
		ORDER BY q.run_id) r;
	RETURN touched;
END $$;
COMMENT ON FUNCTION backfill._change_replay(bigint, text) IS 'for pause_replay, resume_replay and cancel_replay; returns how many slots it reached';

CREATE FUNCTION backfill.pause_replay(replay_id bigint) RETURNS bigint
	LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	AS $$ SELECT backfill._change_replay(replay_id, 'paused') $$;
COMMENT ON FUNCTION backfill.pause_replay(bigint) IS 'pauses the slots that are not done; returns how many';

CREATE FUNCTION backfill.resume_replay(replay_id bigint) RETURNS bigint
	LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	AS $$ SELECT backfill._change_replay(replay_id, 'requested') $$;
COMMENT ON FUNCTION backfill.resume_replay(bigint) IS 'makes the paused slots wait for a session again; returns how many';

CREATE FUNCTION backfill.cancel_replay(replay_id bigint) RETURNS bigint
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	touched CONSTANT bigint := backfill._change_replay(replay_id, 'cancelled');
BEGIN
	IF touched > 0 THEN
		PERFORM backfill._tell_of_cancelled(replay_id);
	END IF;
	RETURN touched;
END $$;
COMMENT ON FUNCTION backfill.cancel_replay(bigint) IS 'ends the slots that are not done; what the others did stays; returns how many';

CREATE VIEW backfill.replay_progress AS
	SELECT y.replay_id, p.name AS pipeline, y.replay_from, y.replay_to, y.redo, y.deliver, y.requested_by, y.requested_at,
		count(*) AS slots, count(*) FILTER (WHERE r.state = 'succeeded') AS done,
		count(*) FILTER (WHERE r.state IN ('requested', 'running', 'paused')) AS open,
		count(*) FILTER (WHERE r.state IN ('failed', 'broken', 'cancelled')) AS ended_early,
		sum(r.candidates) AS candidates, sum(r.changed) AS changed, sum(r.failed) AS failed
	FROM backfill.replay y JOIN backfill.pipeline p USING (pipeline_id) JOIN backfill.run r USING (replay_id)
	GROUP BY y.replay_id, p.name;
COMMENT ON VIEW backfill.replay_progress IS 'replays, with how many of their slots are done';

CREATE VIEW backfill.run_history AS
	SELECT r.run_id, p.name AS pipeline, r.mode, r.state, r.window_from, r.window_to, r.scan_from, r.scan_to, r.left_out_from, r.next_watermark, r.held_by, r.requested_by, r.started_at, r.finished_at,
		r.candidates, r.changed, r.unchanged, r.skipped, r.failed, r.newly_failed, r.sqlstate,
		CASE WHEN r.error IS NOT NULL AND backfill._operates(p.owner) THEN r.error END AS error, r.replay_id
	FROM backfill.run r JOIN backfill.pipeline p USING (pipeline_id);
COMMENT ON VIEW backfill.run_history IS 'runs with their tallies';
COMMENT ON COLUMN backfill.run_history.error IS 'may quote data: for operators and the pipeline''s owner';
