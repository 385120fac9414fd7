
-- Emitting. Whatever changes a delivery locks in one order: message, then undelivered.

-- A person's word starts the clock again: what he asks for is old by nature.
CREATE FUNCTION backfill._renewed_deadline(moment timestamptz, window_to timestamptz, deliver_until timestamptz) RETURNS timestamptz
	LANGUAGE sql STABLE STRICT PARALLEL SAFE
	RETURN GREATEST(deliver_until, moment
		+ pg_catalog.make_interval(secs => pg_catalog.date_part('epoch', deliver_until - window_to)));
COMMENT ON FUNCTION backfill._renewed_deadline(timestamptz, timestamptz, timestamptz) IS 'until when a message may be sent that a person asked for now';

CREATE FUNCTION backfill._was_resent(message bigint, content_hash bytea) RETURNS boolean
	LANGUAGE plpgsql STABLE STRICT SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN EXISTS (
		SELECT FROM backfill.message m JOIN backfill.message l USING (recipient, window_from, window_to, message_type, pipeline)
		WHERE m.message_id = message AND l.generation > m.generation AND l.content_hash = _was_resent.content_hash);
END
$$;
COMMENT ON FUNCTION backfill._was_resent(bigint, bytea) IS 'whether a person has sent a message again with this content';

CREATE FUNCTION backfill._emit_again(
	message bigint, opted_in boolean, channel text, payload jsonb, content_hash bytea, run_id bigint, item text,
	OUT state text, OUT reason text)
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	moment   timestamptz := backfill._clock();
	promoted boolean;
	differs  boolean;
	emptied  boolean;
BEGIN
	state := backfill._delivery_state(message);
	SELECT m.content_hash <> _emit_again.content_hash, m.payload IS NULL INTO differs, emptied FROM backfill.message m WHERE m.message_id = message;
	IF (differs AND state IN ('pending', 'suppressed')) OR (opted_in AND state IN ('suppressed', 'expired')) THEN
		-- What can still change is locked, and looked at again.
		PERFORM FROM backfill.message m WHERE m.message_id = message FOR NO KEY UPDATE;
		PERFORM FROM backfill.undelivered u WHERE u.message_id = message FOR NO KEY UPDATE;
		state := backfill._delivery_state(message);
		SELECT m.content_hash <> _emit_again.content_hash, m.payload IS NULL INTO differs, emptied FROM backfill.message m WHERE m.message_id = message;
	END IF;
	promoted := opted_in AND state IN ('suppressed', 'expired');

	reason := 'unchanged';
	IF (differs OR emptied AND promoted) AND (promoted OR state IN ('pending', 'suppressed')) AND NOT backfill._is_frozen(message) THEN
		UPDATE backfill.message m
		SET channel = _emit_again.channel, payload = _emit_again.payload, content_hash = _emit_again.content_hash,
			run_id = _emit_again.run_id, item = _emit_again.item
		WHERE m.message_id = message;
		UPDATE backfill.undelivered u SET channel = _emit_again.channel
		WHERE u.message_id = message AND u.channel <> _emit_again.channel;
		reason := 'replaced';
	ELSIF differs AND NOT backfill._was_resent(message, content_hash) THEN
		INSERT INTO backfill.superseded (message_id, content_hash, channel, payload, run_id, at)
		VALUES (message, _emit_again.content_hash, _emit_again.channel, _emit_again.payload, _emit_again.run_id, moment)
		ON CONFLICT ON CONSTRAINT superseded_pkey DO UPDATE SET content_hash = excluded.content_hash, channel = excluded.channel,
			payload = excluded.payload, run_id = excluded.run_id, at = excluded.at;
		reason := 'superseded';
	ELSE
		DELETE FROM backfill.superseded s WHERE s.message_id = message;
	END IF;

	IF promoted THEN
		PERFORM backfill._enqueue(message, moment, 'opted_in');
		state := 'pending';
		reason := 'opted_in';
	ELSIF state = 'suppressed' THEN
		SELECT d.reason INTO reason FROM backfill.delivery d
		WHERE d.message_id = message ORDER BY d.delivery_id DESC LIMIT 1;
	END IF;
END
$$;
COMMENT ON FUNCTION backfill._emit_again(bigint, boolean, text, jsonb, bytea, bigint, text) IS 'emitting a key that exists: replaces what waits, leaves what was sent, records what differs';

