
-- Claiming: what a worker does to send. A claim must be committed before a byte leaves; it has then counted an attempt
-- and frozen the content. Only the token of the current claim may say what became of a delivery.
--
-- A claim whose lease has passed is a delivery of which nobody knows whether it left. With when_unknown => 'hold' it
-- becomes unknown and waits for a person; with 'retry', for receivers that drop duplicates by receiver_key, it is
-- recorded as unknown and sent again, as long as its age and its attempts allow. A worker on a channel that holds
-- should therefore claim no more than it can bear to lose.

CREATE FUNCTION backfill._longest_lease() RETURNS interval
	LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN interval '24 hours';
COMMENT ON FUNCTION backfill._longest_lease() IS 'how long a claim may be silent at most';

-- A lease that reaches an hour further than any is given was given by a clock that has been put back since, and not by
-- seconds. Inlined, so that it costs a claim nothing.
CREATE FUNCTION backfill._claim_has_lapsed(lease_until timestamptz, moment timestamptz) RETURNS boolean
	LANGUAGE sql STABLE PARALLEL SAFE
	RETURN lease_until <= moment OR lease_until > moment + interval '25 hours';
COMMENT ON FUNCTION backfill._claim_has_lapsed(timestamptz, timestamptz) IS 'whether the holder of a claim counts as gone; null: there is no claim';

CREATE FUNCTION backfill.claim_deliveries(
	channel text, "limit" integer DEFAULT 100, lease interval DEFAULT '5 minutes', after bigint DEFAULT 0,
	when_unknown text DEFAULT 'hold', max_attempts integer DEFAULT 10, bound_to text DEFAULT NULL)
	RETURNS TABLE (message_id bigint, token bigint, lease_until timestamptz, attempt integer, receiver_key uuid,
		recipient text, message_type text, window_from timestamptz, window_to timestamptz, generation integer, payload jsonb,
		pipeline text, deliver_until timestamptz)
	LANGUAGE plpgsql SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	-- Plans are kept while the table is empty and used when it is not.
	SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
	moment timestamptz := backfill._clock();
	claim  bigint := nextval('backfill.claim_token');
	low    bigint := after;
	taken  bigint[] := '{}';
	seen   integer;
	wanted integer;
	page   record;
