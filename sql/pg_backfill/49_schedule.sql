
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

CREATE FUNCTION backfill.schedule(pipeline text, cron text) RETURNS text
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	command CONSTANT text := format('SELECT backfill.request_run(%L)', pipeline);
	home text;
	statement text;
BEGIN
	PERFORM backfill._check_schedule(pipeline);
	IF coalesce(cron, '') = '' THEN
		RAISE EXCEPTION 'a schedule is needed'
			USING ERRCODE = 'invalid_parameter_value', HINT = 'Give minute, hour, day of the month, month and day of the week, such as 0 6 * * *.';
	END IF;
	home := backfill._cron_database();
	IF home = current_database() THEN
		statement := format('SELECT cron.schedule(%L, %L, %L)', 'backfill: ' || pipeline, cron, command);
		EXECUTE statement;
	ELSE
		statement := format('SELECT cron.schedule_in_database(%L, %L, %L, %L)', format('backfill: %s (%s)', pipeline, current_database()), cron, command, current_database());
		RAISE NOTICE 'pg_cron lives in database "%"; run this there: %', home, statement;
	END IF;
	RETURN statement;
EXCEPTION WHEN insufficient_privilege THEN
	IF SQLERRM LIKE '%schema cron%' THEN
		RAISE EXCEPTION '%', SQLERRM
			USING ERRCODE = 'insufficient_privilege', HINT = format('Run GRANT USAGE ON SCHEMA cron TO %I as a superuser.', current_user);
	END IF;
	RAISE;
END $$;
COMMENT ON FUNCTION backfill.schedule(text, text) IS
	'makes or changes the pg_cron job "backfill: PIPELINE", which asks for a run as the role that calls this; with pg_cron in another database, says what to run there; returns the statement';

CREATE FUNCTION backfill.unschedule(pipeline text) RETURNS text
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	home CONSTANT text := backfill._cron_database();
	job CONSTANT text := 'backfill: ' || pipeline;
	statement text;
	jobs bigint;
BEGIN
	IF home <> current_database() THEN
		statement := format('SELECT cron.unschedule(%L)', format('%s (%s)', job, current_database()));
		RAISE NOTICE 'pg_cron lives in database "%"; run this there: %', home, statement;
		RETURN statement;
	END IF;
	statement := format('SELECT cron.unschedule(%L)', job);
	-- Nothing to take away is not an error.
	EXECUTE 'SELECT count(*) FROM cron.job WHERE jobname = $1 AND username = current_user' INTO jobs USING job;
	IF jobs > 0 THEN
		EXECUTE statement;
	END IF;
	RETURN statement;
END $$;
COMMENT ON FUNCTION backfill.unschedule(text) IS 'removes the pg_cron job of schedule(), if there is one; returns the statement that does';
