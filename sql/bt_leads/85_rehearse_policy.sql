
-- What another policy would change, before it is the policy: decided anew from the unified reports that are there.

CREATE FUNCTION bt.rehearse_policy(change jsonb) RETURNS TABLE (lead_id bigint, status text, reason text, would_be_reason text,
	groups text[], would_be_groups text[])
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	present  bt.policy;
	proposed bt.policy;
	unknown  text;
BEGIN
	SELECT p.* INTO STRICT present FROM bt.policy p WHERE p.is_in_force;
	SELECT k INTO unknown FROM jsonb_object_keys(change) k WHERE k IN ('is_in_force', 'fingerprint') OR NOT to_jsonb(present) ? k ORDER BY k LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'the policy has no setting "%"', unknown
			USING ERRCODE = 'undefined_column', HINT = 'See \d+ bt.policy.';
	END IF;
	proposed := jsonb_populate_record(present, change);
	RETURN QUERY
		SELECT l.id, l.status, g.reason, (d.said).reason, g.keys, d.keys
		FROM bt.unified_report u
		CROSS JOIN LATERAL (SELECT bt.decide_transfer(bt._unified_reading(u), proposed) AS said OFFSET 0) s
		CROSS JOIN LATERAL (
			SELECT s.said, ARRAY(SELECT c.group_key::text FROM unnest((s.said).candidates) c ORDER BY 1) AS keys) d
		CROSS JOIN LATERAL (
			SELECT n.reason, ARRAY(SELECT x.group_key::text FROM bt.loan_group x WHERE x.mobile = u.mobile ORDER BY 1) AS keys
			FROM bt.loan_grouping n WHERE n.mobile = u.mobile) g
		JOIN bt.lead l ON bt.mobile_number(l.mobile) = u.mobile
		WHERE (g.reason, g.keys) IS DISTINCT FROM ((d.said).reason, d.keys)
		ORDER BY l.id;
END $$;
COMMENT ON FUNCTION bt.rehearse_policy(jsonb) IS
	'leads whose loan groups would differ under a changed policy, such as {"property_loan_fires": true}; reads every unified report and changes nothing. UPDATE bt.policy, and a replay with redo => ''all'', make it so';
