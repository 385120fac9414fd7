
-- Defining: the public functions check the commands as their caller; the private ones write the rows.

CREATE FUNCTION backfill._pipeline(name text) RETURNS backfill.pipeline
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	found_row backfill.pipeline;
BEGIN
	SELECT p.* INTO found_row FROM backfill.pipeline p WHERE p.name = _pipeline.name;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'pipeline "%" does not exist', name
			USING ERRCODE = 'undefined_object', HINT = 'Define it with backfill.create_pipeline, or see SELECT name FROM backfill.pipeline.';
	END IF;
	RETURN found_row;
END $$;
COMMENT ON FUNCTION backfill._pipeline(text) IS 'the pipeline of that name, or an error';

CREATE FUNCTION backfill._step(pipeline_id integer, name text) RETURNS backfill.step
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	found_row backfill.step;
BEGIN
	SELECT s.* INTO found_row FROM backfill.step s WHERE s.pipeline_id = _step.pipeline_id AND s.name = _step.name;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'step "%" does not exist', name
			USING ERRCODE = 'undefined_object',
				HINT = (SELECT 'The steps are: ' || coalesce(string_agg(s.name, ', ' ORDER BY s.position), 'none') || '.'
					FROM backfill.step s WHERE s.pipeline_id = _step.pipeline_id);
	END IF;
	RETURN found_row;
END $$;
COMMENT ON FUNCTION backfill._step(integer, text) IS 'the step of that name, or an error';

CREATE FUNCTION backfill._check_name(what text, name text) RETURNS void
	LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF name !~ '^[a-z][a-z0-9_]{0,62}$' THEN
		RAISE EXCEPTION '% name "%" is not valid', what, name
			USING ERRCODE = 'invalid_name', HINT = 'Use a lower case letter, then lower case letters, digits and underscores; at most 63.';
	END IF;
END $$;
COMMENT ON FUNCTION backfill._check_name(text, text) IS 'refuses names that would need quoting in logs';

