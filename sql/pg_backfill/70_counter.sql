
-- Counters that a replay cannot inflate: one row per metric, window and key, written over and never added to.

CREATE TABLE backfill.counter (
	pipeline    text NOT NULL,
	metric      text NOT NULL CHECK (metric ~ '^[a-z][a-z0-9_]{0,62}$'),
	window_from timestamptz NOT NULL,
	window_to   timestamptz NOT NULL,
	key         text NOT NULL,
	amount      numeric NOT NULL,
	run_id      bigint NOT NULL,
	PRIMARY KEY (metric, window_from, window_to, pipeline, key)
);
COMMENT ON TABLE backfill.counter IS 'what runs counted: the amount of a key in a window, not a sum of passes';
COMMENT ON COLUMN backfill.counter.key IS 'item it was counted for; empty: the run';
SELECT pg_catalog.pg_extension_config_dump('backfill.counter', '');

CREATE FUNCTION backfill.count(metric text, key text DEFAULT NULL, amount numeric DEFAULT 1) RETURNS void
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	c record;
BEGIN
	SELECT * INTO c FROM backfill._run_context(count.key);
	IF c.run_id IS NULL THEN
		RAISE EXCEPTION 'count() was called outside a run'
			USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Call it in the work command of a step.';
	END IF;
	IF metric IS NULL OR metric !~ '^[a-z][a-z0-9_]{0,62}$' THEN
		RAISE EXCEPTION 'metric is not a name'
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Write a lower-case letter and up to 62 more letters, digits or underscores.';
	END IF;
	IF amount IS NULL OR amount = 'NaN' THEN
		RAISE EXCEPTION 'amount to count is not a number'
			USING ERRCODE = 'invalid_parameter_value', HINT = 'Skip the item where there is nothing to count.';
	END IF;
	INSERT INTO backfill.counter AS n (pipeline, metric, window_from, window_to, key, amount, run_id)
	SELECT p.name, count.metric, w.window_from, w.window_to, coalesce(c.item, ''), count.amount, c.run_id
	FROM backfill.pipeline p, backfill._message_window(c.item_time, c.window_from, c.window_to, p.slot, p.timezone) w
	WHERE p.pipeline_id = c.pipeline_id
	ON CONFLICT ON CONSTRAINT counter_pkey DO UPDATE SET amount = excluded.amount, run_id = excluded.run_id
		WHERE n.amount <> excluded.amount;
END
$$;
COMMENT ON FUNCTION backfill.count(text, text, numeric) IS 'counts an item once per metric and window of the item; counting it again overwrites';

CREATE VIEW backfill.counter_total AS
	SELECT c.pipeline, c.metric, c.window_from, c.window_to, pg_catalog.sum(c.amount) AS amount, pg_catalog.count(*) AS keys
	FROM backfill.counter c
	GROUP BY c.pipeline, c.metric, c.window_from, c.window_to;
COMMENT ON VIEW backfill.counter_total IS 'counters summed over their keys';
