
-- Looking: what a live run leaves at its end, what is judged then, and what anybody may look at at any time.

-- Runs that nobody ended, because their session died or a person cancelled them, get their row with the next look.
CREATE FUNCTION backfill._keep_shapes(pipeline_id integer) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	latest CONSTANT bigint := coalesce((SELECT max(s.run_id) FROM backfill.run_shape s WHERE s.pipeline_id = _keep_shapes.pipeline_id), 0);
	r backfill.run;
BEGIN
	FOR r IN SELECT q.* FROM backfill.run q
		WHERE q.pipeline_id = _keep_shapes.pipeline_id AND q.run_id > latest AND q.mode = 'live' AND q.started_at IS NOT NULL AND q.finished_at IS NOT NULL
		ORDER BY q.run_id LOOP
		PERFORM backfill._keep_shape(r);
	END LOOP;
END $$;
COMMENT ON FUNCTION backfill._keep_shapes(integer) IS 'writes the rows of live runs that have ended and have none';

CREATE FUNCTION backfill._failed_again(r backfill.run) RETURNS TABLE (reason text, items bigint)
	LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT e.reason, count(*) FROM backfill.step_event e JOIN backfill.item_failure f ON f.pipeline_id = r.pipeline_id AND f.item = e.item
	WHERE e.run_id = r.run_id AND r.asked_again > 0 AND e.status = 'failed' AND coalesce(f.item_time, f.scan_from) < r.scan_from
	GROUP BY e.reason
$$;
COMMENT ON FUNCTION backfill._failed_again(backfill.run) IS 'by reason, the items that a live run asked for because they failed earlier, and that failed again';

-- Before the pipeline's watermark is written.
CREATE FUNCTION backfill._keep_shape(r backfill.run) RETURNS void
	LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$
	INSERT INTO backfill.run_shape AS s (pipeline_id, run_id, window_from, run_time, data_at, state, judged, watermark_moved,
		candidates, asked_again, changed, unchanged, skipped, failed, reasons)
	SELECT r.pipeline_id, r.run_id, r.window_from, r.run_time, r.run_time - least(p.lookback, interval '1 day') / 2, r.state,
		r.state = 'succeeded' AND NOT EXISTS (SELECT FROM backfill.run_shape o WHERE o.pipeline_id = r.pipeline_id AND o.window_from = r.window_from AND o.judged),
		r.state = 'succeeded' AND (p.watermark IS NULL OR r.next_watermark > p.watermark),
		r.candidates, least(r.asked_again, r.candidates), r.changed, r.unchanged, r.skipped, r.failed,
		(SELECT coalesce(jsonb_object_agg(c.reason, c.items) FILTER (WHERE c.items > 0), '{}')
			FROM (SELECT c.reason, sum(c.items) AS items FROM (
					SELECT s.reason, s.items FROM jsonb_to_recordset(r.step_counts) AS s(status text, reason text, items bigint)
					WHERE s.status <> 'ok' AND s.reason NOT IN ('', 'done')
					UNION ALL
					SELECT a.reason, -a.items FROM backfill._failed_again(r) a) c
				GROUP BY c.reason) c)
	FROM backfill.pipeline p WHERE p.pipeline_id = r.pipeline_id
	ON CONFLICT (pipeline_id, run_id) DO NOTHING
$$;
COMMENT ON FUNCTION backfill._keep_shape(backfill.run) IS 'writes the row of a live run that has ended, unless it has one';

-- One measure of a judged run against those before it. What was unusual then is marked in its row.
CREATE FUNCTION backfill._judge_measure(p backfill.pipeline, s backfill.run_shape, kind text, subject text) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	setting CONSTANT backfill.alarm_setting := backfill._alarm_setting(p.pipeline_id, kind);
	mark CONSTANT text := concat_ws(' ', kind, nullif(subject, ''));
	share CONSTANT double precision := coalesce((s.reasons ->> subject)::double precision / nullif(s.arrived, 0), 0);
	h record;
	v record;
