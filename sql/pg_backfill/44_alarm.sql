
-- Alarms for people: looking, setting and accepting them.

CREATE FUNCTION backfill.check_health(pipeline text DEFAULT NULL) RETURNS TABLE (pipeline_name text, kind text, subject text, opened_at timestamptz, alarm text)
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	wanted CONSTANT integer := CASE WHEN pipeline IS NOT NULL THEN (backfill._pipeline(pipeline)).pipeline_id END;
	p backfill.pipeline;
BEGIN
	-- In one order, so that two who look at once wait for each other at most.
	FOR p IN SELECT q.* FROM backfill.pipeline q WHERE q.pipeline_id = coalesce(wanted, q.pipeline_id) ORDER BY q.pipeline_id LOOP
		PERFORM backfill._keep_shapes(p.pipeline_id);
		PERFORM backfill._judge_state(p, 'overdue', o.evidence, NULL) FROM backfill._overdue_run(p) o WHERE o.is_known;
		PERFORM backfill._judge_state(p, 'watermark_stuck', backfill._stuck_watermark(p), NULL);
	END LOOP;
	RETURN QUERY
		SELECT q.name, a.kind, a.subject, a.opened_at, backfill._alarm_text(a.kind, a.subject, a.evidence)
		FROM backfill.alarm a JOIN backfill.pipeline q USING (pipeline_id)
		WHERE a.closed_at IS NULL AND a.pipeline_id = coalesce(wanted, a.pipeline_id) ORDER BY q.name, a.alarm_id;
END $$;
COMMENT ON FUNCTION backfill.check_health(text) IS
	'looks for runs that have not come and watermarks that do not move, of one pipeline or of all; raises and closes their alarms, and answers those that are open. Each live run does it; call it from pg_cron too, for when none comes';

CREATE FUNCTION backfill._require_owner(pipeline_id integer) RETURNS void
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	p backfill.pipeline;
BEGIN
	SELECT q.* INTO STRICT p FROM backfill.pipeline q WHERE q.pipeline_id = _require_owner.pipeline_id;
	IF NOT backfill._is_member(p.owner) THEN
		RAISE EXCEPTION 'must be owner of pipeline "%"', p.name
			USING ERRCODE = 'insufficient_privilege', HINT = format('Its owner is %s.', p.owner);
	END IF;
END $$;
COMMENT ON FUNCTION backfill._require_owner(integer) IS 'refuses callers who do not have the rights of the pipeline''s owner';

CREATE FUNCTION backfill.set_alarm(pipeline text, kind text, enabled boolean DEFAULT NULL, threshold double precision DEFAULT NULL) RETURNS void
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	p CONSTANT backfill.pipeline := backfill._pipeline(pipeline);
BEGIN
	PERFORM backfill._require_owner(p.pipeline_id);
	IF kind IS NULL OR kind NOT IN ('silence', 'few_candidates', 'flood', 'overdue', 'watermark_stuck', 'same_items_failing') THEN
		RAISE EXCEPTION 'alarm "%" is not known', kind
			USING ERRCODE = 'invalid_parameter_value', HINT = 'Use silence, few_candidates, flood, overdue, watermark_stuck or same_items_failing.';
	END IF;
	IF NOT (threshold > 0 AND threshold < CASE kind WHEN 'few_candidates' THEN 1 ELSE 'Infinity'::double precision END) THEN
		RAISE EXCEPTION 'threshold % is out of range', threshold
			USING ERRCODE = 'invalid_parameter_value', HINT = CASE kind WHEN 'few_candidates' THEN 'It is the part of the usual number that is few: between 0 and 1.' ELSE 'It must be positive.' END;
	END IF;
	INSERT INTO backfill.alarm_setting AS s (pipeline_id, kind, enabled, threshold)
	VALUES (p.pipeline_id, kind, coalesce(enabled, true), threshold)
	ON CONFLICT ON CONSTRAINT alarm_setting_pkey DO UPDATE
	SET enabled = coalesce(set_alarm.enabled, s.enabled), threshold = coalesce(set_alarm.threshold, s.threshold);
	IF NOT enabled THEN
		UPDATE backfill.alarm a SET closed_at = greatest(a.opened_at, backfill._clock()), accepted_by = backfill._caller(), accepted_for = 'switched off'
		WHERE a.pipeline_id = p.pipeline_id AND a.kind = set_alarm.kind AND a.closed_at IS NULL;
	END IF;
