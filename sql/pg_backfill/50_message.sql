
-- Messages and deliveries. A message is what is to be told; its delivery is the state of getting it out. A message that
-- waits or is being sent has a row in undelivered; whatever else happened to it is in delivery, and the last row there
-- is its state.

CREATE TABLE backfill.message (
	message_id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	pipeline      text NOT NULL,
	recipient     text NOT NULL,
	window_from   timestamptz NOT NULL,
	window_to     timestamptz NOT NULL,
	message_type  text NOT NULL CHECK (message_type ~ '^[a-z][a-z0-9_]{0,62}$'),
	generation    integer NOT NULL DEFAULT 0 CHECK (generation >= 0),
	receiver_key  uuid NOT NULL,
	deliver_until timestamptz NOT NULL,
	channel       text NOT NULL CHECK (channel ~ '^[a-z][a-z0-9_]{0,62}$'),
	payload       jsonb CONSTRAINT message_payload_size CHECK (octet_length(payload::text) <= 262144),
	content_hash  bytea NOT NULL,
	run_id        bigint,
	item          text,
	created_at    timestamptz NOT NULL,
	CHECK (window_from < window_to),
	CONSTRAINT message_key UNIQUE (recipient, window_from, window_to, message_type, pipeline, generation)
);
CREATE INDEX message_item ON backfill.message (item, pipeline) WHERE item IS NOT NULL;
COMMENT ON TABLE backfill.message IS 'what is to be told, once per recipient, window and type; immutable once a worker has claimed it';
COMMENT ON COLUMN backfill.message.pipeline IS 'name of the pipeline whose slot the window is; a name, so that a pipeline dropped and made again knows what it has sent';
COMMENT ON COLUMN backfill.message.generation IS '0: the message; more: resent on purpose by a person';
COMMENT ON COLUMN backfill.message.receiver_key IS 'derived from the key: what a receiver can drop duplicates by, the same on every attempt';
COMMENT ON COLUMN backfill.message.deliver_until IS 'the window''s end plus the pipeline''s delivery_max_age';
COMMENT ON COLUMN backfill.message.payload IS 'at most 256 kB as text; null: purged';
COMMENT ON COLUMN backfill.message.content_hash IS 'SHA-256 of channel and payload';
COMMENT ON COLUMN backfill.message.run_id IS 'run that wrote the content; runs may be gone before their messages; null: an alarm that no run found';
COMMENT ON COLUMN backfill.message.item IS 'key of the item it is about; null: about the run';

-- Small, so that what was sent costs claiming nothing. Half of each page is left free and the lease is in no index, so
-- that taking one stays on its page.
CREATE TABLE backfill.undelivered (
	message_id    bigint PRIMARY KEY REFERENCES backfill.message,
	channel       text NOT NULL,
	not_before    timestamptz NOT NULL,
	deliver_until timestamptz NOT NULL,
	attempts      smallint NOT NULL DEFAULT 0 CHECK (attempts BETWEEN 0 AND 100),
	token         bigint,
	lease_until   timestamptz,
	CHECK ((token IS NULL) = (lease_until IS NULL)),
	CHECK (token IS NULL OR attempts > 0)
) WITH (fillfactor = 45, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
	autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 20000);
CREATE INDEX undelivered_channel ON backfill.undelivered (channel, message_id);
COMMENT ON TABLE backfill.undelivered IS 'messages that wait (no token) or are being sent (token and lease); a row is deleted when its delivery ends';
COMMENT ON COLUMN backfill.undelivered.not_before IS 'next attempt';
COMMENT ON COLUMN backfill.undelivered.deliver_until IS 'the message''s own, or later where a person asked for the delivery';
COMMENT ON COLUMN backfill.undelivered.attempts IS 'claims counted; given back where it is proved that nothing was sent';
COMMENT ON COLUMN backfill.undelivered.token IS 'of the claim that holds it; only its holder may say what became of it';

