
-- The shape of the runs, and alarms. From inside a job an upstream outage looks like a calm night: so each live run leaves
-- a row of what it found, and is held against the pipeline's own rows of the same kind of slot. Replays and rehearsals
-- leave no row and raise nothing. The rules themselves are C++: extension/core/health.hpp.

-- Its own copy of the counts, since it outlives runs that are purged, and is read with every run.
CREATE TABLE backfill.run_shape (
	pipeline_id integer NOT NULL REFERENCES backfill.pipeline ON DELETE CASCADE,
	run_id      bigint NOT NULL,
	window_from timestamptz NOT NULL,
	run_time    timestamptz NOT NULL,
	data_at     timestamptz NOT NULL,
	state       text NOT NULL,
	judged      boolean NOT NULL,
	watermark_moved boolean NOT NULL,
	candidates  bigint NOT NULL,
	asked_again bigint NOT NULL DEFAULT 0,
	arrived     bigint GENERATED ALWAYS AS (candidates - asked_again) STORED,
	changed     bigint NOT NULL,
	unchanged   bigint NOT NULL,
	skipped     bigint NOT NULL,
	failed      bigint NOT NULL,
	reasons     jsonb NOT NULL,
	unusual     text[] NOT NULL DEFAULT '{}',
	PRIMARY KEY (pipeline_id, run_id)
);
CREATE INDEX run_shape_judged ON backfill.run_shape (pipeline_id, data_at) WHERE judged;
CREATE INDEX run_shape_window ON backfill.run_shape (pipeline_id, window_from);
CREATE INDEX run_shape_change ON backfill.run_shape (pipeline_id, run_id) WHERE changed > 0;
COMMENT ON TABLE backfill.run_shape IS 'what each live run found, for judging the next ones; see backfill.skip_shape';
COMMENT ON COLUMN backfill.run_shape.data_at IS 'middle of the least that the run looked at: of the Monday night run this is Sunday, and its data are a Sunday''s';
COMMENT ON COLUMN backfill.run_shape.judged IS 'the first run of its slot that succeeded; later ones find what that one left, and are not comparable';
COMMENT ON COLUMN backfill.run_shape.asked_again IS 'candidates that were asked for because they failed in an earlier run';
COMMENT ON COLUMN backfill.run_shape.arrived IS 'what silence and floods are judged by: what failed earlier and fails again says nothing of what arrives';
COMMENT ON COLUMN backfill.run_shape.reasons IS 'items by reason of what was skipped or failed; without those that were done before, or asked for again and failed again';
COMMENT ON COLUMN backfill.run_shape.unusual IS 'kinds of alarm that it was a reason for; such a run is no part of what is usual';

CREATE TABLE backfill.alarm (
	alarm_id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	pipeline_id   integer NOT NULL REFERENCES backfill.pipeline ON DELETE CASCADE,
	kind          text NOT NULL CHECK (kind IN ('silence', 'few_candidates', 'flood', 'overdue', 'watermark_stuck', 'same_items_failing')),
	subject       text NOT NULL DEFAULT '',
	opened_at     timestamptz NOT NULL,
	opened_by_run bigint,
	evidence      jsonb NOT NULL,
	closed_at     timestamptz,
	closed_by_run bigint,
	accepted_by   name,
	accepted_for  text,
	CHECK (closed_at >= opened_at),
	CHECK ((accepted_by IS NULL) = (accepted_for IS NULL))
);
CREATE UNIQUE INDEX alarm_open ON backfill.alarm (pipeline_id, kind, subject) WHERE closed_at IS NULL;
CREATE INDEX alarm_pipeline ON backfill.alarm (pipeline_id, alarm_id);
COMMENT ON TABLE backfill.alarm IS 'what was unusual, from when to when; see backfill.alarm_history';
COMMENT ON COLUMN backfill.alarm.subject IS 'of a flood its reason; otherwise empty';
COMMENT ON COLUMN backfill.alarm.opened_by_run IS 'null: found by backfill.check_health';
COMMENT ON COLUMN backfill.alarm.evidence IS 'the numbers it was judged by';
COMMENT ON COLUMN backfill.alarm.accepted_by IS 'who declared it to be the new usual';

