
-- What may be wrong around the pipelines: the installation, pg_cron and the server. A check that finds nothing says ok.

CREATE FUNCTION backfill._library_version() RETURNS text
	LANGUAGE c STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'pg_backfill__library_version';
COMMENT ON FUNCTION backfill._library_version() IS 'release of the library that this session has loaded';

CREATE FUNCTION backfill._doctor_installation() RETURNS TABLE ("check" text, status text, detail text, hint text)
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	installed text := (SELECT e.extversion FROM pg_extension e WHERE e.extname = 'pg_backfill');
BEGIN
	IF installed <> backfill._library_version() THEN
		RETURN QUERY SELECT 'version', 'fail', format('The extension is %s and its library %s.', installed, backfill._library_version()),
			CASE WHEN EXISTS (SELECT FROM pg_available_extension_versions v WHERE v.name = 'pg_backfill' AND v.version = backfill._library_version())
				THEN format('ALTER EXTENSION pg_backfill UPDATE TO %L;', backfill._library_version())
				ELSE '-- install the same release again, and open a new session' END;
	END IF;
	RETURN QUERY
	SELECT 'version', 'warn', format('Extension %s is %s, and %s is there.', a.name, a.installed_version, a.default_version), format('ALTER EXTENSION %I UPDATE;', a.name)
	FROM pg_available_extensions a
	WHERE a.name IN ('pg_backfill', 'bt_leads') AND a.installed_version <> a.default_version
		AND NOT (a.name = 'pg_backfill' AND installed <> backfill._library_version());

	RETURN QUERY
	SELECT 'roles', 'warn', format('Role %s %s.', w.role, CASE WHEN r.oid IS NULL THEN 'does not exist' ELSE 'lacks its rights in this database' END),
		'SELECT backfill.create_roles();'
	FROM (VALUES ('backfill_reader', 'SELECT', 'backfill.run'), ('backfill_operator', 'SELECT', 'backfill.message'), ('backfill_deliver', NULL, NULL),
		('backfill_worker', 'SELECT', 'backfill.channel_status')) AS w(role, privilege, relation)
	LEFT JOIN pg_roles r ON r.rolname = w.role
	WHERE r.oid IS NULL OR NOT has_any_column_privilege(r.oid, w.relation, w.privilege);
END $$;
COMMENT ON FUNCTION backfill._doctor_installation() IS 'versions and roles';

-- pg_cron may not be there: its tables are named in dynamic statements only.
CREATE FUNCTION backfill._doctor_cron() RETURNS TABLE ("check" text, status text, detail text, hint text)
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	home CONSTANT text := current_setting('cron.database_name', true);
BEGIN
	IF NOT EXISTS (SELECT FROM regexp_split_to_table(current_setting('shared_preload_libraries'), '[\s,"]+') l WHERE l = 'pg_cron') THEN
		RETURN QUERY SELECT 'pg_cron', 'warn', 'pg_cron is not loaded: runs begin when somebody calls backfill.run or asks for them.',
			format('ALTER SYSTEM SET shared_preload_libraries = %s; -- then restart the server',
				concat_ws(', ', nullif(current_setting('shared_preload_libraries'), ''), 'pg_cron'));
		RETURN;
	END IF;
	-- The launcher shows its type without its library's name being known here.
	IF NOT EXISTS (SELECT FROM pg_stat_activity a WHERE a.backend_type = 'pg_cron launcher') THEN
		RETURN QUERY SELECT 'pg_cron', 'fail', 'pg_cron is loaded and its launcher is not running.', '-- restart the server, and see its log for why';
	END IF;
	IF home <> current_database() THEN
		RETURN QUERY SELECT 'pg_cron', 'warn', format('pg_cron lives in database %s: its jobs for this one cannot be seen from here.', home),
			format('-- in database %s: SELECT cron.schedule_in_database(name, schedule, command, %L);', home, current_database());
		RETURN;
	END IF;
	IF NOT backfill._cron_is_here() THEN
		RETURN QUERY SELECT 'pg_cron', 'warn', 'pg_cron is loaded and has no tables in this database.', 'CREATE EXTENSION pg_cron;';
		RETURN;
	END IF;
	RETURN QUERY EXECUTE $job$
		SELECT 'pg_cron', 'warn', concat_ws(': ', format('Job %s is not active', j.jobid), CASE WHEN backfill._is_member(j.username::name) THEN left(j.command, 60) END), format('SELECT cron.alter_job(%s, active := true);', j.jobid)
		FROM cron.job j WHERE j.database = current_database() AND j.command ~* '\mbackfill\.' AND NOT j.active
		ORDER BY j.jobid $job$;
	-- By one role it may be on purpose.
	RETURN QUERY
	SELECT 'pg_cron', 'warn', format('Pipeline %s is scheduled by %s roles: %s.', p.name, count(DISTINCT j.username), string_agg(format('job %s of %s', j.jobid, j.username), ', ' ORDER BY j.jobid)),
		format('SELECT cron.unschedule(%s); -- as %s or a superuser', max(j.jobid), (array_agg(j.username ORDER BY j.jobid DESC))[1])
	FROM backfill.pipeline p, backfill._cron_jobs(p.name) j WHERE j.active GROUP BY p.name HAVING count(DISTINCT j.username) > 1 ORDER BY p.name;
	RETURN QUERY EXECUTE $job$
		SELECT 'pg_cron', 'fail', concat('The last run of job ', j.jobid, ' failed', ' at ' || date_trunc('second', coalesce(d.end_time, d.start_time))::text, '.'),
			CASE WHEN d.return_message = 'connection failed'
				THEN 'ALTER SYSTEM SET cron.use_background_workers = on; -- then restart the server: pg_cron could not connect to it'
				ELSE format('SELECT return_message FROM cron.job_run_details WHERE runid = %s;', d.runid) END
		FROM cron.job j CROSS JOIN LATERAL (
			SELECT r.* FROM cron.job_run_details r WHERE r.jobid = j.jobid AND r.status IN ('succeeded', 'failed') ORDER BY r.runid DESC LIMIT 1) d
		WHERE j.database = current_database() AND j.command ~* '\mbackfill\.' AND j.active AND d.status = 'failed'
		ORDER BY j.jobid $job$;
