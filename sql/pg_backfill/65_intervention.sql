
-- What people decide. Each keeps who, when and why.

CREATE FUNCTION backfill._intervene(message bigint, action text, reason text) RETURNS text
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	moment timestamptz := backfill._clock();
BEGIN
	IF reason IS NULL OR reason !~ '\S' OR length(reason) > 1000 THEN
		RAISE EXCEPTION 'a reason is needed'
			USING ERRCODE = 'invalid_parameter_value', HINT = 'It is kept with the message; at most 1000 characters.';
	END IF;
	PERFORM FROM backfill.message m WHERE m.message_id = message FOR NO KEY UPDATE;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'message % does not exist', message
			USING ERRCODE = 'undefined_object', HINT = 'The view backfill.outbox lists messages.';
	END IF;
	-- A claim under way is waited for; one whose lease has passed is unknown, whether or not a worker noticed.
	PERFORM FROM backfill.undelivered u WHERE u.message_id = message FOR UPDATE;
	IF EXISTS (SELECT FROM backfill.undelivered u WHERE u.message_id = message AND backfill._claim_has_lapsed(u.lease_until, moment)) THEN
		PERFORM backfill._end_deliveries(ARRAY[message], ARRAY['unknown'], moment);
	END IF;
	INSERT INTO backfill.intervention (message_id, action, reason, by, at)
	VALUES (message, _intervene.action, _intervene.reason, coalesce(nullif(current_setting('role'), 'none'), session_user), moment);
	RETURN backfill._delivery_state(message);
END
$$;
COMMENT ON FUNCTION backfill._intervene(bigint, text, text) IS 'locks a message, keeps a person''s reason and answers the delivery''s state; the caller refuses what does not fit it';

CREATE FUNCTION backfill._refuse_intervention(message bigint, state text, hint text) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RAISE EXCEPTION 'message % is %', message, state
		USING ERRCODE = 'object_not_in_prerequisite_state', HINT = hint;
END
$$;
COMMENT ON FUNCTION backfill._refuse_intervention(bigint, text, text) IS 'one wording for what cannot be decided now';

CREATE FUNCTION backfill.requeue(message_id bigint, reason text) RETURNS void
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	state text := backfill._intervene(message_id, 'requeue', reason);
BEGIN
	IF EXISTS (SELECT FROM backfill.message m WHERE m.message_id = requeue.message_id AND m.payload IS NULL) AND state <> 'sent' THEN
		PERFORM backfill._refuse_intervention(message_id, state || ' and its payload was purged', 'A replay of its window with deliver => true writes it anew.');
	END IF;
	IF state IN ('dead', 'expired', 'suppressed') THEN
		PERFORM backfill._enqueue(message_id, backfill._clock(), 'requeued');
	ELSIF state = 'pending' THEN
		UPDATE backfill.undelivered u
		SET not_before = least(u.not_before, backfill._clock()), attempts = 0,
			deliver_until = backfill._renewed_deadline(backfill._clock(), m.window_to, m.deliver_until)
		FROM backfill.message m WHERE u.message_id = requeue.message_id AND m.message_id = u.message_id;
		INSERT INTO backfill.delivery (message_id, at, state, reason) VALUES (requeue.message_id, backfill._clock(), 'pending', 'requeued');
	ELSE
		PERFORM backfill._refuse_intervention(message_id, state, CASE state
			WHEN 'sent' THEN 'To send it again on purpose use backfill.resend(message_id, reason).'
			WHEN 'unknown' THEN 'It may have been sent: decide with backfill.resolve_unknown(message_id, sent, reason).'
			ELSE 'A worker is sending it; wait for the result.' END);
	END IF;
END
$$;
COMMENT ON FUNCTION backfill.requeue(bigint, text) IS 'lets a message be sent that is dead, expired, suppressed, or waits for a retry; its age counts from now';

CREATE FUNCTION backfill.discard(message_id bigint, reason text) RETURNS void
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	state text := backfill._intervene(message_id, 'discard', reason);
BEGIN
	IF state IN ('sent', 'claimed') THEN
		PERFORM backfill._refuse_intervention(message_id, state, CASE state
			WHEN 'sent' THEN 'What was sent cannot be taken back.'
			ELSE 'A worker is sending it; wait for the result.' END);
	END IF;
	DELETE FROM backfill.undelivered u WHERE u.message_id = discard.message_id;
	INSERT INTO backfill.delivery (message_id, at, state, reason) VALUES (discard.message_id, backfill._clock(), 'dead', 'discarded');
