
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
