
-- Scheduling by pg_cron, whose job only asks for a run. It lives in one database of the cluster.

CREATE FUNCTION backfill._check_schedule(pipeline text) RETURNS void
	LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM backfill._require_operator((backfill._pipeline(pipeline)).pipeline_id);
END $$;
COMMENT ON FUNCTION backfill._check_schedule(text) IS 'refuses pipelines that are not there or not the caller''s to run';

-- Anybody may have made a schema of that name, with views that do as he likes, and what looks at them may be a superuser's
-- function: it must be the extension's own table.
CREATE FUNCTION backfill._cron_is_here() RETURNS boolean
	LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT EXISTS (SELECT FROM pg_depend d JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND e.oid = d.refobjid
		WHERE d.classid = 'pg_class'::regclass AND d.objid = to_regclass('cron.job') AND d.deptype = 'e' AND e.extname = 'pg_cron')
$$;
COMMENT ON FUNCTION backfill._cron_is_here() IS 'whether pg_cron''s tables are in this database';

-- Only superusers may see pg_cron's setting.
CREATE FUNCTION backfill._cron_database() RETURNS text
	LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	home CONSTANT text := current_setting('cron.database_name', true);
BEGIN
	IF backfill._cron_is_here() THEN
		RETURN current_database();
	END IF;
	-- The setting may have outlived the library.
	IF coalesce(home, '') = '' OR current_setting('shared_preload_libraries') !~ 'pg_cron' THEN
		RAISE EXCEPTION 'pg_cron is not there'
			USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Install the package postgresql-15-cron and add pg_cron to shared_preload_libraries. Or let a systemd timer, or cron, run psql -c "SELECT backfill.request_run(''...'')" for the worker, or the command pg_backfill run.';
	END IF;
	IF home = current_database() THEN
		RAISE EXCEPTION 'pg_cron is loaded, but not created in this database'
			USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Run CREATE EXTENSION pg_cron here, as a superuser.';
	END IF;
	RETURN home;
END $$;
COMMENT ON FUNCTION backfill._cron_database() IS 'database that pg_cron lives in, or an error that names the alternatives';

-- What is another role's, row security hides, unless the extension's owner is a superuser.
CREATE FUNCTION backfill._cron_jobs(pipeline text) RETURNS TABLE (jobid bigint, jobname text, username text, schedule text, active boolean)
	LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF backfill._cron_is_here() AND pipeline ~ '^[a-z][a-z0-9_]*$' THEN
		RETURN QUERY EXECUTE 'SELECT j.jobid, j.jobname::text, j.username, j.schedule, j.active FROM cron.job j WHERE j.database = current_database() AND j.command ~ $1 ORDER BY j.jobid'
			USING format('\mbackfill\.(run|request_run|run_requested)\s*\(\s*(pipeline\s*=>\s*)?''%s''', pipeline);
	END IF;
END $$;
COMMENT ON FUNCTION backfill._cron_jobs(text) IS 'the pg_cron jobs of this database that run a pipeline or ask for its runs, as far as they can be seen';

-- Earlier releases than those that have the setting read schedules in GMT.
CREATE FUNCTION backfill._cron_timezone() RETURNS text
	LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	RETURN coalesce(nullif(current_setting('cron.timezone', true), ''), 'GMT');
COMMENT ON FUNCTION backfill._cron_timezone() IS 'time zone that pg_cron reads schedules in';

CREATE FUNCTION backfill._next_tick(schedule text, after timestamp) RETURNS timestamp
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'pg_backfill__next_tick';
COMMENT ON FUNCTION backfill._next_tick(text, timestamp) IS 'when a cron schedule ticks next, on the clock that pg_cron reads it by; null: never, or not by the calendar';

CREATE FUNCTION backfill._next_tick(schedule text) RETURNS timestamptz
	LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
	RETURN backfill._next_tick(schedule, backfill._clock() AT TIME ZONE backfill._cron_timezone()) AT TIME ZONE backfill._cron_timezone();
COMMENT ON FUNCTION backfill._next_tick(text) IS 'when pg_cron ticks next; null: never, or not by the calendar';

CREATE FUNCTION backfill._tick_text(pipeline text, cron text) RETURNS text
	LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	zone CONSTANT text := (backfill._pipeline(pipeline)).timezone;
BEGIN
	RETURN concat(format('pg_cron reads %s in %s', cron, backfill._cron_timezone()),
		coalesce(', and ticks next at ' || to_char(backfill._next_tick(cron) AT TIME ZONE zone, 'YYYY-MM-DD HH24:MI') || ' ' || zone, ', and ticks at no time of the calendar'));
END $$;
COMMENT ON FUNCTION backfill._tick_text(text, text) IS 'what a schedule means on the clock of the pipeline';

CREATE FUNCTION backfill._cron_syntax() RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN 'Give minute, hour, day of the month, month and day of the week, such as 0 6 * * *; or @hourly, @daily, @weekly or @monthly.';
COMMENT ON FUNCTION backfill._cron_syntax() IS 'schedules that every release of pg_cron reads';

-- As whoever calls: the job will be his.
CREATE FUNCTION backfill._ask_cron(statement text) RETURNS bigint
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	answer bigint;
	hint text;
BEGIN
	EXECUTE statement INTO answer;
	RETURN answer;