BEGIN
	SELECT coalesce(array_agg(backfill._local_seconds(o.data_at, p.timezone)), '{}') AS at,
		coalesce(array_agg(CASE WHEN kind = 'flood' THEN coalesce((o.reasons ->> subject)::double precision, 0) / o.arrived ELSE o.arrived END), '{}') AS value,
		coalesce(array_agg(mark = ANY (o.unusual) OR kind = 'few_candidates' AND 'silence' = ANY (o.unusual)), '{}') AS unusual
	INTO h
	FROM backfill.run_shape o
	WHERE o.pipeline_id = p.pipeline_id AND o.judged AND o.data_at < s.data_at
		AND o.data_at > greatest(s.data_at - 2 * backfill._span(p.slot) - interval '1 day', setting.history_from)
		AND (kind <> 'flood' OR o.arrived >= 10);
	SELECT * INTO v FROM backfill._judge(kind, p.slot, h.at, h.value, h.unusual, backfill._local_seconds(s.data_at, p.timezone),
		CASE kind WHEN 'flood' THEN share ELSE s.arrived END, s.arrived, setting.threshold,
		EXISTS (SELECT FROM backfill.alarm a WHERE a.pipeline_id = p.pipeline_id AND a.kind = _judge_measure.kind AND a.subject = _judge_measure.subject AND a.closed_at IS NULL));
	IF v.is_unusual THEN
		UPDATE backfill.run_shape o SET unusual = array_append(o.unusual, mark) WHERE o.pipeline_id = s.pipeline_id AND o.run_id = s.run_id;
		PERFORM backfill._raise_alarm(p, kind, subject, jsonb_strip_nulls(jsonb_build_object('candidates', s.arrived,
			'share', CASE kind WHEN 'flood' THEN round(share::numeric, 3) END, 'slowly', CASE WHEN v.slowly THEN true END,
			'usual', CASE kind WHEN 'flood' THEN round(v.usual::numeric, 3) ELSE round(v.usual::numeric) END,
			'bound', round(v.bound::numeric, 3), 'compared_with', v.samples)), s.run_id);
	ELSIF v.is_known THEN
		PERFORM backfill._close_alarm(p, kind, subject, s.run_id);
	END IF;
END $$;
COMMENT ON FUNCTION backfill._judge_measure(backfill.pipeline, backfill.run_shape, text, text) IS 'raises or closes the alarm of one measure of a run';

CREATE FUNCTION backfill._judge_run(p backfill.pipeline, s backfill.run_shape) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	subject text;
BEGIN
	IF s.arrived > 0 THEN
		PERFORM backfill._close_alarm(p, 'silence', '', s.run_id);
	END IF;
	IF NOT s.judged THEN
		RETURN;
	END IF;
	PERFORM backfill._judge_measure(p, s, 'silence', '');
	-- Silence says it already.
	IF s.arrived > 0 THEN
		PERFORM backfill._judge_measure(p, s, 'few_candidates', '');
	END IF;
	FOR subject IN
		SELECT k.reason FROM jsonb_each_text(s.reasons) k (reason, items) WHERE k.items::bigint >= 10
		UNION
		SELECT a.subject FROM backfill.alarm a WHERE a.pipeline_id = p.pipeline_id AND a.kind = 'flood' AND a.closed_at IS NULL
		ORDER BY 1
	LOOP
		PERFORM backfill._judge_measure(p, s, 'flood', subject);
	END LOOP;
END $$;
COMMENT ON FUNCTION backfill._judge_run(backfill.pipeline, backfill.run_shape) IS 'holds a live run that succeeded against those before it';

-- Days with runs since it last moved; hours, where a pipeline goes by hours.
CREATE FUNCTION backfill._stuck_watermark(p backfill.pipeline) RETURNS jsonb
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	setting CONSTANT backfill.alarm_setting := backfill._alarm_setting(p.pipeline_id, 'watermark_stuck');
	unit CONSTANT text := CASE p.slot WHEN 'hour' THEN 'hour' ELSE 'day' END;
	moved CONSTANT bigint := coalesce((SELECT s.run_id FROM backfill.run_shape s
		WHERE s.pipeline_id = p.pipeline_id AND s.watermark_moved ORDER BY s.run_id DESC LIMIT 1), 0);
	tries bigint;
