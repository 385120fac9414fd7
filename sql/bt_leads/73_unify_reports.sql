
-- unify_reports: one borrower has one answer, made of the best usable report of each bureau. Which that is, and what
-- identifies it, is one rule: complete before degraded, then the report's own time, its arrival, its id. So an older or
-- degraded report that arrives late changes nothing, and neither does a re-pull that says the same of the same loans.

CREATE FUNCTION bt._add_source(internal, bureau text, complete boolean, report_at timestamptz, received_at timestamptz,
	credit_report_id bigint, normalized_report_id bigint, semantic_sha256 bytea) RETURNS internal
	LANGUAGE c IMMUTABLE PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'bt_leads__add_source';
COMMENT ON FUNCTION bt._add_source(internal, text, boolean, timestamptz, timestamptz, bigint, bigint, bytea) IS 'transition of the source aggregates';
CREATE FUNCTION bt._source_fingerprint(internal) RETURNS bytea
	LANGUAGE c IMMUTABLE PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'bt_leads__source_fingerprint';
COMMENT ON FUNCTION bt._source_fingerprint(internal) IS 'end of bt.source_fingerprint()';
CREATE FUNCTION bt._source_ids(internal) RETURNS bigint[]
	LANGUAGE c IMMUTABLE PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'bt_leads__source_ids';
COMMENT ON FUNCTION bt._source_ids(internal) IS 'end of bt.source_ids()';

CREATE AGGREGATE bt.source_fingerprint(bureau text, complete boolean, report_at timestamptz, received_at timestamptz,
	credit_report_id bigint, normalized_report_id bigint, semantic_sha256 bytea) (
	SFUNC = bt._add_source, STYPE = internal, SSPACE = 512, FINALFUNC = bt._source_fingerprint, PARALLEL = SAFE);
COMMENT ON AGGREGATE bt.source_fingerprint(text, boolean, timestamptz, timestamptz, bigint, bigint, bytea) IS 'identity of what the best report of each bureau says; null without any';
CREATE AGGREGATE bt.source_ids(bureau text, complete boolean, report_at timestamptz, received_at timestamptz,
	credit_report_id bigint, normalized_report_id bigint, semantic_sha256 bytea) (
	SFUNC = bt._add_source, STYPE = internal, SSPACE = 512, FINALFUNC = bt._source_ids, PARALLEL = SAFE);
COMMENT ON AGGREGATE bt.source_ids(text, boolean, timestamptz, timestamptz, bigint, bigint, bytea) IS 'normalized reports that are the best of their bureau';

CREATE FUNCTION bt.unify_reports_lacking(keys bigint[]) RETURNS SETOF bigint
	LANGUAGE sql STABLE PARALLEL SAFE
	BEGIN ATOMIC
	SELECT k
	FROM unnest(keys) k
	LEFT JOIN bt.lead l ON l.id = k
	LEFT JOIN bt.unified_report u ON u.mobile = bt.mobile_number(l.mobile)
	WHERE (
		SELECT u.fingerprint = bt.source_fingerprint(r.bureau, r.complete, r.report_at, r.received_at, r.id, r.normalized_report_id, r.semantic_sha256)
			FILTER (WHERE r.usable)
		FROM bt.received_report r
		WHERE r.mobile = bt.mobile_number(l.mobile)) IS NOT TRUE;
	END;
COMMENT ON FUNCTION bt.unify_reports_lacking(bigint[]) IS 'leads whose unified report is not made of the best reports there are';

CREATE FUNCTION bt.unify_reports(keys bigint[]) RETURNS TABLE (key bigint, outcome backfill.outcome)
	LANGUAGE plpgsql VOLATILE
	SET search_path = pg_catalog, pg_temp
	SET plan_cache_mode = force_generic_plan
	SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
	AS $$
DECLARE
	mobiles text[];
BEGIN
	PERFORM bt._lock_mobiles(keys);
	-- Looked at again: another session may have made some while this one waited.
	mobiles := bt._mobiles(ARRAY(SELECT k FROM bt.unify_reports_lacking(keys) k));

	DELETE FROM bt.unified_loan l WHERE l.mobile = ANY (mobiles);

	WITH chosen AS (
		SELECT r.mobile,
			bt.source_fingerprint(r.bureau, r.complete, r.report_at, r.received_at, r.id, r.normalized_report_id, r.semantic_sha256)
				FILTER (WHERE r.usable) AS fingerprint,
			bt.source_ids(r.bureau, r.complete, r.report_at, r.received_at, r.id, r.normalized_report_id, r.semantic_sha256)
				FILTER (WHERE r.usable) AS sources
		FROM bt.received_report r
		WHERE r.mobile = ANY (mobiles)
		GROUP BY r.mobile
	), unified AS MATERIALIZED (
		SELECT mobile, fingerprint, sources,
			bt.unify(ARRAY(SELECT bt._reading(n) FROM bt.normalized_report n WHERE n.id = ANY (sources))) AS said
		FROM chosen
		WHERE sources IS NOT NULL
	), report AS (
		INSERT INTO bt.unified_report AS u (mobile, fingerprint, sources, reason, warnings, warning_fields, report_at, experian_score,
			cibil_score, equifax_score, crif_score)
		SELECT mobile, fingerprint, sources, (said).reason, (said).warnings, (said).warning_fields, (said).report_at,
			(said).experian_score, (said).cibil_score, (said).equifax_score, (said).crif_score
		FROM unified
		ON CONFLICT (mobile) DO UPDATE SET (fingerprint, sources, reason, warnings, warning_fields, report_at, experian_score,
			cibil_score, equifax_score, crif_score, unified_at)
			= (excluded.fingerprint, excluded.sources, excluded.reason, excluded.warnings, excluded.warning_fields, excluded.report_at,
			excluded.experian_score, excluded.cibil_score, excluded.equifax_score, excluded.crif_score, excluded.unified_at)
	)
	INSERT INTO bt.unified_loan
		SELECT unified.mobile, l.loan_id, l.bureaus, l.positions, l.provenance, l.disagreements, (l.facts).*
		FROM unified, unnest((unified.said).loans) l;
END $$;
COMMENT ON FUNCTION bt.unify_reports(bigint[]) IS 'merges the best report of each bureau into one unified report a mobile, in place of the one before';

CREATE FUNCTION bt._clear_unify_reports(keys bigint[]) RETURNS void
	LANGUAGE plpgsql VOLATILE
	SET search_path = pg_catalog, pg_temp
	SET plan_cache_mode = force_generic_plan
	SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
	AS $$
BEGIN
	PERFORM bt._lock_mobiles(keys);
	DELETE FROM bt.unified_report u WHERE u.mobile = ANY (bt._mobiles(keys));
END $$;
COMMENT ON FUNCTION bt._clear_unify_reports(bigint[]) IS 'removes the leads'' unified reports, so that they are made again';