EXCEPTION WHEN OTHERS THEN
	hint := CASE WHEN SQLERRM LIKE '%schema cron%' THEN format('Run GRANT USAGE ON SCHEMA cron TO %I as a superuser.', current_user)
		WHEN SQLERRM LIKE 'invalid schedule%' THEN backfill._cron_syntax() END;
	IF hint IS NULL THEN
		RAISE;
	END IF;
	RAISE EXCEPTION '%', SQLERRM USING ERRCODE = SQLSTATE, HINT = hint;
END $$;
COMMENT ON FUNCTION backfill._ask_cron(text) IS 'the number that a statement of pg_cron''s answers; errors of pg_cron with the hint that they lack';

CREATE FUNCTION backfill._cron_job_name(pipeline text) RETURNS text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN 'backfill: ' || pipeline || CASE WHEN backfill._cron_database() = current_database() THEN '' ELSE format(' (%s)', current_database()) END;
END $$;
COMMENT ON FUNCTION backfill._cron_job_name(text) IS 'what the job of a pipeline is called in the database that pg_cron lives in';

-- A name of a job belongs to a role, so two operators can make two jobs of one name.
CREATE FUNCTION backfill._refuse_second_job(pipeline text) RETURNS void
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	other record;
BEGIN
	SELECT j.jobid, j.username INTO other FROM backfill._cron_jobs(pipeline) j
	WHERE j.jobname = backfill._cron_job_name(pipeline) AND j.username <> current_user LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'pipeline "%" is scheduled already, by job % of role %', pipeline, other.jobid, other.username
			USING ERRCODE = 'duplicate_object', HINT = format('Two jobs would ask for its runs. End that one first, as %s or as a superuser: SELECT cron.unschedule(%s).', other.username, other.jobid);
	END IF;
END $$;
COMMENT ON FUNCTION backfill._refuse_second_job(text) IS 'refuses pipelines that another role has scheduled, if that can be seen';

CREATE FUNCTION backfill.schedule(pipeline text, cron text) RETURNS text
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	command CONSTANT text := format('SELECT backfill.request_run(%L)', pipeline);
	home text;
	statement text;
	job bigint;
BEGIN
	PERFORM backfill._check_schedule(pipeline);
	IF coalesce(cron, '') = '' THEN
		RAISE EXCEPTION 'a schedule is needed'
			USING ERRCODE = 'invalid_parameter_value', HINT = backfill._cron_syntax();
	END IF;
	home := backfill._cron_database();
	IF home <> current_database() THEN
		statement := format('SELECT cron.schedule_in_database(%L, %L, %L, %L)', backfill._cron_job_name(pipeline), cron, command, current_database());
		RAISE NOTICE 'pg_cron lives in database "%"; run this there: %', home, statement
			USING HINT = backfill._tick_text(pipeline, cron) || '.';
		RETURN statement;
	END IF;
	PERFORM backfill._refuse_second_job(pipeline);
	statement := format('SELECT cron.schedule(%L, %L, %L)', backfill._cron_job_name(pipeline), cron, command);
	job := backfill._ask_cron(statement);
	RAISE NOTICE 'pipeline "%" is scheduled now, by job % of role %', pipeline, job, current_user
		USING DETAIL = backfill._tick_text(pipeline, cron) || '.';
	RETURN statement;
END $$;
COMMENT ON FUNCTION backfill.schedule(text, text) IS
	'makes or changes the pg_cron job "backfill: PIPELINE", which asks for a run as the role that calls this, and returns the statement that did so; with pg_cron in another database, makes nothing and returns the statement to run there. pg_cron reads the schedule in its own time zone, GMT unless it has cron.timezone, not in the pipeline''s';

CREATE FUNCTION backfill.unschedule(pipeline text) RETURNS text
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	home CONSTANT text := backfill._cron_database();
	job CONSTANT text := backfill._cron_job_name(pipeline);
	statement CONSTANT text := format('SELECT cron.unschedule(%L)', job);
	others text;
BEGIN
	IF home <> current_database() THEN
		PERFORM backfill._check_schedule(pipeline);
		RAISE NOTICE 'pg_cron lives in database "%"; run this there: %', home, statement;
		RETURN statement;
	END IF;
	-- Before the pipeline is looked for: a job outlives it.
	IF backfill._ask_cron(format('SELECT count(*) FROM cron.job WHERE jobname = %L AND username = current_user', job)) > 0 THEN
		PERFORM backfill._ask_cron(format('SELECT count(*) FROM cron.unschedule(%L)', job));
		RETURN statement;
	END IF;
	SELECT string_agg(format('job %s of role %s: SELECT cron.unschedule(%s)', j.jobid, j.username, j.jobid), '; ') INTO others FROM backfill._cron_jobs(pipeline) j;
	IF others IS NULL THEN
		PERFORM backfill._check_schedule(pipeline);
		RAISE NOTICE 'pipeline "%" was not scheduled', pipeline;
	ELSE
		RAISE NOTICE 'pipeline "%" was not scheduled by role %, and still is by others', pipeline, current_user
			USING HINT = format('As its role or as a superuser you can end %s.', others);
	END IF;
	RETURN NULL;
END $$;
COMMENT ON FUNCTION backfill.unschedule(text) IS
	'removes the pg_cron job of schedule(), also of a pipeline that was dropped, and returns the statement that did so; null: the caller had none; with pg_cron in another database, removes nothing and returns the statement to run there, for a pipeline that there is';
