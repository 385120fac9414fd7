
-- Running.

CREATE FUNCTION backfill._acting_owner() RETURNS oid
	LANGUAGE c STABLE AS 'MODULE_PATHNAME', 'pg_backfill__acting_owner';
COMMENT ON FUNCTION backfill._acting_owner() IS 'owner of the pipeline whose commands run in this session at this moment; null if none do';

-- Who asks, also inside our own security definer functions. A step asks for its pipeline's owner, whoever called the run.
CREATE FUNCTION backfill._caller() RETURNS name
	LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
	RETURN coalesce((SELECT r.rolname FROM pg_roles r WHERE r.oid = backfill._acting_owner()),
		CASE current_setting('role') WHEN 'none' THEN session_user ELSE current_setting('role')::name END);
COMMENT ON FUNCTION backfill._caller() IS 'the role that asks, also inside security definer functions';

CREATE FUNCTION backfill._is_member(role name) RETURNS boolean
	LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
	RETURN coalesce((SELECT pg_has_role(backfill._caller(), r.oid, 'USAGE') FROM pg_roles r WHERE r.rolname = role), false)
		OR (SELECT r.rolsuper FROM pg_roles r WHERE r.rolname = backfill._caller());
COMMENT ON FUNCTION backfill._is_member(name) IS 'whether the caller has the rights of a role that may not exist';

CREATE FUNCTION backfill._operates(owner name) RETURNS boolean
	LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	RETURN backfill._is_member(owner) OR backfill._is_member('backfill_operator');
COMMENT ON FUNCTION backfill._operates(name) IS 'whether the caller may operate the pipelines of an owner, and see what their errors say, which may quote data';

CREATE FUNCTION backfill._readable_error(owner name, sqlstate text, message text) RETURNS text
	LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
	RETURN CASE WHEN backfill._operates(owner) THEN message ELSE 'SQLSTATE ' || sqlstate END;
COMMENT ON FUNCTION backfill._readable_error(name, text, text) IS 'as much of an error of an owner''s pipeline as the caller may read';

CREATE FUNCTION backfill._require_operator(pipeline_id integer) RETURNS void
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	p backfill.pipeline;
BEGIN
	SELECT q.* INTO STRICT p FROM backfill.pipeline q WHERE q.pipeline_id = _require_operator.pipeline_id;
	IF NOT backfill._operates(p.owner) THEN
		RAISE EXCEPTION 'permission denied for pipeline "%"', p.name
			USING ERRCODE = 'insufficient_privilege', HINT = 'Be its owner or a member of backfill_operator.';
	END IF;
END $$;
COMMENT ON FUNCTION backfill._require_operator(integer) IS 'refuses callers who may neither operate pipelines nor have the owner''s rights';

CREATE PROCEDURE backfill.run(pipeline text, INOUT run_id bigint DEFAULT NULL, INOUT tally text DEFAULT NULL)
	LANGUAGE c AS 'MODULE_PATHNAME', 'pg_backfill_run';
COMMENT ON PROCEDURE backfill.run(text, bigint, text) IS
	'runs a pipeline now, in this session, committing as it goes; returns the run''s id and tally; beside another run it leaves alone what that one works on';

CREATE PROCEDURE backfill._run_requested(pipeline text, run_id bigint, INOUT tally text DEFAULT NULL)
	LANGUAGE c AS 'MODULE_PATHNAME', 'pg_backfill__run_requested';
COMMENT ON PROCEDURE backfill._run_requested(text, bigint, text) IS 'drives one requested run in this session; null if somebody else was faster';

CREATE PROCEDURE backfill._require_own_transactions(procedure text)
	LANGUAGE c AS 'MODULE_PATHNAME', 'pg_backfill__require_own_transactions';
COMMENT ON PROCEDURE backfill._require_own_transactions(text) IS 'refuses to be called where its caller may not commit';

CREATE FUNCTION backfill._next_requested(pipeline text) RETURNS bigint
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	wanted integer := (backfill._pipeline(pipeline)).pipeline_id;
BEGIN
	PERFORM backfill._require_operator(wanted);
	PERFORM backfill._free_crashed_runs(wanted, true);
	RETURN (SELECT r.run_id FROM backfill.run r
		WHERE r.pipeline_id = wanted AND r.state = 'requested' AND (r.mode = 'replay' OR NOT backfill._is_live_going(wanted))
		ORDER BY r.mode = 'replay', r.replay_id, r.window_from, r.run_id LIMIT 1);