BEGIN
	IF "limit" IS NULL OR "limit" NOT BETWEEN 1 AND 10000 OR max_attempts IS NULL OR max_attempts NOT BETWEEN 1 AND 100
		OR lease IS NULL OR lease <= '0' OR lease > backfill._longest_lease() OR after IS NULL
		OR when_unknown IS NULL OR when_unknown NOT IN ('hold', 'retry')
	THEN
		RAISE EXCEPTION 'deliveries cannot be claimed this way'
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'limit is 1 to 10000, lease up to a day, max_attempts 1 to 100, when_unknown hold or retry.';
	END IF;
	IF bound_to <> backfill.database_identity() THEN
		RAISE EXCEPTION 'this is not the database the worker is bound to'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'A copy of a database must not send what the original has sent. If this is now the one to deliver from, run pg_backfill bind.';
	END IF;
	-- A claim that a crash of the server takes back would not have counted what was sent.
	IF current_setting('synchronous_commit') = 'off' THEN
		PERFORM set_config('synchronous_commit', 'local', true);
	END IF;

	LOOP
		wanted := "limit" - cardinality(taken);
		SELECT count(*) AS seen, max(p.message_id) AS last,
			array_agg(p.message_id) FILTER (WHERE p.verdict = 'claimed') AS claimed,
			array_agg(p.message_id) FILTER (WHERE p.verdict <> 'claimed') AS ended,
			array_agg(p.verdict) FILTER (WHERE p.verdict <> 'claimed') AS verdicts,
			array_agg(p.message_id) FILTER (WHERE p.verdict = 'claimed' AND p.abandoned) AS retried
		INTO page
		FROM (
			SELECT u.message_id, u.token IS NOT NULL AS abandoned,
				CASE
					WHEN u.token IS NOT NULL AND (when_unknown = 'hold' OR u.deliver_until < moment OR u.attempts >= max_attempts) THEN 'unknown'
					WHEN u.deliver_until < moment THEN 'expired'
					WHEN u.attempts >= max_attempts THEN 'dead'
					ELSE 'claimed'
				END AS verdict
			FROM backfill.undelivered u
			WHERE u.channel = claim_deliveries.channel AND u.message_id > low AND u.not_before <= moment
				AND (u.lease_until IS NULL OR backfill._claim_has_lapsed(u.lease_until, moment))
			ORDER BY u.message_id LIMIT wanted
			FOR UPDATE SKIP LOCKED) p;

		IF page.ended IS NOT NULL THEN
			PERFORM backfill._end_deliveries(page.ended, page.verdicts, moment);
		END IF;
		IF page.retried IS NOT NULL THEN
			INSERT INTO backfill.delivery (message_id, at, state, reason, attempt)
			SELECT u.message_id, moment, 'unknown', 'lease_expired', u.attempts
			FROM backfill.undelivered u WHERE u.message_id = ANY (page.retried);
		END IF;
		taken := taken || coalesce(page.claimed, '{}');
		low := page.last;
		EXIT WHEN page.seen < wanted OR cardinality(taken) = "limit";
	END LOOP;

	RETURN QUERY
	UPDATE backfill.undelivered u
	SET token = claim, lease_until = moment + lease, attempts = u.attempts + 1
	FROM unnest(taken) t (id) JOIN backfill.message m ON m.message_id = t.id
	WHERE u.message_id = t.id
	RETURNING u.message_id, claim, u.lease_until, u.attempts::integer, m.receiver_key,
		m.recipient, m.message_type, m.window_from, m.window_to, m.generation, m.payload, m.pipeline, u.deliver_until;
END
$$;
COMMENT ON FUNCTION backfill.claim_deliveries(text, integer, interval, bigint, text, integer, text) IS 'leases up to limit messages of a channel to the caller; commit before sending. bound_to: the database_identity() the caller may deliver for; any other is refused. after: highest id of the last claim, so that what is gone is not read again; 0 every few seconds, since retries, lapsed leases and late commits lie below';

CREATE FUNCTION backfill._end_deliveries(messages bigint[], verdicts text[], moment timestamptz) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	WITH ended AS (
		DELETE FROM backfill.undelivered u USING unnest(messages, verdicts) v (message_id, state)
		WHERE u.message_id = v.message_id
		RETURNING u.message_id, u.attempts, v.state)
	INSERT INTO backfill.delivery (message_id, at, state, reason, attempt)
	SELECT e.message_id, moment, e.state,
		CASE e.state WHEN 'unknown' THEN 'lease_expired' WHEN 'expired' THEN 'too_old' ELSE 'attempts_exhausted' END, e.attempts
	FROM ended e;
END
$$;
COMMENT ON FUNCTION backfill._end_deliveries(bigint[], text[], timestamptz) IS 'ends deliveries that a claim found too old, exhausted or abandoned';

-- Words about a claim. Each takes the messages of one claim and answers those it refused, because the claim has passed
-- to somebody else or has ended: the caller logs them and must not act on them.

CREATE FUNCTION backfill._refuse_words(messages bigint[], accepted bigint[], word text) RETURNS SETOF bigint
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	refused bigint;
BEGIN
	FOR refused IN SELECT DISTINCT m.id FROM unnest(messages) m (id) WHERE m.id <> ALL (accepted) ORDER BY 1 LOOP
		RAISE LOG 'refused "%" for message %: not the holder of its claim', word, refused;
		-- What a late worker knows is of use to the person who decides.
		IF backfill._delivery_state(refused) = 'unknown' THEN
			INSERT INTO backfill.delivery (message_id, at, state, reason, attempt)
			SELECT refused, backfill._clock(), 'unknown', 'late_' || word, max(d.attempt) FROM backfill.delivery d WHERE d.message_id = refused;
		END IF;
		RETURN NEXT refused;
	END LOOP;
