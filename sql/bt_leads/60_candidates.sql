
-- Which leads a run looks at. The cost follows what arrived in the range: each branch starts from an index on arrival
-- and goes to leads by index. OFFSET 0 and the settings keep the planner from starting at all the stuck leads, whatever
-- it believes of a table that was empty when the plan was made.

CREATE FUNCTION bt.candidates(scan_from timestamptz, scan_to timestamptz)
	RETURNS TABLE (lead_id bigint, item_time timestamptz)
	LANGUAGE plpgsql STABLE STRICT
	SET search_path = pg_catalog, pg_temp
	SET plan_cache_mode = force_generic_plan
	SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
	AS $$
BEGIN
	IF backfill.is_replay() THEN
		RETURN QUERY
			WITH arrived AS MATERIALIZED (
				SELECT bt.mobile_number(r.mobile) AS mobile, max(r.received_at) AS at
				FROM bt.credit_report r
				WHERE r.received_at >= scan_from AND r.received_at < scan_to
				GROUP BY 1)
			SELECT l.id, a.at
			FROM arrived a
			CROSS JOIN LATERAL (SELECT q.id FROM bt.lead q WHERE bt.mobile_number(q.mobile) = a.mobile OFFSET 0) l;
	ELSE
		RETURN QUERY
			WITH arrived AS MATERIALIZED (
				SELECT bt.mobile_number(r.mobile) AS mobile, max(r.received_at) AS at
				FROM bt.credit_report r
				WHERE r.received_at >= scan_from AND r.received_at < scan_to
				GROUP BY 1)
			SELECT c.id, max(c.at)
			FROM (
				SELECT l.id, a.at
				FROM arrived a
				CROSS JOIN LATERAL (
					SELECT q.id FROM bt.lead q
					WHERE bt.mobile_number(q.mobile) = a.mobile AND q.status IN ('initiated', 'no_home_loan') OFFSET 0) l
				UNION ALL
				-- Its report may lie outside the range, before the lead itself: then nothing else would ever find it.
				SELECT l.id, l.status_changed_at FROM bt.lead l
				WHERE l.status = 'initiated' AND l.status_changed_at >= scan_from AND l.status_changed_at < scan_to
			) c
			GROUP BY c.id;
	END IF;
END $$;
COMMENT ON FUNCTION bt.candidates(timestamptz, timestamptz) IS 'leads that can still move and whose report arrived in the range, or that became initiated in it; in a replay all leads whose report arrived in the range. The item''s time is the newest of these';