CREATE TABLE backfill.alarm_setting (
	pipeline_id  integer NOT NULL REFERENCES backfill.pipeline ON DELETE CASCADE,
	kind         text NOT NULL,
	enabled      boolean NOT NULL DEFAULT true,
	threshold    double precision CHECK (threshold > 0 AND threshold < 'Infinity'),
	history_from timestamptz,
	PRIMARY KEY (pipeline_id, kind)
);
COMMENT ON TABLE backfill.alarm_setting IS 'how a pipeline''s alarms are set, where not by default; written by set_alarm and accept_alarm';
COMMENT ON COLUMN backfill.alarm_setting.threshold IS 'null: the default; what it means is with set_alarm';
COMMENT ON COLUMN backfill.alarm_setting.history_from IS 'what was before is no history: somebody accepted a new usual';

SELECT pg_catalog.pg_extension_config_dump('backfill.run_shape', '');
SELECT pg_catalog.pg_extension_config_dump('backfill.alarm', '');
SELECT pg_catalog.pg_extension_config_dump('backfill.alarm_alarm_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('backfill.alarm_setting', '');

CREATE FUNCTION backfill._judge(measure text, slot text, at bigint[], value double precision[], unusual boolean[], present_at bigint,
	present_value double precision, candidates double precision, threshold double precision, is_open boolean,
	OUT is_known boolean, OUT is_unusual boolean, OUT slowly boolean, OUT usual double precision, OUT bound double precision, OUT samples integer) RETURNS record
	LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'pg_backfill__judge';
COMMENT ON FUNCTION backfill._judge(text, text, bigint[], double precision[], boolean[], bigint, double precision, double precision, double precision, boolean) IS
	'whether a number of a run is as usual; history and present by seconds of local time';

CREATE FUNCTION backfill._overdue_after(slot text, at bigint[], after double precision[], present_at bigint, threshold double precision) RETURNS double precision
	LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'pg_backfill__overdue_after';
COMMENT ON FUNCTION backfill._overdue_after(text, bigint[], double precision[], bigint, double precision) IS
	'seconds after its begin when a slot''s run is overdue; null: it need not have one. after: of each slot, when its first run came; negative: none did';

CREATE FUNCTION backfill._local_seconds(at timestamptz, timezone text) RETURNS bigint
	LANGUAGE sql STABLE STRICT PARALLEL SAFE
	RETURN pg_catalog.floor(pg_catalog.date_part('epoch', at AT TIME ZONE timezone));
COMMENT ON FUNCTION backfill._local_seconds(timestamptz, text) IS 'seconds of local time since 1970-01-01';

-- How far back is usual; what goes slowly is held against twice as far.
CREATE FUNCTION backfill._span(slot text) RETURNS interval
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN CASE slot WHEN 'week' THEN interval '182 days' WHEN 'month' THEN interval '730 days' ELSE interval '56 days' END;
COMMENT ON FUNCTION backfill._span(text) IS 'how far back of a pipeline''s history is what is usual';

CREATE FUNCTION backfill._alarm_setting(pipeline_id integer, kind text) RETURNS backfill.alarm_setting
	LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT s.* FROM (VALUES (1)) one LEFT JOIN backfill.alarm_setting s ON s.pipeline_id = _alarm_setting.pipeline_id AND s.kind = _alarm_setting.kind
$$;
COMMENT ON FUNCTION backfill._alarm_setting(integer, text) IS 'setting of a kind of alarm; nulls where it is the default';

CREATE FUNCTION backfill._percent(share text) RETURNS text
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN pg_catalog.concat(pg_catalog.round(100 * share::numeric), ' %');
COMMENT ON FUNCTION backfill._percent(text) IS 'a share as people write it';

CREATE FUNCTION backfill._alarm_text(kind text, subject text, evidence jsonb) RETURNS text
	LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE kind
		WHEN 'silence' THEN format('no candidates, where there usually are %s', evidence ->> 'usual')
		WHEN 'few_candidates' THEN CASE WHEN (evidence ->> 'slowly')::boolean
			THEN format('ever fewer candidates: now %s, where there were %s a season ago', evidence ->> 'candidates', evidence ->> 'usual')
			ELSE format('%s, where there usually are %s', backfill._counted((evidence ->> 'candidates')::bigint, 'candidate'), evidence ->> 'usual') END
		WHEN 'flood' THEN format('%s of %s ended with %s, where it usually is %s', backfill._percent(evidence ->> 'share'),
			backfill._counted((evidence ->> 'candidates')::bigint, 'candidate'), subject, backfill._percent(evidence ->> 'usual'))
		WHEN 'overdue' THEN format('no run has come that should have come by %s', evidence ->> 'due_at')
		WHEN 'watermark_stuck' THEN format('the watermark has not moved for %s with runs', backfill._counted((evidence ->> 'tries')::bigint, evidence ->> 'unit'))
			|| coalesce(', held back by ' || (evidence ->> 'held_by'), '')
		WHEN 'same_items_failing' THEN format('%s failed in %s in a row, or in more', backfill._counted((evidence ->> 'items')::bigint, 'item has', 'items have'), backfill._counted((evidence ->> 'windows')::bigint, 'window'))
	END
$$;
COMMENT ON FUNCTION backfill._alarm_text(text, text, jsonb) IS 'what an alarm says, in a sentence';

-- Told in the slot of now, and about the pipeline: it has no item. The number makes each alarm a message of its own.
CREATE FUNCTION backfill._tell_alarm(p backfill.pipeline, a backfill.alarm, run_id bigint) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	moment CONSTANT timestamptz := backfill._clock();
	told CONSTANT text := backfill._alarm_text(a.kind, a.subject, a.evidence);
BEGIN
	IF a.closed_at IS NULL THEN
		RAISE WARNING 'alarm of pipeline "%": %', p.name, told
			USING HINT = format('See SELECT * FROM backfill.alarm_history; if this is the new usual, SELECT backfill.accept_alarm(%s, ''the reason'').', a.alarm_id);
	END IF;
	IF p.summary_to IS NULL THEN
		RETURN;
	END IF;
	PERFORM backfill._emit(run_id, p.pipeline_id, 'live', false, moment, w.window_from, w.window_to, NULL, p.summary_to,
		CASE WHEN a.closed_at IS NULL THEN 'alarm_' ELSE 'recovered_' END || a.kind || '_' || a.alarm_id,
		jsonb_build_object('pipeline', p.name, 'alarm_id', a.alarm_id, 'kind', a.kind, 'subject', a.subject, 'text', told,
			'opened_at', a.opened_at, 'closed_at', a.closed_at, 'evidence', a.evidence),
		backfill._default_channel(p.summary_to))
	FROM backfill._slot_of(moment, p.slot, p.timezone) w;
END $$;
COMMENT ON FUNCTION backfill._tell_alarm(backfill.pipeline, backfill.alarm, bigint) IS 'a message about an alarm that was raised or has closed';

-- Once, whoever else looks at the same time.
CREATE FUNCTION backfill._raise_alarm(p backfill.pipeline, kind text, subject text, evidence jsonb, run_id bigint) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	a backfill.alarm;
BEGIN
	IF EXISTS (SELECT FROM backfill.alarm o WHERE o.pipeline_id = p.pipeline_id AND o.kind = _raise_alarm.kind AND o.subject = _raise_alarm.subject AND o.closed_at IS NULL)
		OR NOT coalesce((backfill._alarm_setting(p.pipeline_id, kind)).enabled, true)
	THEN
		RETURN;
	END IF;
	INSERT INTO backfill.alarm AS n (pipeline_id, kind, subject, opened_at, opened_by_run, evidence)
	VALUES (p.pipeline_id, kind, subject, backfill._clock(), run_id, evidence)
	ON CONFLICT (pipeline_id, kind, subject) WHERE closed_at IS NULL DO NOTHING
	RETURNING n.* INTO a;
	IF FOUND THEN
		PERFORM backfill._tell_alarm(p, a, run_id);
	END IF;
END $$;
COMMENT ON FUNCTION backfill._raise_alarm(backfill.pipeline, text, text, jsonb, bigint) IS 'opens an alarm and tells of it, unless it is open or switched off';

CREATE FUNCTION backfill._close_alarm(p backfill.pipeline, kind text, subject text, run_id bigint) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	a backfill.alarm;
BEGIN
	IF NOT EXISTS (SELECT FROM backfill.alarm o WHERE o.pipeline_id = p.pipeline_id AND o.kind = _close_alarm.kind AND o.subject = _close_alarm.subject AND o.closed_at IS NULL) THEN
		RETURN;
	END IF;
	UPDATE backfill.alarm o SET closed_at = greatest(o.opened_at, backfill._clock()), closed_by_run = _close_alarm.run_id
	WHERE o.pipeline_id = p.pipeline_id AND o.kind = _close_alarm.kind AND o.subject = _close_alarm.subject AND o.closed_at IS NULL
	RETURNING o.* INTO a;
	IF FOUND THEN
		PERFORM backfill._tell_alarm(p, a, run_id);
	END IF;
END $$;
COMMENT ON FUNCTION backfill._close_alarm(backfill.pipeline, text, text, bigint) IS 'closes an alarm that has recovered and tells of it, if it is open';