END $$;
COMMENT ON FUNCTION backfill._next_requested(text) IS 'the run to drive next: live ones first, one at a time, then replays, oldest slot first';

-- It commits, so it cannot set a search path of its own; every name is qualified.
CREATE PROCEDURE backfill.run_requested(pipeline text, INOUT runs bigint DEFAULT 0)
	LANGUAGE plpgsql
AS $$
DECLARE
	next_run bigint;
	tally text;
BEGIN
	runs := 0;
	CALL backfill._require_own_transactions('backfill.run_requested');
	LOOP
		next_run := backfill._next_requested(pipeline);
		EXIT WHEN next_run IS NULL;
		COMMIT;
		CALL backfill._run_requested(pipeline, next_run, tally);
		-- Null: somebody else was faster.
		runs := runs OPERATOR(pg_catalog.+) (tally IS NOT NULL)::pg_catalog.int4;
	END LOOP;
END $$;
COMMENT ON PROCEDURE backfill.run_requested(text, bigint) IS
	'drives the requested runs of a pipeline in this session, live ones first, then replays slot by slot, until none waits; returns how many';

CREATE FUNCTION backfill.request_run(pipeline text) RETURNS bigint
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	p backfill.pipeline := backfill._pipeline(pipeline);
	r backfill.run;
BEGIN
	PERFORM backfill._require_operator(p.pipeline_id);
	IF NOT p.enabled THEN
		RAISE EXCEPTION 'pipeline "%" is disabled', pipeline
			USING ERRCODE = 'object_not_in_prerequisite_state', HINT = format('Enable it with SELECT backfill.enable_pipeline(%L).', pipeline);
	END IF;
	PERFORM backfill._free_crashed_runs(p.pipeline_id, true);
	LOOP
		SELECT q.* INTO r FROM backfill.run q WHERE q.pipeline_id = p.pipeline_id AND q.mode = 'live' AND q.state = 'requested' AND q.started_at IS NULL;
		EXIT WHEN FOUND;
		r := backfill._new_live_run(p.pipeline_id, backfill._caller(), false);
		EXIT WHEN r.run_id IS NOT NULL;
	END LOOP;
	PERFORM pg_notify('backfill_request', pipeline);
	RETURN r.run_id;
END $$;
COMMENT ON FUNCTION backfill.request_run(text) IS 'asks for a live run, in milliseconds; returns its id, or that of the one that waits already; it starts when no other live run goes on';

CREATE FUNCTION backfill._change_run(run_id bigint, wanted text) RETURNS text
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	r backfill.run;
BEGIN
	SELECT q.* INTO r FROM backfill.run q WHERE q.run_id = _change_run.run_id FOR UPDATE;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'run % does not exist', run_id
			USING ERRCODE = 'undefined_object', HINT = 'See SELECT * FROM backfill.run_history.';
	END IF;
	PERFORM backfill._require_operator(r.pipeline_id);
	-- Of the live runs that never began only one may wait.
	IF wanted = 'requested' AND r.state = 'paused' AND r.mode = 'live' AND r.started_at IS NULL THEN
		PERFORM FROM backfill.run q
		WHERE q.pipeline_id = r.pipeline_id AND q.mode = 'live' AND q.state = 'requested' AND q.started_at IS NULL;
		IF FOUND THEN
			RAISE EXCEPTION 'another run of the pipeline waits already'
				USING ERRCODE = 'object_not_in_prerequisite_state', HINT = format('It does the same: end this one with SELECT backfill.cancel_run(%s).', run_id);
		END IF;
	END IF;
	IF r.state NOT IN ('requested', 'running', 'paused') OR (wanted = 'requested' AND r.state <> 'paused') THEN
		RAISE EXCEPTION 'run % %', run_id, backfill._run_did(r.state)
			USING ERRCODE = 'object_not_in_prerequisite_state', HINT = CASE wanted
				WHEN 'requested' THEN 'Only a paused run can be resumed.'
				ELSE 'Only a run that waits, runs or is paused can be changed.' END;
	END IF;
	UPDATE backfill.run q
	SET state = wanted, lease_until = NULL, finished_at = CASE wanted WHEN 'cancelled' THEN backfill._clock() END
	WHERE q.run_id = r.run_id;
	IF wanted = 'requested' THEN
		PERFORM pg_notify('backfill_request', (SELECT p.name FROM backfill.pipeline p WHERE p.pipeline_id = r.pipeline_id));
	END IF;
	RETURN r.state;
