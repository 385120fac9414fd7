
CREATE VIEW backfill.outbox AS
	SELECT m.message_id, m.pipeline, m.recipient, m.window_from, m.window_to, m.message_type, m.generation, m.channel,
		CASE WHEN u.message_id IS NULL THEN d.state WHEN u.token IS NULL THEN 'pending' ELSE 'claimed' END AS state,
		d.reason, d.at AS state_at, COALESCE(u.attempts, d.attempt)::integer AS attempts,
		u.not_before AS next_attempt_at, u.lease_until, COALESCE(u.deliver_until, m.deliver_until) AS deliver_until,
		EXISTS (SELECT FROM backfill.superseded s WHERE s.message_id = m.message_id) AS superseded,
		m.item, m.run_id, m.receiver_key, m.payload, m.created_at
	FROM backfill.message m
	LEFT JOIN backfill.undelivered u ON u.message_id = m.message_id
	LEFT JOIN LATERAL (
		SELECT d.state, d.reason::text, d.at, d.attempt FROM backfill.delivery d
		WHERE d.message_id = m.message_id ORDER BY d.delivery_id DESC LIMIT 1) d ON true;
COMMENT ON VIEW backfill.outbox IS 'each message and the state of its delivery';
COMMENT ON COLUMN backfill.outbox.reason IS 'of what happened to it last';
COMMENT ON COLUMN backfill.outbox.superseded IS 'a later run would have said something else';

-- The one rule of what needs a person: nobody knows whether it was sent, or it was not and will not be. What somebody has
-- discarded needs nobody any more.
CREATE VIEW backfill._needs_person AS
	SELECT d.message_id, m.pipeline, m.channel, d.state, d.at
	FROM backfill.delivery d JOIN backfill.message m USING (message_id)
	WHERE d.state IN ('unknown', 'dead') AND d.reason IS DISTINCT FROM 'discarded'
		AND NOT EXISTS (SELECT FROM backfill.undelivered u WHERE u.message_id = d.message_id)
		AND NOT EXISTS (SELECT FROM backfill.delivery l WHERE l.message_id = d.message_id AND l.delivery_id > d.delivery_id);
COMMENT ON VIEW backfill._needs_person IS 'deliveries that wait for a person''s decision: unknown, or dead and not discarded';

CREATE VIEW backfill.channel_status AS
	SELECT s.channel,
		pg_catalog.count(*) FILTER (WHERE s.state = 'pending') AS pending,
		pg_catalog.count(*) FILTER (WHERE s.state = 'claimed') AS claimed,
		pg_catalog.count(*) FILTER (WHERE s.state = 'claimed' AND s.lapsed) AS lapsed,
		pg_catalog.count(*) FILTER (WHERE s.state = 'unknown') AS unknown,
		pg_catalog.count(*) FILTER (WHERE s.state = 'dead') AS dead,
		pg_catalog.max(s.attempts) FILTER (WHERE s.state = 'pending') AS most_attempts,
		pg_catalog.min(s.created_at) FILTER (WHERE s.state = 'pending') AS oldest_pending_at,
		pg_catalog.min(s.next_attempt_at) FILTER (WHERE s.state = 'pending') AS next_attempt_at
	FROM (
		SELECT u.channel, CASE WHEN u.token IS NULL THEN 'pending' ELSE 'claimed' END AS state,
			backfill._claim_has_lapsed(u.lease_until, backfill._clock()) AS lapsed, u.attempts, m.created_at, u.not_before AS next_attempt_at
		FROM backfill.undelivered u JOIN backfill.message m USING (message_id)
		UNION ALL
		SELECT n.channel, n.state, NULL, NULL, NULL, NULL FROM backfill._needs_person n) s
	GROUP BY s.channel;
COMMENT ON VIEW backfill.channel_status IS 'what waits, is being sent or needs a person, per channel; a channel that is not listed has nothing of it';
COMMENT ON COLUMN backfill.channel_status.dead IS 'messages that were refused or exhausted their attempts, and that nobody has discarded';
COMMENT ON COLUMN backfill.channel_status.lapsed IS 'claims whose lease has passed: the next claim settles them';

CREATE VIEW backfill.run_emission AS
	SELECT e.run_id, m.channel, m.message_type, e.state, e.reason::text AS reason, pg_catalog.count(*) AS messages
	FROM backfill.emission e JOIN backfill.message m USING (message_id)
	GROUP BY e.run_id, m.channel, m.message_type, e.state, e.reason;
COMMENT ON VIEW backfill.run_emission IS 'what each run told: messages by channel, type, state after the decision and reason as decided then (pending/new: to be sent; sent: was already); what has become of it is in outbox';
