
-- The story of a run, for a person to read from the top.

CREATE FUNCTION backfill._tally_line(run_id bigint) RETURNS text
	LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'pg_backfill__tally_line';
COMMENT ON FUNCTION backfill._tally_line(bigint) IS 'the counts of a run in one line, in the words that its end has';

CREATE FUNCTION backfill._local(at timestamptz, timezone text) RETURNS text
	LANGUAGE sql STABLE STRICT PARALLEL SAFE
	RETURN pg_catalog.to_char(at AT TIME ZONE timezone, 'YYYY-MM-DD HH24:MI:SS');
COMMENT ON FUNCTION backfill._local(timestamptz, text) IS 'a moment as the clock of a time zone shows it';

-- Why it ran, over what, and what it could not look at.
CREATE FUNCTION backfill._narrate_beginning(r backfill.run, p backfill.pipeline) RETURNS TABLE (at timestamptz, line text)
	LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT coalesce(r.started_at, r.requested_at), l.line FROM (VALUES
		(1, CASE r.mode WHEN 'live' THEN format('%s run=%s is a live run, asked for by %s at %s', p.name, r.run_id, r.requested_by, backfill._local(r.requested_at, p.timezone))
			ELSE format('%s run=%s is a part of replay %s, asked for by %s at %s: makes %s, %s', p.name, r.run_id, r.replay_id, r.requested_by, backfill._local(r.requested_at, p.timezone),
				CASE r.redo WHEN 'all' THEN 'everything again' ELSE 'what is lacking' END, CASE WHEN r.deliver THEN 'and delivers' ELSE 'and tells nobody' END) END),
		(2, format('it belongs to the %s from %s to %s, %s', p.slot, backfill._local(r.window_from, p.timezone), backfill._local(r.window_to, p.timezone), p.timezone)),
		(3, format('it looks at what arrived from %s to %s', backfill._local(r.scan_from, p.timezone), backfill._local(r.scan_to, p.timezone))),
		(4, format('it does not look at what arrived from %s on, which lies beyond max_catchup: use backfill.replay', backfill._local(r.left_out_from, p.timezone))),
		(5, format('the next run looks at what arrives from %s on', backfill._local(r.next_watermark, p.timezone)) || coalesce(', held back by ' || r.held_by, '')))
		AS l (n, line)
	WHERE CASE l.n WHEN 4 THEN r.left_out_from IS NOT NULL WHEN 5 THEN r.held_by IS NOT NULL ELSE true END
	ORDER BY l.n
$$;
COMMENT ON FUNCTION backfill._narrate_beginning(backfill.run, backfill.pipeline) IS 'first lines of a run''s story';

-- What an error says may quote data: it is for operators and the owner, as in step_event.
CREATE FUNCTION backfill._narrate_decisions(r backfill.run, p backfill.pipeline) RETURNS TABLE (at timestamptz, line text)
	LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
	(SELECT e.at, format('%s run=%s item=%s step=%s status=%s', p.name, r.run_id, regexp_replace(e.item, '[[:cntrl:]]', '?', 'g'), e.step, e.status)
		|| CASE WHEN e.reason <> '' THEN ' reason=' || e.reason ELSE '' END || CASE WHEN e.message IS NOT NULL AND may.read_texts THEN ': ' || e.message ELSE '' END
	FROM backfill.step_event e, backfill._operates(p.owner) AS may(read_texts)
	WHERE e.run_id = r.run_id ORDER BY e.step_event_id)
	UNION ALL
	SELECT r.finished_at, 'what it did item by item has been purged'
	WHERE r.changed + r.failed > 0 AND NOT EXISTS (SELECT FROM backfill.decision d WHERE d.run_id = r.run_id)
$$;
COMMENT ON FUNCTION backfill._narrate_decisions(backfill.run, backfill.pipeline) IS 'what a run changed or failed, in the order it was decided';

-- What has become of a run's messages, where it is not what was decided then. They are looked up one by one, so of a run
-- that told more than ten thousand nothing is said.
CREATE FUNCTION backfill._told_since(run_id bigint) RETURNS TABLE (channel text, message_type text, state text, reason text, now text)
	LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
	WITH told AS MATERIALIZED (
		SELECT e.message_id, e.state, e.reason::text FROM backfill.emission e WHERE e.run_id = _told_since.run_id LIMIT 10001
	), fate AS (
		SELECT o.channel, o.message_type, t.state, t.reason, o.state AS present,
			CASE WHEN o.state = 'pending' THEN 'waiting' WHEN o.state = 'claimed' THEN 'being sent' WHEN o.state IN ('sent', 'expired') THEN o.state
				WHEN o.reason = 'discarded' THEN o.reason ELSE o.state || coalesce(format(' (%s)', o.reason), '') END AS word,
			count(*) AS messages
		FROM told t JOIN backfill.outbox o USING (message_id)
		WHERE (SELECT count(*) FROM told) <= 10000
		GROUP BY 1, 2, 3, 4, 5, 6
	)
	SELECT f.channel, f.message_type, f.state, f.reason,
		CASE WHEN bool_or(f.present <> f.state) THEN string_agg(format('%s %s', f.messages, f.word), ', ' ORDER BY f.messages DESC, f.word) END
	FROM fate f GROUP BY 1, 2, 3, 4
