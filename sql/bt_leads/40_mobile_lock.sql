
-- What is made of one mobile's reports is made by one transaction at a time: two leads of one mobile in two sessions
-- would otherwise both do the work, and the one with the older snapshot could write last. Each step locks before it
-- looks at its inputs, in a statement of its own, so that the next statement sees what the other session committed.

CREATE FUNCTION bt._lock_mobiles(keys bigint[]) RETURNS void
	LANGUAGE plpgsql VOLATILE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	-- A rehearsal is one transaction for all leads: their locks would fill the table that all sessions share.
	IF backfill.mode() = 'rehearsal' THEN
		RETURN;
	END IF;
	PERFORM pg_advisory_xact_lock(x'6274'::bigint << 48 | m.number)
	FROM (
		SELECT DISTINCT bt.mobile_number(l.mobile)::bigint AS number
		FROM bt.lead l
		WHERE l.id = ANY (keys) AND bt.mobile_number(l.mobile) IS NOT NULL
		ORDER BY 1) m;
END $$;
COMMENT ON FUNCTION bt._lock_mobiles(bigint[]) IS 'locks the mobiles of these leads until the transaction ends, in an order in which two sessions cannot deadlock';

CREATE FUNCTION bt._mobiles(keys bigint[]) RETURNS text[]
	LANGUAGE sql STABLE PARALLEL SAFE
	BEGIN ATOMIC
	SELECT array_agg(DISTINCT bt.mobile_number(l.mobile)) FROM bt.lead l
	WHERE l.id = ANY (keys) AND bt.mobile_number(l.mobile) IS NOT NULL;
	END;
COMMENT ON FUNCTION bt._mobiles(bigint[]) IS 'mobile numbers of these leads, each once, sorted';