-- Upstream of a pipeline, by name; refuses a cycle. An empty name is none. The upstream's row is written, so that whoever
-- drops it meanwhile waits for this transaction, and sees or is refused what it has done.
CREATE FUNCTION backfill._upstream(pipeline_id integer, after text) RETURNS integer
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	upstream integer;
BEGIN
	IF coalesce(after, '') = '' THEN
		RETURN NULL;
	END IF;
	-- Two changes of different pipelines can close a circle.
	PERFORM pg_advisory_xact_lock(hashtextextended('backfill.pipeline.after', 0));
	UPDATE backfill.pipeline p SET name = p.name WHERE p.name = _upstream.after RETURNING p.pipeline_id INTO upstream;
	IF upstream IS NULL THEN
		PERFORM backfill._pipeline(after);
	END IF;
	IF EXISTS (
		WITH RECURSIVE chain AS (
			SELECT upstream AS id
			UNION
			SELECT p.after FROM chain JOIN backfill.pipeline p ON p.pipeline_id = chain.id WHERE p.after IS NOT NULL)
		SELECT FROM chain WHERE id = _upstream.pipeline_id) THEN
		RAISE EXCEPTION 'pipeline "%" already runs after this one', after
			USING ERRCODE = 'invalid_parameter_value', HINT = 'A pipeline cannot wait for itself: break the cycle with alter_pipeline(..., after => '''').';
	END IF;
	RETURN upstream;
END $$;
COMMENT ON FUNCTION backfill._upstream(integer, text) IS 'the upstream pipeline of that name; refuses cycles';

CREATE FUNCTION backfill._check_rate(rate double precision) RETURNS void
	LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF rate <= 0 OR rate IN ('NaN', 'Infinity') THEN
		RAISE EXCEPTION 'rate must be positive'
			USING ERRCODE = 'invalid_parameter_value', HINT = 'Give items a second, such as 0.5; pause_run stops a run.';
	END IF;
	IF rate < backfill._lowest_rate() THEN
		RAISE EXCEPTION 'rate is too low'
			USING ERRCODE = 'invalid_parameter_value', HINT = 'Give 0.00001 items a second or more, which is about one a day; pause_run stops a run.';
	END IF;
END $$;
COMMENT ON FUNCTION backfill._check_rate(double precision) IS 'refuses rates that no run could keep';

CREATE FUNCTION backfill._check_settings(lookback interval, slot text, timezone text, delivery_max_age interval, max_catchup interval,
	catch_up text, clock_skew interval, rate double precision) RETURNS void
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF lookback <= '0' OR max_catchup <= '0' OR delivery_max_age < '0' THEN
		RAISE EXCEPTION '% must be positive', CASE WHEN lookback <= '0' THEN 'lookback' WHEN max_catchup <= '0' THEN 'max_catchup' ELSE 'delivery_max_age' END
			USING ERRCODE = 'invalid_parameter_value', HINT = 'Give an interval such as ''24 hours''.';
	END IF;
	IF catch_up NOT IN ('coalesce', 'each') THEN
		RAISE EXCEPTION 'catch_up "%" is not known', catch_up
			USING ERRCODE = 'invalid_parameter_value', HINT = 'Use coalesce, one wider run, or each, a run for each missed slot.';
	END IF;
	IF clock_skew < '0' OR clock_skew > '1 day' THEN
		RAISE EXCEPTION 'clock_skew must be between nothing and a day'
			USING ERRCODE = 'invalid_parameter_value', HINT = 'Give how far the clocks that stamp rows may be behind the server''s, such as ''1 minute''.';
	END IF;
	PERFORM backfill._check_rate(rate);
	IF slot NOT IN ('hour', 'day', 'week', 'month') THEN
		RAISE EXCEPTION 'slot "%" is not known', slot
			USING ERRCODE = 'invalid_parameter_value', HINT = 'Use hour, day, week or month.';
	END IF;
	PERFORM now() AT TIME ZONE timezone;
	-- An abbreviation such as IST is good for that, and a session, as the steps run in, cannot have it.
	IF timezone !~ '[0-9/]' AND upper(timezone) NOT IN ('UTC', 'GMT') AND NOT EXISTS (SELECT FROM pg_timezone_names z WHERE lower(z.name) = lower(timezone)) THEN
		RAISE EXCEPTION 'time zone' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	PERFORM now() - lookback, now() - max_catchup, now() - delivery_max_age;
EXCEPTION WHEN datetime_field_overflow THEN
	RAISE EXCEPTION 'an interval is longer than the calendar'
		USING ERRCODE = 'invalid_parameter_value', HINT = 'Give an interval such as ''24 hours''.';
WHEN invalid_parameter_value THEN
	IF SQLERRM LIKE 'time zone%' THEN
		RAISE EXCEPTION 'time zone "%" is not known', timezone
			USING ERRCODE = 'invalid_parameter_value', HINT = 'See SELECT name FROM pg_timezone_names.';
	END IF;
	RAISE;
END $$;
COMMENT ON FUNCTION backfill._check_settings(interval, text, text, interval, interval, text, interval, double precision) IS 'refuses settings that no run could use';

CREATE FUNCTION backfill._create_pipeline(name text, owner text, candidates text, key_type text, search_path text, lookback interval,
	slot text, timezone text, delivery_max_age interval, max_catchup interval, after text, summary_to text,
	catch_up text, clock_skew interval, rate double precision) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM backfill._check_name('pipeline', name);
	lookback := coalesce(lookback, '24 hours');
	slot := coalesce(slot, 'day');
	timezone := coalesce(timezone, 'UTC');
	max_catchup := coalesce(max_catchup, '7 days');
	catch_up := coalesce(catch_up, 'coalesce');
	clock_skew := coalesce(clock_skew, '1 minute');
	PERFORM backfill._check_settings(lookback, slot, timezone, delivery_max_age, max_catchup, catch_up, clock_skew, rate);
	PERFORM backfill._default_channel(summary_to);
	INSERT INTO backfill.pipeline (name, owner, candidates, key_type, search_path, lookback, slot, timezone, delivery_max_age, max_catchup, after, summary_to,
		catch_up, clock_skew, rate)
	VALUES (name, owner, candidates, key_type, search_path, lookback, slot, timezone, delivery_max_age, max_catchup, backfill._upstream(NULL, after), summary_to,
		catch_up, clock_skew, rate);
EXCEPTION WHEN unique_violation THEN
	RAISE EXCEPTION 'pipeline "%" already exists', name
		USING ERRCODE = 'duplicate_object', HINT = 'Change it with backfill.alter_pipeline, or drop it first with backfill.drop_pipeline.';
END $$;
COMMENT ON FUNCTION backfill._create_pipeline(text, text, text, text, text, interval, text, text, interval, interval, text, text, text, interval, double precision) IS 'writes a new pipeline';

-- A message is known by its window. Cut anew, a window forgets what was told for it, and may end later.
CREATE FUNCTION backfill._warn_of_windows(p backfill.pipeline) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	told_until CONSTANT timestamptz := (SELECT max(m.window_to) FROM backfill.message m WHERE m.pipeline = p.name);
	too_old_after timestamptz;
BEGIN
	SELECT backfill._add_interval(w.window_to, coalesce(p.delivery_max_age, ('1 ' || p.slot)::interval), p.timezone) INTO too_old_after
	FROM backfill._slot_of(told_until - interval '1 microsecond', p.slot, p.timezone) w;
	IF too_old_after >= backfill._clock() THEN
		RAISE WARNING 'what pipeline "%" has told for windows up to % may be told again', p.name, told_until
			USING HINT = format('A recipient is told once for a window, and they are cut anew. What its steps emit again counts as new; after %s it is too old to be sent.', too_old_after);
	END IF;
END $$;
COMMENT ON FUNCTION backfill._warn_of_windows(backfill.pipeline) IS 'says that what a pipeline told may be told again, as its windows have changed';

CREATE FUNCTION backfill._alter_pipeline(pipeline_id integer, candidates text, lookback interval, slot text, timezone text,
	delivery_max_age interval, max_catchup interval, after text, owner text, summary_to text,
	catch_up text, clock_skew interval, rate double precision) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	p backfill.pipeline;
BEGIN
	SELECT q.* INTO STRICT p FROM backfill.pipeline q WHERE q.pipeline_id = _alter_pipeline.pipeline_id FOR UPDATE;
	p.candidates := coalesce(candidates, p.candidates);
	p.lookback := coalesce(lookback, p.lookback);
	p.slot := coalesce(slot, p.slot);
	p.timezone := coalesce(timezone, p.timezone);
	p.delivery_max_age := coalesce(delivery_max_age, p.delivery_max_age);
	p.max_catchup := coalesce(max_catchup, p.max_catchup);
	p.catch_up := coalesce(catch_up, p.catch_up);
	p.clock_skew := coalesce(clock_skew, p.clock_skew);
	p.rate := nullif(coalesce(rate, p.rate), 0);
	p.owner := coalesce(owner::name, p.owner);
	p.summary_to := nullif(coalesce(summary_to, p.summary_to), '');
	IF after IS NOT NULL THEN
		p.after := backfill._upstream(p.pipeline_id, after);
	END IF;
	PERFORM backfill._check_settings(p.lookback, p.slot, p.timezone, p.delivery_max_age, p.max_catchup, p.catch_up, p.clock_skew, p.rate);
	PERFORM backfill._default_channel(p.summary_to);
	PERFORM backfill._warn_of_windows(p) FROM backfill.pipeline q WHERE q.pipeline_id = p.pipeline_id AND (q.slot, q.timezone) <> (p.slot, p.timezone);
	UPDATE backfill.pipeline q
	SET candidates = p.candidates, lookback = p.lookback, slot = p.slot, timezone = p.timezone,
		delivery_max_age = p.delivery_max_age, max_catchup = p.max_catchup,
		catch_up = p.catch_up, clock_skew = p.clock_skew, rate = p.rate, owner = p.owner, after = p.after, summary_to = p.summary_to
	WHERE q.pipeline_id = p.pipeline_id;
END $$;
COMMENT ON FUNCTION backfill._alter_pipeline(integer, text, interval, text, text, interval, interval, text, text, text, text, interval, double precision) IS 'changes a pipeline; null leaves a value as it is';

CREATE FUNCTION backfill._drop_pipeline(pipeline_id integer) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	pipeline_name text;
	busy bigint;
BEGIN
	SELECT p.name INTO STRICT pipeline_name FROM backfill.pipeline p WHERE p.pipeline_id = _drop_pipeline.pipeline_id FOR UPDATE;
	SELECT r.run_id INTO busy FROM backfill.run r
	WHERE r.pipeline_id = _drop_pipeline.pipeline_id AND r.state = 'running' AND r.lease_until > clock_timestamp() LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'pipeline "%" has a run in progress', pipeline_name
			USING ERRCODE = 'object_in_use', HINT = format('Wait for it, or end it with SELECT backfill.cancel_run(%s).', busy);
	END IF;
	IF EXISTS (SELECT FROM backfill.pipeline p WHERE p.after = _drop_pipeline.pipeline_id) THEN
		RAISE EXCEPTION 'pipeline "%" has pipelines that run after it', pipeline_name
			USING ERRCODE = 'dependent_objects_still_exist',
				HINT = (SELECT format('Change them first: SELECT backfill.alter_pipeline(%L, after => '''').', min(p.name))
					FROM backfill.pipeline p WHERE p.after = _drop_pipeline.pipeline_id);
	END IF;
	DELETE FROM backfill.pipeline p WHERE p.pipeline_id = _drop_pipeline.pipeline_id;
	-- Its messages and counters stay for as long as they would have.
	INSERT INTO backfill.retention (pipeline) VALUES (pipeline_name) ON CONFLICT ON CONSTRAINT retention_pkey DO NOTHING;
