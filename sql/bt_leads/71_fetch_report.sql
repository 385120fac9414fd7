
-- fetch_report: is there a report to work on? Reports are fetched and written by others; this step makes nothing and
-- says why the chain ends here. Done while a report of the lead's mobile is unread, usable, or failed (which is
-- normalize_report's to say); a no-hit alone is as good as none. A lead that has moved on had its report.

CREATE FUNCTION bt.fetch_report_lacking(keys bigint[]) RETURNS SETOF bigint
	LANGUAGE sql STABLE PARALLEL SAFE
	BEGIN ATOMIC
	SELECT k
	FROM unnest(keys) k
	LEFT JOIN bt.lead l ON l.id = k
		AND l.status = ANY ('{initiated,no_home_loan,options_ready}') AND l.consent IS NOT FALSE
	LEFT JOIN LATERAL (
		SELECT true AS found FROM bt.received_report r
		WHERE l.status = 'initiated' AND r.mobile = bt.mobile_number(l.mobile) AND r.reason IS DISTINCT FROM 'no_hit'
		LIMIT 1) r ON true
	WHERE l.id IS NULL OR l.status = 'initiated' AND r.found IS NULL;
	END;
COMMENT ON FUNCTION bt.fetch_report_lacking(bigint[]) IS 'leads that have no report to work on, or must not be worked on';

CREATE FUNCTION bt.fetch_report(keys bigint[]) RETURNS TABLE (key bigint, outcome backfill.outcome)
	LANGUAGE sql STABLE PARALLEL SAFE
	BEGIN ATOMIC
	SELECT k, backfill.stop(CASE
		WHEN l.id IS NULL THEN 'no_lead'
		WHEN l.status <> ALL ('{initiated,no_home_loan,options_ready}') THEN 'closed'
		WHEN l.consent IS FALSE THEN 'consent_revoked'
		WHEN bt.mobile_number(l.mobile) IS NULL THEN 'bad_mobile'
		WHEN EXISTS (SELECT FROM bt.received_report r WHERE r.mobile = bt.mobile_number(l.mobile)) THEN 'no_hit'
		ELSE 'no_report' END)
	FROM unnest(keys) k
	LEFT JOIN bt.lead l ON l.id = k;
	END;
COMMENT ON FUNCTION bt.fetch_report(bigint[]) IS 'says of each lead why its chain ends before it began: no_lead, closed, consent_revoked, bad_mobile, no_report or no_hit';