END $$;
COMMENT ON FUNCTION backfill._doctor_cron() IS 'whether pg_cron is there, works, and runs its jobs';

CREATE FUNCTION backfill._end_prepared(gid text) RETURNS text
	LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
	-- A name may go on in a next line, and a comment does not.
	RETURN format('ROLLBACK PREPARED %L; -- or COMMIT PREPARED', gid);
COMMENT ON FUNCTION backfill._end_prepared(text) IS 'the statement that ends a prepared transaction';

-- Since then a process has had other transactions, and a number other processes. A transaction is known by its process and
-- by the second it began in: it was ten minutes old when it was seen.
CREATE FUNCTION backfill._end_holder(held_by text, seen_at timestamptz) RETURNS text
	LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT h.statement
	FROM (
		SELECT 1 AS n, format('SELECT pg_terminate_backend(%s);', a.pid) AS statement
		FROM regexp_match(held_by, '^transaction of process (\d+), (?!of )(.+?) old') AS t(said) JOIN pg_stat_activity a ON a.pid = t.said[1]::integer
		WHERE date_trunc('second', seen_at - a.xact_start) = t.said[2]::interval
		UNION ALL
		SELECT 2, format('SELECT * FROM pg_stat_activity WHERE pid = %s; -- whether it is the same transaction cannot be told', a.pid)
		FROM regexp_match(held_by, 'transaction of process (\d+), of unknown age') AS t(said) JOIN pg_stat_activity a ON a.pid = t.said[1]::integer
		WHERE a.backend_start <= seen_at
		UNION ALL
		SELECT 3, backfill._end_prepared(x.gid)
		FROM pg_prepared_xacts x
		WHERE x.database = current_database() AND x.prepared <= seen_at AND position(format('prepared transaction %L of ', x.gid) IN held_by) > 0) h
	ORDER BY h.n LIMIT 1
$$;
COMMENT ON FUNCTION backfill._end_holder(text, timestamptz) IS 'the statement that ends what held a watermark back, if it is still there; null: it is not';

CREATE FUNCTION backfill._doctor_server() RETURNS TABLE ("check" text, status text, detail text, hint text)
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	old CONSTANT interval := '1 hour';
	moment CONSTANT timestamptz := backfill._clock();
BEGIN
	RETURN QUERY
	SELECT 'settings', 'fail', s.why, CASE WHEN d.mine
		THEN format('ALTER DATABASE %I RESET %s; -- then open a new session', current_database(), s.name)
		ELSE format('ALTER SYSTEM SET %s = on; SELECT pg_reload_conf();', s.name) END
	FROM (VALUES ('track_counts', 'track_counts is off: nothing is vacuumed, and backfill.prove cannot see what a step writes.'),
		('autovacuum', 'autovacuum is off: the outbox grows with each message.')) AS s(name, why)
	CROSS JOIN LATERAL (SELECT EXISTS (SELECT FROM pg_db_role_setting r, unnest(r.setconfig) c
		WHERE r.setdatabase = (SELECT b.oid FROM pg_database b WHERE b.datname = current_database()) AND c LIKE s.name || '=%') AS mine) d
	WHERE NOT current_setting(s.name)::boolean;

	-- They keep the watermark back, and dead rows from being removed.
	RETURN QUERY
	SELECT 'old_transactions', 'warn', format('Transaction %L has been prepared since %s.', x.gid, date_trunc('second', x.prepared)),
		backfill._end_prepared(x.gid)
	FROM pg_prepared_xacts x WHERE x.database = current_database() AND x.prepared < moment - old ORDER BY x.prepared, x.gid;
	RETURN QUERY
	SELECT 'old_transactions', 'warn', format('The transaction of process %s (%s) has been open since %s.', a.pid, a.usename, date_trunc('second', a.xact_start)),
		format('SELECT pg_terminate_backend(%s);', a.pid)
	FROM pg_stat_activity a
	WHERE a.datname = current_database() AND a.backend_type = 'client backend' AND a.pid <> pg_backend_pid() AND a.xact_start < moment - old
	ORDER BY a.xact_start;
	RETURN QUERY
	SELECT 'old_transactions', 'warn', format('Replication slot %s holds back the removal of dead rows and nobody uses it.', s.slot_name),
		format('SELECT pg_drop_replication_slot(%L);', s.slot_name)
	FROM pg_replication_slots s WHERE NOT s.active AND s.xmin IS NOT NULL ORDER BY s.slot_name;
END $$;
COMMENT ON FUNCTION backfill._doctor_server() IS 'settings and transactions that everything suffers from';