BEGIN
	SELECT count(DISTINCT date_trunc(unit, s.run_time, p.timezone)) INTO tries
	FROM backfill.run_shape s
	WHERE s.pipeline_id = p.pipeline_id AND s.run_id > moved AND s.run_time > coalesce(setting.history_from, '-infinity');
	IF tries >= coalesce(setting.threshold, 3) THEN
		RETURN jsonb_strip_nulls(jsonb_build_object('tries', tries, 'unit', unit, 'watermark', p.watermark,
			'held_by', (SELECT r.held_by FROM backfill.run r WHERE r.pipeline_id = p.pipeline_id AND r.mode = 'live' ORDER BY r.run_id DESC LIMIT 1)));
	END IF;
	RETURN NULL;
END $$;
COMMENT ON FUNCTION backfill._stuck_watermark(backfill.pipeline) IS 'evidence that a pipeline''s watermark does not move; null: it does';

-- Only items that failed in the latest slot: those that are no candidates any more are not tried.
CREATE FUNCTION backfill._failing_items(p backfill.pipeline, window_from timestamptz) RETURNS jsonb
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	least_windows CONSTANT double precision := coalesce((backfill._alarm_setting(p.pipeline_id, 'same_items_failing')).threshold, 3);
	f record;
BEGIN
	SELECT count(*) AS items, max(q.windows) AS longest, (array_agg(q.item ORDER BY q.windows DESC, q.item))[1:5] AS some INTO f
	FROM backfill.item_failure q
	WHERE q.pipeline_id = p.pipeline_id AND q.windows >= least_windows AND q.last_window >= _failing_items.window_from;
	IF f.items > 0 THEN
		RETURN jsonb_build_object('items', f.items, 'windows', least_windows, 'longest', f.longest, 'some', f.some);
	END IF;
	RETURN NULL;
END $$;
COMMENT ON FUNCTION backfill._failing_items(backfill.pipeline, timestamptz) IS 'evidence that items fail again and again, up to the slot of a run; null: none does';
CREATE INDEX item_failure_window ON backfill.item_failure (pipeline_id, last_window);

CREATE FUNCTION backfill._tick_patience(slot text) RETURNS interval
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN CASE slot WHEN 'hour' THEN interval '10 minutes' ELSE interval '1 hour' END;
COMMENT ON FUNCTION backfill._tick_patience(text) IS 'how long after a tick of pg_cron its run may take to start';

-- The latest slot that should have had a run by now. Of the slots before the present one a few are looked at, since after
-- a weekend without runs it is Friday's that is missing.
CREATE FUNCTION backfill._due_slot(p backfill.pipeline, moment timestamptz, OUT window_from timestamptz, OUT due_at timestamptz)
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	setting CONSTANT backfill.alarm_setting := backfill._alarm_setting(p.pipeline_id, 'overdue');
	h record;
	w record;
	after double precision;
BEGIN
	SELECT array_agg(backfill._local_seconds(s.slot_from, p.timezone)) AS at, array_agg(coalesce(extract(epoch FROM c.came - s.slot_from), -1)::double precision) AS after
	INTO h
	FROM (SELECT greatest(moment - CASE p.slot WHEN 'hour' THEN interval '28 days' ELSE backfill._span(p.slot) END, setting.history_from, min(e.window_from))
		FROM backfill.run_shape e WHERE e.pipeline_id = p.pipeline_id) f (first_at)
	CROSS JOIN LATERAL backfill._slots(p.pipeline_id, f.first_at, moment) s
	LEFT JOIN (SELECT e.window_from, e.run_time FROM backfill.run_shape e
		WHERE e.pipeline_id = p.pipeline_id AND e.judged AND e.data_at > moment - backfill._span(p.slot) - interval '62 days') c (slot_from, came) USING (slot_from)
	WHERE f.first_at IS NOT NULL;
	IF h.at IS NULL THEN
		RETURN;
	END IF;
	FOR w IN SELECT s.slot_from FROM backfill._slots(p.pipeline_id, moment - 7 * ('1 ' || p.slot)::interval, moment) s ORDER BY s.slot_from DESC LOOP
		after := backfill._overdue_after(p.slot, h.at, h.after, backfill._local_seconds(w.slot_from, p.timezone), setting.threshold);
		IF w.slot_from + make_interval(secs => after) < moment THEN
			window_from := w.slot_from;
			due_at := w.slot_from + make_interval(secs => after);
			RETURN;
		END IF;
	END LOOP;
END $$;
COMMENT ON FUNCTION backfill._due_slot(backfill.pipeline, timestamptz) IS 'the latest slot whose run should have come by now, by the pipeline''s own habit; nulls: none';