-- The caller holds the message's row lock and has seen that no delivery of it is under way.
CREATE FUNCTION backfill._enqueue(message bigint, moment timestamptz, reason text) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	INSERT INTO backfill.undelivered (message_id, channel, not_before, deliver_until)
	SELECT m.message_id, m.channel, moment, backfill._renewed_deadline(moment, m.window_to, m.deliver_until)
	FROM backfill.message m WHERE m.message_id = message;
	INSERT INTO backfill.delivery (message_id, at, state, reason) VALUES (message, moment, 'pending', _enqueue.reason);
END
$$;
COMMENT ON FUNCTION backfill._enqueue(bigint, timestamptz, text) IS 'makes a message that was not delivered wait again, at a person''s word';

-- Asked after the key was found free, when a purge that took it has committed. No purge takes what is younger than a day.
CREATE FUNCTION backfill._was_purged(pipeline text, window_to timestamptz, moment timestamptz) RETURNS boolean
	LANGUAGE plpgsql STABLE STRICT SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN window_to < moment - interval '1 day'
		AND EXISTS (SELECT FROM backfill.retention t WHERE t.pipeline = _was_purged.pipeline AND t.messages_before >= _was_purged.window_to);
END
$$;
COMMENT ON FUNCTION backfill._was_purged(text, timestamptz, timestamptz) IS 'whether the keys of a window may have been purged, so that nobody knows what was sent';

CREATE FUNCTION backfill._emit(
	run_id bigint, pipeline_id integer, mode text, deliver boolean, run_time timestamptz,
	window_from timestamptz, window_to timestamptz, item text,
	recipient text, message_type text, payload jsonb, channel text) RETURNS bigint
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	moment        timestamptz := backfill._clock();
	content_hash  bytea := backfill._content_hash(channel, payload);
	opted_in      boolean := deliver AND mode <> 'live';
	pipeline_name text;
	deliver_until timestamptz;
	purged_before timestamptz;
	suppression   text;
	message       bigint;
	state         text;
	reason        text;
BEGIN
	SELECT p.name, backfill._add_interval(_emit.window_to, coalesce(p.delivery_max_age, ('1 ' || p.slot)::interval), p.timezone), t.messages_before
	INTO STRICT pipeline_name, deliver_until, purged_before
	FROM backfill.pipeline p LEFT JOIN backfill.retention t ON t.pipeline = p.name WHERE p.pipeline_id = _emit.pipeline_id;
	suppression := backfill._suppression(mode, deliver, greatest(run_time, moment), deliver_until);

	INSERT INTO backfill.message AS m (pipeline, recipient, window_from, window_to, message_type, receiver_key,
		deliver_until, channel, payload, content_hash, run_id, item, created_at)
	VALUES (pipeline_name, _emit.recipient, _emit.window_from, _emit.window_to, _emit.message_type,
		backfill._receiver_key(pipeline_name, _emit.recipient, _emit.window_from, _emit.window_to, _emit.message_type, 0),
		deliver_until, _emit.channel, _emit.payload, content_hash, _emit.run_id, _emit.item, moment)
	ON CONFLICT ON CONSTRAINT message_key DO NOTHING
	RETURNING m.message_id INTO message;

	IF message IS NULL THEN
		SELECT m.message_id INTO STRICT message FROM backfill.message m
		WHERE m.recipient = _emit.recipient AND m.window_from = _emit.window_from AND m.window_to = _emit.window_to
			AND m.message_type = _emit.message_type AND m.pipeline = pipeline_name AND m.generation = 0;
		SELECT a.state, a.reason INTO state, reason
		FROM backfill._emit_again(message, opted_in AND (purged_before IS NULL OR window_to > purged_before), channel, payload, content_hash, run_id, item) a;
	ELSIF suppression IS NOT NULL OR backfill._was_purged(pipeline_name, window_to, moment) THEN
		state := 'suppressed';
		reason := coalesce(suppression, 'purged');
		INSERT INTO backfill.delivery (message_id, at, state, reason) VALUES (message, moment, 'suppressed', reason);
	ELSE
		state := 'pending';
		reason := 'new';
		IF opted_in THEN
			deliver_until := backfill._renewed_deadline(moment, _emit.window_to, deliver_until);
		END IF;
		INSERT INTO backfill.undelivered (message_id, channel, not_before, deliver_until)
		VALUES (message, _emit.channel, moment, deliver_until);
	END IF;

	IF run_id IS NULL THEN
		RETURN message;
	END IF;
	-- The first decision of a run about a message stands, unless a later one needs a person.
	INSERT INTO backfill.emission AS e (run_id, message_id, state, reason) VALUES (_emit.run_id, message, state, reason)
	ON CONFLICT ON CONSTRAINT emission_pkey DO UPDATE SET state = excluded.state, reason = excluded.reason
		WHERE excluded.reason = 'superseded' AND e.reason <> 'superseded';
	RETURN message;