$$;
COMMENT ON FUNCTION backfill._told_since(bigint) IS
	'what has become of the messages of a run, by channel, type and what was decided then; now is null where they are as they were, and no row where they are too many to look at';

-- How it ended, what was counted, what was told and what was unusual.
CREATE FUNCTION backfill._narrate_end(r backfill.run, p backfill.pipeline) RETURNS TABLE (at timestamptz, line text)
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY
	WITH counted AS (
		SELECT c.step, c.status, c.reason, c.items FROM jsonb_to_recordset(r.step_counts) AS c(step text, status text, reason text, items bigint)
	), steps AS (
		SELECT c.step, string_agg(format('%s %s%s', c.items, c.status, CASE WHEN c.reason <> '' THEN format(' (%s)', c.reason) ELSE '' END),
			', ' ORDER BY array_position('{ok,skipped,failed}', c.status), c.items DESC, c.reason) AS told FROM counted c GROUP BY c.step
	)
	SELECT coalesce(r.finished_at, r.started_at, r.requested_at), l.line
	FROM (
		SELECT 1 AS n, s.position AS m, format('step %s: %s', k.step, k.told) AS line
		FROM steps k LEFT JOIN backfill.step s ON s.pipeline_id = r.pipeline_id AND s.name = k.step
		UNION ALL
		SELECT 2, 1, backfill._tally_line(r.run_id) WHERE r.started_at IS NOT NULL
		UNION ALL
		SELECT 3, row_number() OVER (ORDER BY e.channel, e.message_type, e.state, e.reason), format('told by %s: %s %s, %s', e.channel, e.messages, e.message_type,
			CASE WHEN e.state = 'pending' AND e.reason IN ('new', 'opted_in') THEN
					CASE WHEN s.channel IS NOT NULL AND s.now IS NULL THEN 'to be sent' ELSE format('which %s to be sent', CASE e.messages WHEN 1 THEN 'was' ELSE 'were' END) END
				WHEN e.state = 'suppressed' THEN format('kept back (%s)', e.reason)
				ELSE concat_ws(', ', 'which ' || CASE e.state WHEN 'pending' THEN 'waited already' ELSE CASE e.messages WHEN 1 THEN 'was ' ELSE 'were ' END || e.state || ' already' END,
					CASE WHEN e.reason <> 'unchanged' THEN e.reason END) END || coalesce('; now ' || s.now, ''))
		FROM backfill.run_emission e LEFT JOIN backfill._told_since(r.run_id) s USING (channel, message_type, state, reason) WHERE e.run_id = r.run_id
		UNION ALL
		SELECT 4, a.alarm_id, format('alarm: %s', backfill._alarm_text(a.kind, a.subject, a.evidence)) FROM backfill.alarm a WHERE a.pipeline_id = r.pipeline_id AND a.opened_by_run = r.run_id
		UNION ALL
		SELECT 5, a.alarm_id, format('recovered: %s', backfill._alarm_text(a.kind, a.subject, a.evidence)) FROM backfill.alarm a WHERE a.pipeline_id = r.pipeline_id AND a.closed_by_run = r.run_id
		UNION ALL
		SELECT 6, 1, 'it ' || backfill._run_did(r.state) || coalesce(' at ' || backfill._local(r.finished_at, p.timezone), '')
				|| coalesce(', after ' || trim_scale(round(extract(epoch FROM r.finished_at - r.started_at), 1)) || ' s', '')
			|| CASE WHEN r.error IS NOT NULL AND backfill._operates(p.owner) THEN ': ' || r.error ELSE '' END || coalesce(' (' || r.sqlstate || ')', '')) l
	ORDER BY l.n, l.m NULLS FIRST, l.line;
END $$;
COMMENT ON FUNCTION backfill._narrate_end(backfill.run, backfill.pipeline) IS 'last lines of a run''s story';

CREATE FUNCTION backfill.narration(run_id bigint) RETURNS TABLE (at timestamptz, line text)
	LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	r backfill.run;
	p backfill.pipeline;
BEGIN
	SELECT q.* INTO r FROM backfill.run q WHERE q.run_id = narration.run_id;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'run % does not exist', run_id
			USING ERRCODE = 'undefined_object', HINT = 'See SELECT * FROM backfill.run_history; runs older than their retention are purged.';
	END IF;
	SELECT q.* INTO STRICT p FROM backfill.pipeline q WHERE q.pipeline_id = r.pipeline_id;
	RETURN QUERY SELECT * FROM backfill._narrate_beginning(r, p);
	RETURN QUERY SELECT * FROM backfill._narrate_decisions(r, p);
	RETURN QUERY SELECT * FROM backfill._narrate_end(r, p);
END $$;
COMMENT ON FUNCTION backfill.narration(bigint) IS
	'the story of a run: why, over what, what it changed or failed item by item, counts by step, tally, what it told and what has become of it, what was unusual, how it ended; what errors say only for operators and the owner';
