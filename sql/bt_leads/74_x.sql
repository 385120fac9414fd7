CREATE TABLE bt.unified_report (
	mobile      text COLLATE "C" PRIMARY KEY,
	fingerprint bytea NOT NULL,
	pad text default repeat('x',150)
);
CREATE FUNCTION bt.unify_reports_lacking(keys bigint[]) RETURNS SETOF bigint
	LANGUAGE sql STABLE PARALLEL SAFE
	BEGIN ATOMIC
	SELECT k
	FROM unnest(keys) k
	LEFT JOIN bt.lead l ON l.id = k
	LEFT JOIN bt.unified_report u ON u.mobile = bt.mobile_number(l.mobile)
	WHERE (
		SELECT u.fingerprint = bt.source_fingerprint(r.bureau, r.complete, r.report_at, r.received_at, r.id, r.normalized_report_id, r.semantic_sha256)
		FROM bt.received_report r
		WHERE r.mobile = bt.mobile_number(l.mobile) AND r.usable) IS NOT TRUE;
	END;
CREATE TABLE bt.loan_grouping (
	mobile text COLLATE "C" PRIMARY KEY,
	unified_fingerprint bytea not null,
	policy_fingerprint bytea not null,
	reason text,
	fires boolean NOT NULL GENERATED ALWAYS AS (reason IS NULL) STORED
);
CREATE FUNCTION bt.group_loans_lacking(keys bigint[]) RETURNS SETOF bigint
	LANGUAGE sql STABLE PARALLEL SAFE
	BEGIN ATOMIC
	SELECT k
	FROM unnest(keys) k
	LEFT JOIN bt.lead l ON l.id = k
	LEFT JOIN bt.unified_report u ON u.mobile = bt.mobile_number(l.mobile)
	LEFT JOIN bt.loan_grouping g ON g.mobile = u.mobile AND g.unified_fingerprint = u.fingerprint
		AND g.policy_fingerprint = (SELECT p.fingerprint FROM bt.policy p WHERE p.is_in_force)
	WHERE g.mobile IS NULL;
	END;