END $$;
COMMENT ON FUNCTION backfill._change_run(bigint, text) IS 'for pause_run, resume_run and cancel_run; returns the state before';

-- What the other slots changed is told all the same. After all locks on runs: who ends one has that before the replay's.
CREATE FUNCTION backfill._tell_of_cancelled(replay_id bigint) RETURNS void
	LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$
	SELECT backfill._tell_downstream(r)
	FROM (SELECT q.* FROM backfill.run q WHERE q.replay_id = _tell_of_cancelled.replay_id ORDER BY q.run_id DESC LIMIT 1) r
$$;
COMMENT ON FUNCTION backfill._tell_of_cancelled(bigint) IS 'starts what comes after a replay, if what was cancelled is the last that was left of it';

CREATE FUNCTION backfill.pause_run(run_id bigint) RETURNS void
	LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	AS $$ SELECT backfill._change_run(run_id, 'paused') $$;
COMMENT ON FUNCTION backfill.pause_run(bigint) IS 'stops a run; the batch it is at is rolled back, and resume_run lets it go on from there';

CREATE FUNCTION backfill.resume_run(run_id bigint) RETURNS void
	LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	AS $$ SELECT backfill._change_run(run_id, 'requested') $$;
COMMENT ON FUNCTION backfill.resume_run(bigint) IS 'makes a paused run wait for a session again: backfill.run_requested, or a worker';

CREATE FUNCTION backfill.cancel_run(run_id bigint) RETURNS void
	LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
	SELECT backfill._change_run(run_id, 'cancelled');
	SELECT backfill._tell_of_cancelled(r.replay_id) FROM backfill.run r WHERE r.run_id = cancel_run.run_id;
$$;
COMMENT ON FUNCTION backfill.cancel_run(bigint) IS 'ends a run; the batch it is at is rolled back, what was done before stays';

CREATE FUNCTION backfill._run_context(item_key text DEFAULT NULL, OUT run_id bigint, OUT pipeline_id integer, OUT mode text, OUT deliver boolean,
	OUT run_time timestamptz, OUT window_from timestamptz, OUT window_to timestamptz, OUT item text, OUT item_time timestamptz) RETURNS record
	LANGUAGE c AS 'MODULE_PATHNAME', 'pg_backfill__run_context';
COMMENT ON FUNCTION backfill._run_context(text) IS
	'the run and the item that this session works on at this moment; a rehearsal answers as the run it rehearses; nulls outside a run';

CREATE FUNCTION backfill.mode() RETURNS text
	LANGUAGE c STABLE AS 'MODULE_PATHNAME', 'pg_backfill_mode';
COMMENT ON FUNCTION backfill.mode() IS 'live, replay or rehearsal inside a run, null outside';

CREATE FUNCTION backfill.is_replay() RETURNS boolean
	LANGUAGE c STABLE AS 'MODULE_PATHNAME', 'pg_backfill_is_replay';
COMMENT ON FUNCTION backfill.is_replay() IS 'whether this session works on a replay, or rehearses one; false outside a run';

CREATE FUNCTION backfill.run_time() RETURNS timestamptz
	LANGUAGE c STABLE AS 'MODULE_PATHNAME', 'pg_backfill_run_time';
COMMENT ON FUNCTION backfill.run_time() IS 'the frozen time of the run; the transaction''s start outside a run';

CREATE FUNCTION backfill.run_window(OUT window_from timestamptz, OUT window_to timestamptz) RETURNS record
	LANGUAGE c STABLE AS 'MODULE_PATHNAME', 'pg_backfill_run_window';
COMMENT ON FUNCTION backfill.run_window() IS 'the window of the run, from inclusive, to exclusive; nulls outside a run';