END $$;
COMMENT ON FUNCTION backfill._drop_pipeline(integer) IS 'removes a pipeline with its steps and the record of its runs';

CREATE FUNCTION backfill._add_step(pipeline_id integer, name text, batch boolean, check_sql text, work_sql text, clear_sql text) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- Each step may take a subtransaction of its own, and a transaction uses at most 60.
	most CONSTANT integer := 50;
	steps integer;
BEGIN
	PERFORM backfill._check_name('step', name);
	PERFORM FROM backfill.pipeline p WHERE p.pipeline_id = _add_step.pipeline_id FOR UPDATE;
	SELECT count(*) INTO steps FROM backfill.step s WHERE s.pipeline_id = _add_step.pipeline_id;
	IF steps >= most THEN
		RAISE EXCEPTION 'a pipeline has at most % steps', most
			USING ERRCODE = 'program_limit_exceeded', HINT = 'Split it into two pipelines, the second with after => the first.';
	END IF;
	INSERT INTO backfill.step (pipeline_id, name, position, batch, check_sql, work_sql, clear_sql)
	VALUES (pipeline_id, name, steps + 1, batch, check_sql, work_sql, clear_sql);
EXCEPTION WHEN unique_violation THEN
	RAISE EXCEPTION 'step "%" already exists', name
		USING ERRCODE = 'duplicate_object', HINT = 'Change it with backfill.alter_step, or drop it first with backfill.drop_step.';
