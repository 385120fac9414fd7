
-- Definitions.

CREATE FUNCTION backfill._lowest_rate() RETURNS double precision
	LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 0.00001;
COMMENT ON FUNCTION backfill._lowest_rate() IS 'items a second: about one a day; slower is not running';

CREATE TABLE backfill.pipeline (
	pipeline_id      integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name             text NOT NULL UNIQUE CHECK (name ~ '^[a-z][a-z0-9_]{0,62}$'),
	owner            name NOT NULL,
	candidates       text NOT NULL,
	key_type         text NOT NULL,
	search_path      text NOT NULL,
	lookback         interval NOT NULL DEFAULT '24 hours',
	slot             text NOT NULL DEFAULT 'day' CHECK (slot IN ('hour', 'day', 'week', 'month')),
	timezone         text NOT NULL DEFAULT 'UTC',
	delivery_max_age interval,
	max_catchup      interval NOT NULL DEFAULT '7 days',
	catch_up         text NOT NULL DEFAULT 'coalesce' CHECK (catch_up IN ('coalesce', 'each')),
	clock_skew       interval NOT NULL DEFAULT '1 minute',
	rate             double precision CHECK (rate >= backfill._lowest_rate()),
	-- No foreign key: pg_dump warns of a table that refers to itself. _upstream and _drop_pipeline see to it.
	after            integer,
	summary_to       text,
	enabled          boolean NOT NULL DEFAULT true,
	watermark        timestamptz,
	created_at       timestamptz NOT NULL DEFAULT now(),
	CHECK (after <> pipeline_id)
);
COMMENT ON TABLE backfill.pipeline IS 'a named definition: candidate query, ordered steps, windows and delivery';
COMMENT ON COLUMN backfill.pipeline.owner IS 'role whose rights the pipeline''s commands have';
COMMENT ON COLUMN backfill.pipeline.candidates IS 'query of (key [, item time]), given $1 scan_from and $2 scan_to';
COMMENT ON COLUMN backfill.pipeline.search_path IS 'search path the commands were registered under and run with';
COMMENT ON COLUMN backfill.pipeline.lookback IS 'the least that a live run scans';
COMMENT ON COLUMN backfill.pipeline.slot IS 'calendar unit of the windows';
COMMENT ON COLUMN backfill.pipeline.delivery_max_age IS 'how long after its window''s end a message may still be sent; null: one slot';
COMMENT ON COLUMN backfill.pipeline.max_catchup IS 'the most that a live run scans';
COMMENT ON COLUMN backfill.pipeline.catch_up IS 'what is missed is done by one wider run (coalesce), or by a run for each missed slot, oldest first (each)';
COMMENT ON COLUMN backfill.pipeline.clock_skew IS 'how far the clocks that stamp rows may be behind the server''s; live runs overlap by so much';
COMMENT ON COLUMN backfill.pipeline.rate IS 'items a second that its runs work on, unless set_rate says otherwise; null: as fast as they can';
COMMENT ON COLUMN backfill.pipeline.after IS 'upstream pipeline whose live changes request a run of this one';
COMMENT ON COLUMN backfill.pipeline.summary_to IS 'recipient, such as slack:ops, of a summary of each live run that changed something or newly failed; null: nobody';
COMMENT ON COLUMN backfill.pipeline.watermark IS 'where the next live run may safely start to scan; moves only when a run has succeeded';

CREATE TABLE backfill.step (
	step_id     integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	pipeline_id integer NOT NULL REFERENCES backfill.pipeline ON DELETE CASCADE,
	name        text NOT NULL CHECK (name ~ '^[a-z][a-z0-9_]{0,62}$'),
	position    integer NOT NULL CHECK (position > 0),
	batch       boolean NOT NULL,
	check_sql   text NOT NULL,
	work_sql    text NOT NULL,
	clear_sql   text,
	UNIQUE (pipeline_id, name),
	UNIQUE (pipeline_id, position) DEFERRABLE
);
COMMENT ON TABLE backfill.step IS 'a check and a work command side by side';
COMMENT ON COLUMN backfill.step.batch IS 'true: $1 is an array of keys; false: $1 is one key';
COMMENT ON COLUMN backfill.step.check_sql IS 'batch: returns the keys that lack this step''s output; one key: returns whether the output is there';
COMMENT ON COLUMN backfill.step.work_sql IS 'makes the output';
COMMENT ON COLUMN backfill.step.clear_sql IS 'removes the output, so that a replay can make it again; null: this step is not redone';

SELECT pg_catalog.pg_extension_config_dump('backfill.pipeline', '');
SELECT pg_catalog.pg_extension_config_dump('backfill.pipeline_pipeline_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('backfill.step', '');
SELECT pg_catalog.pg_extension_config_dump('backfill.step_step_id_seq', '');