CREATE TABLE backfill.delivery (
	message_id  bigint NOT NULL,
	delivery_id bigint GENERATED ALWAYS AS IDENTITY,
	at          timestamptz NOT NULL,
	state       text NOT NULL CHECK (state IN ('pending', 'suppressed', 'sent', 'unknown', 'expired', 'dead')),
	reason      backfill.reason,
	attempt     smallint NOT NULL DEFAULT 0,
	PRIMARY KEY (message_id, delivery_id)
);
-- The last line of defence: whatever the protocol does, a message is marked sent once.
CREATE UNIQUE INDEX delivery_sent ON backfill.delivery (message_id) WHERE state = 'sent';
CREATE INDEX delivery_attention ON backfill.delivery (message_id) WHERE state IN ('unknown', 'dead');
COMMENT ON TABLE backfill.delivery IS 'what happened to each message, append only; the last row of a message is its state unless it is in undelivered';
COMMENT ON COLUMN backfill.delivery.attempt IS 'attempt it is about; 0: none, or one that sent nothing';

CREATE TABLE backfill.superseded (
	message_id   bigint PRIMARY KEY REFERENCES backfill.message ON DELETE CASCADE,
	content_hash bytea NOT NULL,
	channel      text NOT NULL,
	payload      jsonb NOT NULL,
	run_id       bigint NOT NULL,
	at           timestamptz NOT NULL
);
COMMENT ON TABLE backfill.superseded IS 'what the latest run would say instead of a message that can no longer change, for a person to decide; gone when the difference is';

CREATE TABLE backfill.emission (
	run_id     bigint NOT NULL REFERENCES backfill.run ON DELETE CASCADE,
	message_id bigint NOT NULL,
	state      text NOT NULL,
	reason     backfill.reason,
	PRIMARY KEY (run_id, message_id)
);
COMMENT ON TABLE backfill.emission IS 'what was decided when a run emitted a message';
COMMENT ON COLUMN backfill.emission.state IS 'state of the delivery after the decision';
COMMENT ON COLUMN backfill.emission.reason IS 'new, replaced, unchanged, opted_in, superseded, or why it is suppressed';

CREATE TABLE backfill.intervention (
	intervention_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	message_id      bigint NOT NULL REFERENCES backfill.message ON DELETE CASCADE,
	action          text NOT NULL CHECK (action IN ('requeue', 'discard', 'resolve_sent', 'resolve_not_sent', 'resend')),
	reason          text NOT NULL CHECK (reason ~ '\S' AND length(reason) <= 1000),
	by              name NOT NULL,
	at              timestamptz NOT NULL
);
CREATE INDEX intervention_message ON backfill.intervention (message_id);
COMMENT ON TABLE backfill.intervention IS 'what people decided about deliveries, and why';

CREATE SEQUENCE backfill.claim_token;
COMMENT ON SEQUENCE backfill.claim_token IS 'one token per claim; never reused';