END $$;
COMMENT ON FUNCTION backfill._add_step(integer, text, boolean, text, text, text) IS 'writes a new last step';

CREATE FUNCTION backfill._alter_step(pipeline_id integer, step text, check_sql text, work_sql text, clear_sql text, new_position integer, new_name text) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	s backfill.step;
	steps integer;
BEGIN
	PERFORM FROM backfill.pipeline p WHERE p.pipeline_id = _alter_step.pipeline_id FOR UPDATE;
	s := backfill._step(pipeline_id, step);
	SELECT count(*) INTO steps FROM backfill.step q WHERE q.pipeline_id = _alter_step.pipeline_id;
	IF new_position NOT BETWEEN 1 AND steps THEN
		RAISE EXCEPTION 'position % is out of range', new_position
			USING ERRCODE = 'invalid_parameter_value', HINT = format('Use 1 to %s.', steps);
	END IF;
	IF new_name IS NOT NULL THEN
		PERFORM backfill._check_name('step', new_name);
	END IF;
	UPDATE backfill.step q
	SET name = coalesce(new_name, q.name), check_sql = coalesce(_alter_step.check_sql, q.check_sql),
		work_sql = coalesce(_alter_step.work_sql, q.work_sql), clear_sql = nullif(coalesce(_alter_step.clear_sql, q.clear_sql), '')
	WHERE q.step_id = s.step_id;
	IF new_position <> s.position THEN
		UPDATE backfill.step q
		SET position = CASE
			WHEN q.step_id = s.step_id THEN new_position
			WHEN new_position > s.position AND q.position BETWEEN s.position + 1 AND new_position THEN q.position - 1
			WHEN new_position < s.position AND q.position BETWEEN new_position AND s.position - 1 THEN q.position + 1
			ELSE q.position END
		WHERE q.pipeline_id = _alter_step.pipeline_id;
	END IF;
EXCEPTION WHEN unique_violation THEN
	RAISE EXCEPTION 'step "%" already exists', new_name
		USING ERRCODE = 'duplicate_object', HINT = 'Choose another name.';
END $$;
COMMENT ON FUNCTION backfill._alter_step(integer, text, text, text, text, integer, text) IS 'changes a step; null leaves a value as it is';

CREATE FUNCTION backfill._drop_step(pipeline_id integer, step text) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	s backfill.step;
BEGIN
	PERFORM FROM backfill.pipeline p WHERE p.pipeline_id = _drop_step.pipeline_id FOR UPDATE;
	s := backfill._step(pipeline_id, step);
	DELETE FROM backfill.step q WHERE q.step_id = s.step_id;
	UPDATE backfill.step q SET position = q.position - 1 WHERE q.pipeline_id = _drop_step.pipeline_id AND q.position > s.position;
END $$;
COMMENT ON FUNCTION backfill._drop_step(integer, text) IS 'removes a step and closes the gap';