END $$;
COMMENT ON FUNCTION backfill.set_alarm(text, text, boolean, double precision) IS
	'switches a kind of alarm on or off, and says how far is too far: for silence, flood and overdue how many spreads of what is usual (5), for few_candidates which part of it (0.2), for watermark_stuck how many days with runs (3), for same_items_failing how many windows in a row (3); null leaves it as it is';

CREATE FUNCTION backfill.accept_alarm(alarm_id bigint, reason text) RETURNS void
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	a backfill.alarm;
BEGIN
	IF reason IS NULL OR reason !~ '\S' OR length(reason) > 1000 THEN
		RAISE EXCEPTION 'a reason is needed'
			USING ERRCODE = 'invalid_parameter_value', HINT = 'It is kept with the alarm; at most 1000 characters.';
	END IF;
	SELECT o.* INTO a FROM backfill.alarm o WHERE o.alarm_id = accept_alarm.alarm_id FOR UPDATE;
	IF NOT FOUND OR a.closed_at IS NOT NULL THEN
		RAISE EXCEPTION 'alarm % is not open', alarm_id
			USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'See SELECT * FROM backfill.alarm_history WHERE closed_at IS NULL.';
	END IF;
	PERFORM backfill._require_operator(a.pipeline_id);
	UPDATE backfill.alarm o SET closed_at = greatest(o.opened_at, backfill._clock()), accepted_by = backfill._caller(), accepted_for = reason
	WHERE o.alarm_id = a.alarm_id;
	INSERT INTO backfill.alarm_setting AS s (pipeline_id, kind, history_from) VALUES (a.pipeline_id, a.kind, backfill._clock())
	ON CONFLICT ON CONSTRAINT alarm_setting_pkey DO UPDATE SET history_from = excluded.history_from;
END $$;
COMMENT ON FUNCTION backfill.accept_alarm(bigint, text) IS
	'closes an alarm because this is how it is now: what was before is no history for its kind any more, and nothing is judged until there is a new one';

CREATE VIEW backfill.alarm_history AS
	SELECT a.alarm_id, p.name AS pipeline, a.kind, a.subject, backfill._alarm_text(a.kind, a.subject, a.evidence) AS alarm, a.opened_at, a.closed_at,
		a.opened_by_run, a.closed_by_run, a.accepted_by, a.accepted_for, a.evidence
	FROM backfill.alarm a JOIN backfill.pipeline p USING (pipeline_id);
COMMENT ON VIEW backfill.alarm_history IS 'alarms; those without closed_at are open';

CREATE VIEW backfill.skip_shape AS
	SELECT p.name AS pipeline, s.run_id, s.window_from, s.run_time, s.state, s.judged, s.candidates, s.asked_again, s.changed, s.unchanged, s.skipped, s.failed, s.reasons, s.unusual
	FROM backfill.run_shape s JOIN backfill.pipeline p USING (pipeline_id);
COMMENT ON VIEW backfill.skip_shape IS 'what each live run found: counts, items by reason of what was skipped or failed, and what was unusual about it';
COMMENT ON COLUMN backfill.skip_shape.asked_again IS 'of the candidates, those that were asked for because they failed in an earlier run: no part of what is judged, nor of reasons if they failed again';
COMMENT ON COLUMN backfill.skip_shape.judged IS 'whether it was held against those before it: the first of its slot that succeeded';
