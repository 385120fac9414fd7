
-- Running.

CREATE PROCEDURE backfill.run(pipeline text, INOUT run_id bigint DEFAULT NULL, INOUT tally text DEFAULT NULL)
	LANGUAGE c AS 'MODULE_PATHNAME', 'pg_backfill_run';
COMMENT ON PROCEDURE backfill.run(text, bigint, text) IS
	'runs a pipeline now, in this session, committing as it goes; returns the run''s id and tally; an overlapping run leaves busy items alone';

CREATE FUNCTION backfill._run_context(item_key text DEFAULT NULL, OUT run_id bigint, OUT pipeline_id integer, OUT mode text, OUT deliver boolean,
	OUT run_time timestamptz, OUT window_from timestamptz, OUT window_to timestamptz, OUT item text, OUT item_time timestamptz) RETURNS record
	LANGUAGE c AS 'MODULE_PATHNAME', 'pg_backfill__run_context';
COMMENT ON FUNCTION backfill._run_context(text) IS 'the run and the item that this session works on at this moment; nulls outside a run';

CREATE FUNCTION backfill.mode() RETURNS text
	LANGUAGE c STABLE AS 'MODULE_PATHNAME', 'pg_backfill_mode';
COMMENT ON FUNCTION backfill.mode() IS 'live, replay or rehearsal inside a run, null outside';

CREATE FUNCTION backfill.is_replay() RETURNS boolean
	LANGUAGE c STABLE AS 'MODULE_PATHNAME', 'pg_backfill_is_replay';
COMMENT ON FUNCTION backfill.is_replay() IS 'whether this session works on a replay at this moment; false outside a run';

CREATE FUNCTION backfill.run_time() RETURNS timestamptz
	LANGUAGE c STABLE AS 'MODULE_PATHNAME', 'pg_backfill_run_time';
COMMENT ON FUNCTION backfill.run_time() IS 'the frozen time of the run; the transaction''s start outside a run';

CREATE FUNCTION backfill.run_window(OUT window_from timestamptz, OUT window_to timestamptz) RETURNS record
	LANGUAGE c STABLE AS 'MODULE_PATHNAME', 'pg_backfill_run_window';
COMMENT ON FUNCTION backfill.run_window() IS 'the window of the run, from inclusive, to exclusive; nulls outside a run';
