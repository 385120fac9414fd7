
-- normalize_report: every report of the lead's mobile has been read, and at least one reading is usable.

CREATE FUNCTION bt.normalize_report_lacking(keys bigint[]) RETURNS SETOF bigint
	LANGUAGE sql STABLE PARALLEL SAFE
	BEGIN ATOMIC
	SELECT k
	FROM unnest(keys) k
	LEFT JOIN bt.lead l ON l.id = k
	WHERE (
		SELECT bool_and(r.read) AND bool_or(r.usable) FROM bt.received_report r
		WHERE r.mobile = bt.mobile_number(l.mobile)) IS NOT TRUE;
	END;
COMMENT ON FUNCTION bt.normalize_report_lacking(bigint[]) IS 'leads with a report that was not read, or with no usable reading';

CREATE FUNCTION bt.normalize_report(keys bigint[]) RETURNS TABLE (key bigint, outcome backfill.outcome)
	LANGUAGE plpgsql VOLATILE
	SET search_path = pg_catalog, pg_temp
	SET plan_cache_mode = force_generic_plan
	SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
	AS $$
DECLARE
	unread bigint[];
BEGIN
	PERFORM bt._lock_mobiles(keys);
	-- Of one body that was delivered several times, the first delivery.
	unread := ARRAY(
		SELECT min(r.id)
		FROM bt.received_report r
		WHERE r.mobile = ANY (bt._mobiles(keys)) AND NOT r.read
		GROUP BY r.mobile, r.sha256
		ORDER BY 1);

	-- Readings of bodies that are there no more.
	DELETE FROM bt.normalized_report n WHERE n.credit_report_id = ANY (unread);

	WITH reading AS MATERIALIZED (
		SELECT nextval('bt.normalized_report_id_seq') AS id, r.id AS credit_report_id, r.sha256, bt.read_report(r.body) AS said
		FROM bt.credit_report r WHERE r.id = ANY (unread)
	), normalized AS (
		INSERT INTO bt.normalized_report (id, credit_report_id, body_sha256, reader_version, outcome, reason, complete, bureau, report_at,
			semantic_sha256, score, loans, report_number, mobile, name, pan, warnings, warning_fields)
		SELECT id, credit_report_id, sha256, (said).reader_version, (said).outcome, (said).reason, (said).complete, (said).bureau,
			(said).report_at, (said).semantic_sha256, (said).score, (said).loans, (said).report_number, (said).mobile, (said).name,
			(said).pan, (said).warnings, (said).warning_fields
		FROM reading
	)
	INSERT INTO bt.tradeline SELECT reading.id, t.* FROM reading, unnest((reading.said).tradelines) t;

	RETURN QUERY
		SELECT k, CASE s.outcome WHEN 'failed' THEN backfill.fail(s.reason) ELSE backfill.stop(coalesce(s.reason, 'no_report')) END
		FROM unnest(keys) k
		LEFT JOIN bt.lead l ON l.id = k
		LEFT JOIN LATERAL (
			SELECT r.usable, r.outcome, r.reason FROM bt.received_report r
			WHERE r.mobile = bt.mobile_number(l.mobile)
			-- A usable reading first; then a failure, the latest, which hides what a no-hit beside it would say.
			ORDER BY r.usable DESC NULLS LAST, r.outcome = 'failed' DESC, r.received_at DESC, r.id DESC
			LIMIT 1) s ON true
		WHERE s.usable IS NOT TRUE;
END $$;
COMMENT ON FUNCTION bt.normalize_report(bigint[]) IS 'reads each unread report of the leads'' mobiles once; fails leads whose reports are all unreadable, stops those with nothing but no-hits';

CREATE FUNCTION bt._clear_normalize_report(keys bigint[]) RETURNS void
	LANGUAGE plpgsql VOLATILE
	SET search_path = pg_catalog, pg_temp
	SET plan_cache_mode = force_generic_plan
	SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
	AS $$
BEGIN
	PERFORM bt._lock_mobiles(keys);
	DELETE FROM bt.normalized_report n
	WHERE n.credit_report_id = ANY (ARRAY(SELECT r.id FROM bt.credit_report r WHERE bt.mobile_number(r.mobile) = ANY (bt._mobiles(keys))));
END $$;
COMMENT ON FUNCTION bt._clear_normalize_report(bigint[]) IS 'removes the readings of the leads'' reports, so that they are read again';