END
$$;
COMMENT ON FUNCTION backfill._refuse_words(bigint[], bigint[], text) IS 'logs and answers the messages a claim no longer holds';

CREATE FUNCTION backfill.heartbeat(messages bigint[], token bigint, lease interval DEFAULT '5 minutes') RETURNS SETOF bigint
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
AS $$
DECLARE
	accepted bigint[];
BEGIN
	IF lease IS NULL OR lease <= '0' OR lease > backfill._longest_lease() THEN
		RAISE EXCEPTION 'a claim cannot be prolonged by %', coalesce(lease::text, 'nothing')
			USING ERRCODE = 'invalid_parameter_value', HINT = 'lease is up to a day.';
	END IF;
	WITH held AS (
		UPDATE backfill.undelivered u SET lease_until = backfill._clock() + lease
		WHERE u.message_id = ANY (messages) AND u.token = heartbeat.token RETURNING u.message_id)
	SELECT coalesce(array_agg(h.message_id), '{}') INTO accepted FROM held h;
	RETURN QUERY SELECT m.id FROM unnest(messages) m (id) WHERE m.id <> ALL (accepted);
END
$$;
COMMENT ON FUNCTION backfill.heartbeat(bigint[], bigint, interval) IS 'prolongs a claim; answers the messages it no longer holds';

CREATE FUNCTION backfill._end_claim(messages bigint[], token bigint, state text, reason backfill.reason, counts boolean, word text) RETURNS SETOF bigint
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
AS $$
DECLARE
	accepted bigint[];
BEGIN
	WITH ended AS (
		DELETE FROM backfill.undelivered u WHERE u.message_id = ANY (messages) AND u.token = _end_claim.token
		RETURNING u.message_id, u.attempts),
	told AS (
		INSERT INTO backfill.delivery (message_id, at, state, reason, attempt)
		SELECT e.message_id, backfill._clock(), _end_claim.state, _end_claim.reason, CASE WHEN counts THEN e.attempts ELSE e.attempts - 1 END
		FROM ended e RETURNING message_id)
	SELECT coalesce(array_agg(t.message_id), '{}') INTO accepted FROM told t;
	IF cardinality(accepted) < cardinality(messages) THEN
		RETURN QUERY SELECT backfill._refuse_words(messages, accepted, word);
	END IF;
END
$$;
COMMENT ON FUNCTION backfill._end_claim(bigint[], bigint, text, backfill.reason, boolean, text) IS 'ends the deliveries of a claim in one state; counts: the attempt may have sent something';

CREATE FUNCTION backfill._return_claim(messages bigint[], token bigint, state text, reason backfill.reason, counts boolean, retry_at timestamptz, word text) RETURNS SETOF bigint
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
AS $$
DECLARE
	accepted bigint[];
BEGIN
	WITH returned AS (
		UPDATE backfill.undelivered u
		SET token = NULL, lease_until = NULL, not_before = retry_at, attempts = CASE WHEN counts THEN u.attempts ELSE u.attempts - 1 END
		WHERE u.message_id = ANY (messages) AND u.token = _return_claim.token
		RETURNING u.message_id, u.attempts),
	told AS (
		INSERT INTO backfill.delivery (message_id, at, state, reason, attempt)
		SELECT r.message_id, backfill._clock(), _return_claim.state, _return_claim.reason, r.attempts
		FROM returned r WHERE _return_claim.reason IS NOT NULL)
	SELECT coalesce(array_agg(r.message_id), '{}') INTO accepted FROM returned r;
	IF cardinality(accepted) < cardinality(messages) THEN
		RETURN QUERY SELECT backfill._refuse_words(messages, accepted, word);
	END IF;
END
$$;
COMMENT ON FUNCTION backfill._return_claim(bigint[], bigint, text, backfill.reason, boolean, timestamptz, text) IS 'makes the deliveries of a claim wait for another attempt';