CREATE FUNCTION backfill.create_pipeline(name text, candidates text, key_type regtype DEFAULT 'bigint', lookback interval DEFAULT '24 hours',
	slot text DEFAULT 'day', timezone text DEFAULT 'UTC', delivery_max_age interval DEFAULT NULL, max_catchup interval DEFAULT '7 days',
	after text DEFAULT NULL, summary_to text DEFAULT NULL, catch_up text DEFAULT 'coalesce', clock_skew interval DEFAULT '1 minute',
	rate double precision DEFAULT NULL) RETURNS void
	LANGUAGE c AS 'MODULE_PATHNAME', 'pg_backfill_create_pipeline';
COMMENT ON FUNCTION backfill.create_pipeline(text, text, regtype, interval, text, text, interval, interval, text, text, text, interval, double precision) IS
	'defines a pipeline owned by the caller; candidates: a query of (key [, item time]) given $1 scan_from and $2 scan_to; summary_to: who is told of runs that changed something';

CREATE FUNCTION backfill.alter_pipeline(name text, candidates text DEFAULT NULL, lookback interval DEFAULT NULL, slot text DEFAULT NULL,
	timezone text DEFAULT NULL, delivery_max_age interval DEFAULT NULL, max_catchup interval DEFAULT NULL, after text DEFAULT NULL,
	owner text DEFAULT NULL, summary_to text DEFAULT NULL, catch_up text DEFAULT NULL, clock_skew interval DEFAULT NULL,
	rate double precision DEFAULT NULL) RETURNS void
	LANGUAGE c AS 'MODULE_PATHNAME', 'pg_backfill_alter_pipeline';
COMMENT ON FUNCTION backfill.alter_pipeline(text, text, interval, text, text, interval, interval, text, text, text, text, interval, double precision) IS
	'changes a pipeline and never fires it; null leaves a value as it is; an empty after or summary_to, or a rate of 0, removes it';

CREATE FUNCTION backfill.drop_pipeline(name text) RETURNS void
	LANGUAGE c AS 'MODULE_PATHNAME', 'pg_backfill_drop_pipeline';
COMMENT ON FUNCTION backfill.drop_pipeline(text) IS 'removes a pipeline, its steps and the record of its runs; what the steps made stays';

CREATE FUNCTION backfill.enable_pipeline(name text) RETURNS void
	LANGUAGE c AS 'MODULE_PATHNAME', 'pg_backfill_enable_pipeline';
COMMENT ON FUNCTION backfill.enable_pipeline(text) IS 'lets the pipeline run again; does not fire it';

CREATE FUNCTION backfill.disable_pipeline(name text) RETURNS void
	LANGUAGE c AS 'MODULE_PATHNAME', 'pg_backfill_disable_pipeline';
COMMENT ON FUNCTION backfill.disable_pipeline(text) IS 'refuses new runs of the pipeline until it is enabled';

CREATE FUNCTION backfill.add_step(pipeline text, step text, done text, work text, clear text DEFAULT NULL) RETURNS void
	LANGUAGE c AS 'MODULE_PATHNAME', 'pg_backfill_add_step';
COMMENT ON FUNCTION backfill.add_step(text, text, text, text, text) IS
	'adds a last step that works on one item; $1 is its key; done: a query of one boolean; work: any one command';

CREATE FUNCTION backfill.add_batch_step(pipeline text, step text, lacking text, work text, clear text DEFAULT NULL) RETURNS void
	LANGUAGE c AS 'MODULE_PATHNAME', 'pg_backfill_add_batch_step';
COMMENT ON FUNCTION backfill.add_batch_step(text, text, text, text, text) IS
	'adds a last step that works on a batch; $1 is an array of keys; lacking: a query of the keys without this step''s output; work: any one command';

CREATE FUNCTION backfill.alter_step(pipeline text, step text, done text DEFAULT NULL, lacking text DEFAULT NULL, work text DEFAULT NULL,
	clear text DEFAULT NULL, "position" integer DEFAULT NULL, new_name text DEFAULT NULL) RETURNS void
	LANGUAGE c AS 'MODULE_PATHNAME', 'pg_backfill_alter_step';
COMMENT ON FUNCTION backfill.alter_step(text, text, text, text, text, text, integer, text) IS
	'changes a step and never fires it; null leaves a value as it is, clear => '''' removes the clear command';

CREATE FUNCTION backfill.drop_step(pipeline text, step text) RETURNS void
	LANGUAGE c AS 'MODULE_PATHNAME', 'pg_backfill_drop_step';
COMMENT ON FUNCTION backfill.drop_step(text, text) IS 'removes a step; what it made stays';
