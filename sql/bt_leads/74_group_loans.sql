
-- group_loans: the unified report's loans are grouped by lender, and a group with an active home loan of the borrower's
-- own is a balance transfer. Nothing to transfer is an answer too, recorded with its reason, and the chain goes on.

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
COMMENT ON FUNCTION bt.group_loans_lacking(bigint[]) IS 'leads whose loans were not grouped, or not as their unified report and the policy are now';

CREATE FUNCTION bt.group_loans(keys bigint[]) RETURNS TABLE (key bigint, outcome backfill.outcome)
	LANGUAGE plpgsql VOLATILE
	SET search_path = pg_catalog, pg_temp
	SET plan_cache_mode = force_generic_plan
	SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
	AS $$
DECLARE
	mobiles text[];
BEGIN
	PERFORM bt._lock_mobiles(keys);
	mobiles := bt._mobiles(ARRAY(SELECT k FROM bt.group_loans_lacking(keys) k));

	DELETE FROM bt.loan_group g WHERE g.mobile = ANY (mobiles);

	WITH decided AS MATERIALIZED (
		SELECT u.mobile, u.fingerprint, p.fingerprint AS policy_fingerprint, bt.decide_transfer(bt._unified_reading(u), p) AS said
		FROM bt.unified_report u, bt.policy p
		WHERE u.mobile = ANY (mobiles) AND p.is_in_force
	), candidate AS (
		SELECT decided.mobile, c.* FROM decided, unnest((decided.said).candidates) c
	), grouping AS (
		INSERT INTO bt.loan_grouping (mobile, unified_fingerprint, policy_fingerprint, reason, warnings, warning_fields)
		SELECT mobile, fingerprint, policy_fingerprint, (said).reason, (said).warnings, (said).warning_fields FROM decided
		ON CONFLICT (mobile) DO UPDATE SET (unified_fingerprint, policy_fingerprint, reason, warnings, warning_fields, grouped_at)
			= (excluded.unified_fingerprint, excluded.policy_fingerprint, excluded.reason, excluded.warnings, excluded.warning_fields,
			excluded.grouped_at)
	), loan_group AS (
		INSERT INTO bt.loan_group (mobile, group_key, lender, lender_masked, outstanding, loan_ids, roles)
		SELECT mobile, group_key, lender, lender_masked, outstanding, loan_ids, roles FROM candidate
	)
	INSERT INTO bt.balance_transfer (mobile, group_key, lender, outstanding, seasoning_months, days_past_due_3, days_past_due_6,
		days_past_due_12, score, rate, rate_inferred, tenure_left_months, emi, emi_computed, missing)
	SELECT mobile, group_key, lender, outstanding, seasoning_months, days_past_due_3, days_past_due_6, days_past_due_12, score, rate,
		rate_inferred, tenure_left_months, emi, emi_computed, missing
	FROM candidate
	ON CONFLICT (mobile, group_key) DO UPDATE SET (state, withdrawn_reason, lender, outstanding, seasoning_months, days_past_due_3,
		days_past_due_6, days_past_due_12, score, rate, rate_inferred, tenure_left_months, emi, emi_computed, missing, changed_at)
		= ('open', NULL, excluded.lender, excluded.outstanding, excluded.seasoning_months, excluded.days_past_due_3,
		excluded.days_past_due_6, excluded.days_past_due_12, excluded.score, excluded.rate, excluded.rate_inferred,
		excluded.tenure_left_months, excluded.emi, excluded.emi_computed, excluded.missing, excluded.changed_at);

	UPDATE bt.balance_transfer b
	SET state = 'withdrawn', changed_at = now(),
		withdrawn_reason = coalesce((SELECT g.reason FROM bt.loan_grouping g WHERE g.mobile = b.mobile), 'group_gone')
	WHERE b.mobile = ANY (mobiles) AND b.state = 'open'
		AND (SELECT true FROM bt.loan_group g WHERE g.mobile = b.mobile AND g.group_key = b.group_key) IS NOT TRUE;

	RETURN QUERY
		SELECT l.id, backfill.skip(g.reason)
		FROM bt.lead l
		CROSS JOIN LATERAL (
			SELECT q.reason FROM bt.loan_grouping q WHERE q.mobile = bt.mobile_number(l.mobile) AND NOT q.fires OFFSET 0) g
		WHERE l.id = ANY (keys);
END $$;
COMMENT ON FUNCTION bt.group_loans(bigint[]) IS 'groups the loans of the leads'' mobiles, fires and withdraws balance transfers';

CREATE FUNCTION bt._clear_group_loans(keys bigint[]) RETURNS void
	LANGUAGE plpgsql VOLATILE
	SET search_path = pg_catalog, pg_temp
	SET plan_cache_mode = force_generic_plan
	SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
	AS $$
BEGIN
	PERFORM bt._lock_mobiles(keys);
	DELETE FROM bt.loan_grouping g WHERE g.mobile = ANY (bt._mobiles(keys));
END $$;
COMMENT ON FUNCTION bt._clear_group_loans(bigint[]) IS 'removes the leads'' loan groups, so that they are made again; a balance transfer that fired is not forgotten';