CREATE FUNCTION backfill.mark_sent(messages bigint[], token bigint) RETURNS SETOF bigint
	LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	AS $$ SELECT backfill._end_claim(messages, token, 'sent', NULL, true, 'sent') $$;
COMMENT ON FUNCTION backfill.mark_sent(bigint[], bigint) IS 'the receiver said yes; answers the messages whose claim is not held any more';

CREATE FUNCTION backfill.mark_failed(messages bigint[], token bigint, reason text, retry_at timestamptz DEFAULT NULL, permanent boolean DEFAULT false) RETURNS SETOF bigint
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF reason IS NULL OR permanent IS NULL OR permanent = (retry_at IS NOT NULL) THEN
		RAISE EXCEPTION 'a failure needs a reason, and either retry_at or permanent'
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Give retry_at where the receiver may accept it later, permanent => true where it never will.';
	END IF;
	IF permanent THEN
		RETURN QUERY SELECT backfill._end_claim(messages, token, 'dead', reason, true, 'failed');
	ELSE
		RETURN QUERY SELECT backfill._return_claim(messages, token, 'pending', reason, true, retry_at, 'failed');
	END IF;
END
$$;
COMMENT ON FUNCTION backfill.mark_failed(bigint[], bigint, text, timestamptz, boolean) IS 'the receiver said no: for now (retry_at) or for good (permanent); answers the messages whose claim is not held any more';

CREATE FUNCTION backfill.mark_unknown(messages bigint[], token bigint, reason text, retry_at timestamptz DEFAULT NULL) RETURNS SETOF bigint
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF reason IS NULL THEN
		RAISE EXCEPTION 'an unknown delivery needs a reason'
			USING ERRCODE = 'null_value_not_allowed', HINT = 'Say what was seen last, for instance timeout.';
	END IF;
	IF retry_at IS NULL THEN
		RETURN QUERY SELECT backfill._end_claim(messages, token, 'unknown', reason, true, 'unknown');
	ELSE
		RETURN QUERY SELECT backfill._return_claim(messages, token, 'unknown', reason, true, retry_at, 'unknown');
	END IF;
END
$$;
COMMENT ON FUNCTION backfill.mark_unknown(bigint[], bigint, text, timestamptz) IS 'bytes left and no answer came: held for a person, or sent again at retry_at where the receiver drops duplicates; answers the messages whose claim is not held any more';

CREATE FUNCTION backfill.mark_inert(messages bigint[], token bigint) RETURNS SETOF bigint
	LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	AS $$ SELECT backfill._end_claim(messages, token, 'suppressed', 'inert', false, 'inert') $$;
COMMENT ON FUNCTION backfill.mark_inert(bigint[], bigint) IS 'an inert channel said what it would have sent; answers the messages whose claim is not held any more';

CREATE FUNCTION backfill.release(messages bigint[], token bigint, retry_at timestamptz DEFAULT NULL, reason text DEFAULT NULL) RETURNS SETOF bigint
	LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	AS $$ SELECT backfill._return_claim(messages, token, 'pending', reason, false, coalesce(retry_at, backfill._clock()), 'released') $$;
COMMENT ON FUNCTION backfill.release(bigint[], bigint, timestamptz, text) IS 'proved that nothing was sent: gives claim and attempt back; answers the messages whose claim is not held any more';

CREATE FUNCTION backfill.abandon_claims() RETURNS SETOF bigint
	LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
	WITH ended AS (
		DELETE FROM backfill.undelivered u WHERE u.token IS NOT NULL RETURNING u.message_id, u.attempts)
	INSERT INTO backfill.delivery (message_id, at, state, reason, attempt)
	SELECT e.message_id, backfill._clock(), 'unknown', 'abandoned', e.attempts FROM ended e ORDER BY e.message_id
	RETURNING message_id
$$;
COMMENT ON FUNCTION backfill.abandon_claims() IS 'every claim becomes unknown: for a database that was restored, copied or failed over; answers the messages';
