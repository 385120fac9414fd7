
-- The pipeline, made by whoever is to own it: creating the extension fires nothing.

CREATE FUNCTION bt.install_pipeline(
	name text DEFAULT 'bt_leads', lookback interval DEFAULT '24 hours', slot text DEFAULT 'day', timezone text DEFAULT 'Asia/Kolkata',
	delivery_max_age interval DEFAULT '24 hours', max_catchup interval DEFAULT '7 days', summary_to text DEFAULT NULL)
	RETURNS void
	LANGUAGE plpgsql
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	step text;
	clear text;
BEGIN
	PERFORM backfill.create_pipeline(
		name => name,
		candidates => 'SELECT lead_id, item_time FROM bt.candidates($1, $2)',
		key_type => 'bigint',
		lookback => lookback, slot => slot, timezone => timezone,
		delivery_max_age => delivery_max_age, max_catchup => max_catchup, summary_to => summary_to);
	FOREACH step IN ARRAY ARRAY['fetch_report', 'normalize_report', 'unify_reports', 'group_loans', 'update_web_status'] LOOP
		-- What is made from the reports can be made again. A lead's status is not taken back: making that step again only tells again.
		clear := CASE
			WHEN step IN ('normalize_report', 'unify_reports', 'group_loans') THEN format('SELECT bt._clear_%s($1)', step)
			WHEN step = 'update_web_status' THEN 'SELECT count(*) FROM unnest($1)' END;
		PERFORM backfill.add_batch_step(name, step,
			lacking => format('SELECT k FROM bt.%s_lacking($1) k', step),
			work => format('SELECT key, outcome FROM bt.%s($1)', step),
			clear => clear);
	END LOOP;
END $$;
COMMENT ON FUNCTION bt.install_pipeline(text, interval, text, text, interval, interval, text) IS 'creates the leads pipeline with its five steps; its owner is the role that calls this';

CREATE FUNCTION bt.renormalize(range_from timestamp, range_to timestamp, pipeline text DEFAULT 'bt_leads')
	RETURNS TABLE (replay_id bigint, run_id bigint, window_from timestamptz, window_to timestamptz, state text)
	LANGUAGE sql
	BEGIN ATOMIC
	SELECT r.replay_id, r.run_id, r.window_from, r.window_to, r.state FROM backfill.replay(pipeline, range_from, range_to, redo => 'all') r;
	END;
COMMENT ON FUNCTION bt.renormalize(timestamp, timestamp, text) IS 'asks for a replay that reads the reports of this range again, with the reader as it is now, and makes again what follows';