END
$$;
COMMENT ON FUNCTION backfill._emit(bigint, integer, text, boolean, timestamptz, timestamptz, timestamptz, text, text, text, jsonb, text) IS 'writes one message of a run for one window; its recipient, type and channel have been looked at';

CREATE FUNCTION backfill._check_message(recipient text, message_type text, payload jsonb, channel text) RETURNS text
	LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	chosen text;
BEGIN
	IF recipient IS NULL OR message_type IS NULL OR payload IS NULL THEN
		RAISE EXCEPTION 'recipient, message_type and payload of a message must not be null'
			USING ERRCODE = 'null_value_not_allowed', HINT = 'Skip the item where there is nobody to tell.';
	END IF;
	chosen := backfill._default_channel(recipient);
	chosen := coalesce(channel, chosen);
	IF message_type !~ '^[a-z][a-z0-9_]{0,62}$' THEN
		RAISE EXCEPTION 'message_type is not a name'
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Write a lower-case letter and up to 62 more letters, digits or underscores.';
	END IF;
	IF chosen !~ '^[a-z][a-z0-9_]{0,62}$' THEN
		RAISE EXCEPTION 'channel is not a name'
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Write a lower-case letter and up to 62 more letters, digits or underscores.';
	END IF;
	IF octet_length(payload::text) > 262144 THEN
		RAISE EXCEPTION 'payload of a message is too large'
			USING ERRCODE = 'program_limit_exceeded', DETAIL = format('It has %s bytes; the limit is 262144.', octet_length(payload::text)),
				HINT = 'Send a reference to the data.';
	END IF;
	RETURN chosen;
END
$$;
COMMENT ON FUNCTION backfill._check_message(text, text, jsonb, text) IS 'refuses what cannot be told; answers the channel';

CREATE FUNCTION backfill.emit(recipient text, message_type text, payload jsonb, channel text DEFAULT NULL, key text DEFAULT NULL) RETURNS bigint
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	c record;
BEGIN
	SELECT * INTO c FROM backfill._run_context(emit.key);
	IF c.run_id IS NULL THEN
		RAISE EXCEPTION 'emit() was called outside a run'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'Call it in the work command of a step: what a run tells is told once.';
	END IF;
	emit.channel := backfill._check_message(recipient, message_type, payload, channel);

	SELECT w.window_from, w.window_to INTO STRICT c.window_from, c.window_to
	FROM backfill.pipeline p, backfill._message_window(c.item_time, c.window_from, c.window_to, p.slot, p.timezone) w
	WHERE p.pipeline_id = c.pipeline_id;
	RETURN backfill._emit(c.run_id, c.pipeline_id, c.mode, c.deliver, c.run_time, c.window_from, c.window_to, c.item,
		recipient, message_type, payload, channel);
END
$$;
COMMENT ON FUNCTION backfill.emit(text, text, jsonb, text, text) IS 'tells somebody something, once per recipient, window of the item and type, if the transaction commits; answers the message''s id';

-- So that a batch step can name its item whatever the type of its key, by its output, as runs do: the cast of some types to
-- text says something else. Of a row whose columns are null IS NULL would be true.
-- inlined: every name is qualified
CREATE FUNCTION backfill.emit(recipient text, message_type text, payload jsonb, key anyelement, channel text DEFAULT NULL) RETURNS bigint
	LANGUAGE sql
	AS $$ SELECT backfill.emit(recipient, message_type, payload, channel, CASE WHEN key IS DISTINCT FROM NULL THEN pg_catalog.format('%s', key) END) $$;
COMMENT ON FUNCTION backfill.emit(text, text, jsonb, anyelement, text) IS 'the same, with the item''s key in its own type';