END
$$;
COMMENT ON FUNCTION backfill.discard(bigint, text) IS 'gives a message up: no replay sends it, opted in or not';

CREATE FUNCTION backfill.resolve_unknown(message_id bigint, sent boolean, reason text) RETURNS void
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	state text := backfill._intervene(message_id, CASE WHEN sent THEN 'resolve_sent' ELSE 'resolve_not_sent' END, reason);
BEGIN
	IF sent IS NULL OR state <> 'unknown' THEN
		PERFORM backfill._refuse_intervention(message_id, state, 'Only an unknown delivery needs resolving, by sent => true or false.');
	END IF;
	IF sent THEN
		INSERT INTO backfill.delivery (message_id, at, state, reason) VALUES (resolve_unknown.message_id, backfill._clock(), 'sent', 'resolved');
	ELSE
		PERFORM backfill._enqueue(message_id, backfill._clock(), 'resolved');
	END IF;
END
$$;
COMMENT ON FUNCTION backfill.resolve_unknown(bigint, boolean, text) IS 'a person knows: it was sent, or it was not and is to be sent';

CREATE FUNCTION backfill.resend(message_id bigint, reason text, superseding boolean DEFAULT false) RETURNS bigint
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	state   text;
	first   backfill.message;
	content record;
	again   bigint;
	moment  timestamptz := backfill._clock();
BEGIN
	state := backfill._intervene(message_id, 'resend', reason);
	IF state <> 'sent' THEN
		PERFORM backfill._refuse_intervention(message_id, state, 'Only what was sent can be sent again; for the rest there are backfill.requeue and backfill.resolve_unknown.');
	END IF;
	IF NOT superseding AND EXISTS (SELECT FROM backfill.message m WHERE m.message_id = resend.message_id AND m.payload IS NULL) THEN
		PERFORM backfill._refuse_intervention(message_id, state || ' and its payload was purged', 'What was sent is not known any more. A replay of its window finds what would be sent today.');
	END IF;
	-- The first generation's row is the lock that numbers the others.
	SELECT f.* INTO STRICT first
	FROM backfill.message m JOIN backfill.message f USING (recipient, window_from, window_to, message_type, pipeline)
	WHERE m.message_id = resend.message_id AND f.generation = 0
	FOR NO KEY UPDATE OF f;

	IF superseding THEN
		DELETE FROM backfill.superseded s WHERE s.message_id = first.message_id
		RETURNING s.channel, s.payload, s.content_hash INTO content;
		IF NOT FOUND THEN
			RAISE EXCEPTION 'nothing supersedes message %', first.message_id
				USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Leave superseding out to send the same again.';
		END IF;
	ELSE
		SELECT m.channel, m.payload, m.content_hash INTO content FROM backfill.message m WHERE m.message_id = resend.message_id;
	END IF;

	INSERT INTO backfill.message AS m (pipeline, recipient, window_from, window_to, message_type, generation, receiver_key,
		deliver_until, channel, payload, content_hash, run_id, item, created_at)
	SELECT first.pipeline, first.recipient, first.window_from, first.window_to, first.message_type, n.generation,
		backfill._receiver_key(first.pipeline, first.recipient, first.window_from, first.window_to, first.message_type, n.generation),
		first.deliver_until, content.channel, content.payload, content.content_hash, first.run_id, first.item, moment
	FROM (
		SELECT max(l.generation) + 1 AS generation FROM backfill.message l
		WHERE (l.recipient, l.window_from, l.window_to, l.message_type, l.pipeline)
			= (first.recipient, first.window_from, first.window_to, first.message_type, first.pipeline)) n
	RETURNING m.message_id INTO again;
	PERFORM backfill._enqueue(again, moment, 'resent');
	RETURN again;
END
$$;
COMMENT ON FUNCTION backfill.resend(bigint, text, boolean) IS 'sends a sent message again on purpose, as a message of its own with its own receiver key; superseding: with the content a later run would have sent; answers its id';
