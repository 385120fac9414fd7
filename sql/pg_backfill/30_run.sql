
-- Runs: one pass of a pipeline over one window. For people; no decision to skip reads these tables.

CREATE TABLE backfill.run (
	run_id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	pipeline_id  integer NOT NULL REFERENCES backfill.pipeline ON DELETE CASCADE,
	mode         text NOT NULL CHECK (mode IN ('live', 'replay', 'rehearsal')),
	state        text NOT NULL CHECK (state IN ('requested', 'running', 'paused', 'succeeded', 'failed', 'broken', 'cancelled', 'crashed')),
	window_from  timestamptz NOT NULL,
	window_to    timestamptz NOT NULL,
	scan_from    timestamptz NOT NULL,
	scan_to      timestamptz NOT NULL,
	run_time     timestamptz NOT NULL,
	deliver      boolean NOT NULL DEFAULT false,
	redo         text NOT NULL DEFAULT 'lacking' CHECK (redo IN ('lacking', 'all')),
	requested_by name NOT NULL,
	requested_at timestamptz NOT NULL,
	started_at   timestamptz,
	finished_at  timestamptz,
	lease_token  bigint NOT NULL DEFAULT 0,
	lease_until  timestamptz,
	candidates   bigint NOT NULL DEFAULT 0,
	changed      bigint NOT NULL DEFAULT 0,
	unchanged    bigint NOT NULL DEFAULT 0,
	skipped      bigint NOT NULL DEFAULT 0,
	failed       bigint NOT NULL DEFAULT 0,
	sqlstate     text,
	error        text,
	CHECK (window_from < window_to),
	CHECK (scan_from <= scan_to),
	CHECK (candidates >= changed + unchanged + skipped + failed)
);
CREATE INDEX run_pipeline ON backfill.run (pipeline_id, run_id DESC);
COMMENT ON TABLE backfill.run IS 'one pass of a pipeline over one window, with its tally';
COMMENT ON COLUMN backfill.run.run_time IS 'the run''s frozen time; nothing in a step reads the wall clock';
COMMENT ON COLUMN backfill.run.changed IS 'items of which some output was lacking before and is there after';
COMMENT ON COLUMN backfill.run.skipped IS 'items that changed nothing and whose chain was cut short: stopped, or busy in another run';
COMMENT ON COLUMN backfill.run.lease_token IS 'grows with every holder; only the current holder may write the run';

CREATE TABLE backfill.step_count (
	run_id bigint NOT NULL REFERENCES backfill.run ON DELETE CASCADE,
	step   text NOT NULL,
	status text NOT NULL CHECK (status IN ('ok', 'skipped', 'failed')),
	reason text NOT NULL,
	items  bigint NOT NULL CHECK (items > 0),
	PRIMARY KEY (run_id, step, status, reason)
);
COMMENT ON TABLE backfill.step_count IS 'items per step, status and reason of a run';
COMMENT ON COLUMN backfill.step_count.reason IS 'empty where none was given';

CREATE TABLE backfill.step_event (
	step_event_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	run_id   bigint NOT NULL REFERENCES backfill.run ON DELETE CASCADE,
	item     text NOT NULL,
	step     text NOT NULL,
	status   text NOT NULL CHECK (status IN ('ok', 'skipped', 'failed')),
	reason   text NOT NULL,
	sqlstate text,
	message  text,
	at       timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX step_event_run ON backfill.step_event (run_id, step_event_id);
COMMENT ON TABLE backfill.step_event IS 'what a run changed or failed, item by item, in the order it was decided';
COMMENT ON COLUMN backfill.step_event.message IS 'primary text of the SQL error, at most 500 characters';

SELECT pg_catalog.pg_extension_config_dump('backfill.run', '');
SELECT pg_catalog.pg_extension_config_dump('backfill.run_run_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('backfill.step_count', '');
SELECT pg_catalog.pg_extension_config_dump('backfill.step_event', '');
SELECT pg_catalog.pg_extension_config_dump('backfill.step_event_step_event_id_seq', '');