SELECT pg_catalog.pg_extension_config_dump('backfill.message', '');
SELECT pg_catalog.pg_extension_config_dump('backfill.message_message_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('backfill.undelivered', '');
SELECT pg_catalog.pg_extension_config_dump('backfill.delivery', '');
SELECT pg_catalog.pg_extension_config_dump('backfill.delivery_delivery_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('backfill.superseded', '');
SELECT pg_catalog.pg_extension_config_dump('backfill.emission', '');
SELECT pg_catalog.pg_extension_config_dump('backfill.intervention', '');
SELECT pg_catalog.pg_extension_config_dump('backfill.intervention_intervention_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('backfill.claim_token', '');

CREATE FUNCTION backfill._default_channel(recipient text) RETURNS text
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'pg_backfill__default_channel';
COMMENT ON FUNCTION backfill._default_channel(text) IS 'refuses a recipient that could mislead a channel; answers the channel its kind goes by';

CREATE FUNCTION backfill.is_recipient(recipient text) RETURNS boolean
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'pg_backfill_is_recipient';
COMMENT ON FUNCTION backfill.is_recipient(text) IS 'whether emit() would take the address, such as email:user@example.com';

CREATE FUNCTION backfill._suppression(mode text, opted_in boolean, run_time timestamptz, deliver_until timestamptz) RETURNS text
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'pg_backfill__suppression';
COMMENT ON FUNCTION backfill._suppression(text, boolean, timestamptz, timestamptz) IS 'why a message of such a run is not to be delivered; null: it is';

CREATE FUNCTION backfill._receiver_key(pipeline text, recipient text, window_from timestamptz, window_to timestamptz, message_type text, generation integer) RETURNS uuid
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'pg_backfill__receiver_key';
COMMENT ON FUNCTION backfill._receiver_key(text, text, timestamptz, timestamptz, text, integer) IS 'key a receiver can drop duplicates by';

CREATE FUNCTION backfill._content_hash(channel text, payload jsonb) RETURNS bytea
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.concat(channel, E'\n', payload::text), 'UTF8'));
COMMENT ON FUNCTION backfill._content_hash(text, jsonb) IS 'identity of a message''s content';

CREATE FUNCTION backfill._delivery_state(message bigint) RETURNS text
	LANGUAGE plpgsql STABLE STRICT SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN coalesce(
		(SELECT CASE WHEN u.token IS NULL THEN 'pending' ELSE 'claimed' END
		FROM backfill.undelivered u WHERE u.message_id = message),
		(SELECT d.state FROM backfill.delivery d WHERE d.message_id = message ORDER BY d.delivery_id DESC LIMIT 1));
END
$$;
COMMENT ON FUNCTION backfill._delivery_state(bigint) IS 'state of a message''s delivery; null: no such message';

-- Bytes of it may have left: a claim is counted, or was and has been recorded.
CREATE FUNCTION backfill._is_frozen(message bigint) RETURNS boolean
	LANGUAGE plpgsql STABLE STRICT SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN EXISTS (SELECT FROM backfill.undelivered u WHERE u.message_id = message AND u.attempts > 0)
		OR EXISTS (SELECT FROM backfill.delivery d WHERE d.message_id = message AND d.attempt > 0);
END
$$;
COMMENT ON FUNCTION backfill._is_frozen(bigint) IS 'whether the content of a message may have been seen by its receiver';

CREATE FUNCTION backfill._guard_message() RETURNS trigger
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF (old.message_id, old.pipeline, old.recipient, old.window_from, old.window_to, old.message_type, old.generation, old.receiver_key)
		IS DISTINCT FROM
		(new.message_id, new.pipeline, new.recipient, new.window_from, new.window_to, new.message_type, new.generation, new.receiver_key)
	THEN
		RAISE EXCEPTION 'the key of message % cannot change', old.message_id
			USING ERRCODE = 'object_not_in_prerequisite_state';
	END IF;
	-- Its hash stays, so what it was can still be told from what it would be.
	IF new.payload IS NULL AND (old.channel, old.content_hash, old.run_id, old.item) IS NOT DISTINCT FROM (new.channel, new.content_hash, new.run_id, new.item) THEN
		RETURN new;
	END IF;
	IF backfill._is_frozen(old.message_id) THEN
		RAISE EXCEPTION 'message % was claimed and cannot change', old.message_id
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'Its receiver may have seen it as it is.';
	END IF;
	RETURN new;
END
$$;
COMMENT ON FUNCTION backfill._guard_message() IS 'keeps a message''s key, and its content once it was claimed';

CREATE TRIGGER guard_message BEFORE UPDATE ON backfill.message
	FOR EACH ROW EXECUTE FUNCTION backfill._guard_message();
COMMENT ON TRIGGER guard_message ON backfill.message IS 'keeps a message''s key, and its content once it was claimed';