-- By habit; and where pg_cron has ticked and nothing started, whatever the habit: the first night of a new pipeline.
CREATE FUNCTION backfill._overdue_run(p backfill.pipeline, OUT is_known boolean, OUT evidence jsonb)
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	moment CONSTANT timestamptz := backfill._clock();
	latest CONSTANT timestamptz := (SELECT r.started_at FROM backfill.run r
		WHERE r.pipeline_id = p.pipeline_id AND r.mode = 'live' AND r.started_at IS NOT NULL ORDER BY r.run_id DESC LIMIT 1);
	due record;
	ticked timestamptz;
BEGIN
	is_known := false;
	IF NOT p.enabled THEN
		RETURN;
	END IF;
	-- What has started in the present slot need not be looked for.
	SELECT w.window_from, NULL::timestamptz AS due_at INTO due FROM backfill._slot_of(moment, p.slot, p.timezone) w;
	IF latest IS NULL OR latest < due.window_from THEN
		SELECT d.window_from, d.due_at INTO due FROM backfill._due_slot(p, moment) d;
	END IF;
	SELECT j.last_tick INTO ticked FROM backfill._cron_job(p.name) j WHERE j.state LIKE 'scheduled%' AND j.last_tick <= moment - backfill._tick_patience(p.slot);
	is_known := due.window_from IS NOT NULL OR ticked IS NOT NULL;
	IF due.window_from > latest OR (due.window_from IS NOT NULL AND latest IS NULL) THEN
		NULL;
	ELSIF ticked > coalesce(latest, '-infinity') THEN
		due.due_at := ticked + backfill._tick_patience(p.slot);
	ELSE
		RETURN;
	END IF;
	evidence := jsonb_build_object('due_at', to_char(due.due_at AT TIME ZONE p.timezone, 'YYYY-MM-DD HH24:MI'), 'last_start', latest, 'last_tick', ticked);
END $$;
COMMENT ON FUNCTION backfill._overdue_run(backfill.pipeline) IS 'evidence that a pipeline''s run should have come and has not; null: it has, or is_known is false';

-- Raises an alarm about a pipeline as a whole, or closes it.
CREATE FUNCTION backfill._judge_state(p backfill.pipeline, kind text, evidence jsonb, run_id bigint) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF evidence IS NOT NULL THEN
		PERFORM backfill._raise_alarm(p, kind, '', evidence, run_id);
	ELSE
		PERFORM backfill._close_alarm(p, kind, '', run_id);
	END IF;
END $$;
COMMENT ON FUNCTION backfill._judge_state(backfill.pipeline, text, jsonb, bigint) IS 'raises the alarm that there is evidence for, or closes it';

-- At the end of each live run. Its row is a part of the end; an error in judging is told and costs the run nothing.
CREATE FUNCTION backfill._watch_run(r backfill.run) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	p backfill.pipeline;
	s backfill.run_shape;
BEGIN
	IF r.run_id < 0 OR r.mode <> 'live' THEN
		RETURN;
	END IF;
	SELECT q.* INTO STRICT p FROM backfill.pipeline q WHERE q.pipeline_id = r.pipeline_id;
	PERFORM backfill._keep_shapes(p.pipeline_id);
	PERFORM backfill._keep_shape(r);
	SELECT q.* INTO STRICT s FROM backfill.run_shape q WHERE q.pipeline_id = r.pipeline_id AND q.run_id = r.run_id;
	BEGIN
		PERFORM backfill._close_alarm(p, 'overdue', '', r.run_id);
		PERFORM backfill._judge_state(p, 'watermark_stuck', backfill._stuck_watermark(p), r.run_id);
		PERFORM backfill._judge_state(p, 'same_items_failing', backfill._failing_items(p, r.window_from), r.run_id);
		IF s.state = 'succeeded' THEN
			PERFORM backfill._judge_run(p, s);
		END IF;
	EXCEPTION WHEN OTHERS THEN
		RAISE WARNING 'run % of pipeline "%" was not judged: %', r.run_id, p.name, SQLERRM;
	END;
END $$;
COMMENT ON FUNCTION backfill._watch_run(backfill.run) IS 'keeps the shape of a live run and holds it against those before it';
