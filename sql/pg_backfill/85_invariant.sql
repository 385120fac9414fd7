
CREATE FUNCTION backfill._check_outbox() RETURNS SETOF text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY
	WITH last AS MATERIALIZED (
		SELECT DISTINCT ON (d.message_id) d.message_id, d.state, d.reason FROM backfill.delivery d
		ORDER BY d.message_id, d.delivery_id DESC)
	SELECT format('message %s is lost: it neither waits nor has a record', m.message_id)
	FROM backfill.message m
	WHERE NOT EXISTS (SELECT FROM backfill.undelivered u WHERE u.message_id = m.message_id)
		AND NOT EXISTS (SELECT FROM last l WHERE l.message_id = m.message_id AND l.state <> 'pending')
	UNION ALL
	SELECT format('message %s waits although it is %s', u.message_id, l.state)
	FROM backfill.undelivered u JOIN last l USING (message_id) WHERE l.state NOT IN ('pending', 'unknown')
	UNION ALL
	SELECT format('message %s waits on channel %s and not on its own', u.message_id, u.channel)
	FROM backfill.undelivered u JOIN backfill.message m USING (message_id) WHERE u.channel <> m.channel
	UNION ALL
	SELECT format('message %s was sent %s times', d.message_id, count(*))
	FROM backfill.delivery d WHERE d.state = 'sent' GROUP BY d.message_id HAVING count(*) > 1
	UNION ALL
	SELECT format('message %s was sent without an attempt or a person''s word', d.message_id)
	FROM backfill.delivery d WHERE d.state = 'sent' AND d.attempt = 0
		AND NOT EXISTS (SELECT FROM backfill.intervention i WHERE i.message_id = d.message_id AND i.action = 'resolve_sent')
	UNION ALL
	SELECT format('something happened to message %s after it was sent', s.message_id)
	FROM backfill.delivery s JOIN last l USING (message_id) WHERE s.state = 'sent' AND l.state <> 'sent'
	UNION ALL
	SELECT format('message %s of generation %s was not asked for', m.message_id, m.generation)
	FROM backfill.message m WHERE m.generation > 0 AND NOT EXISTS (
		SELECT FROM backfill.message f JOIN backfill.intervention i USING (message_id)
		WHERE (f.recipient, f.window_from, f.window_to, f.message_type, f.pipeline) = (m.recipient, m.window_from, m.window_to, m.message_type, m.pipeline)
			AND f.generation < m.generation AND i.action = 'resend')
	UNION ALL
	SELECT format('message %s does not have the receiver key of its key', m.message_id)
	FROM backfill.message m
	WHERE m.receiver_key <> backfill._receiver_key(m.pipeline, m.recipient, m.window_from, m.window_to, m.message_type, m.generation)
	UNION ALL
	SELECT format('message %s does not have the hash of its content', m.message_id)
	FROM backfill.message m WHERE m.content_hash <> backfill._content_hash(m.channel, m.payload)
	UNION ALL
	SELECT format('message %s waits and has no content', u.message_id)
	FROM backfill.undelivered u JOIN backfill.message m USING (message_id) WHERE m.payload IS NULL
	UNION ALL
	SELECT format('the claim of message %s lapsed more than an hour ago and nobody noticed', u.message_id)
	FROM backfill.undelivered u WHERE u.lease_until < backfill._clock() - interval '1 hour'
	UNION ALL
	SELECT format('the claim of message %s has a lease that reaches further than any is given', u.message_id)
	FROM backfill.undelivered u WHERE u.lease_until > backfill._clock() AND backfill._claim_has_lapsed(u.lease_until, backfill._clock())
	UNION ALL
	SELECT format('message %s has a token that was never given', u.message_id)
	FROM backfill.undelivered u, backfill.claim_token t WHERE u.token > t.last_value
	UNION ALL
	SELECT format('a record is about message %s, which does not exist', r.message_id)
	FROM (SELECT d.message_id FROM backfill.delivery d
		UNION
		-- What a run told is purged with the run.
		SELECT e.message_id FROM backfill.emission e WHERE e.message_id > coalesce((SELECT max(t.last_purged) FROM backfill.retention t), 0)) r
	WHERE NOT EXISTS (SELECT FROM backfill.message m WHERE m.message_id = r.message_id)
	UNION ALL
	SELECT format('replay %s let message %s wait without having opted in', e.run_id, e.message_id)
	FROM backfill.emission e JOIN backfill.run r USING (run_id)
	WHERE r.mode = 'replay' AND NOT r.deliver AND e.state = 'pending' AND e.reason IN ('new', 'opted_in')
	UNION ALL
	SELECT format('rehearsal %s left an emission behind', e.run_id) FROM backfill.emission e WHERE e.run_id < 0;
END
$$;
COMMENT ON FUNCTION backfill._check_outbox() IS 'what does not hold of messages and deliveries';

CREATE FUNCTION backfill._check_runs() RETURNS SETOF text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY
	SELECT format('run %s is %s and has no lease', r.run_id, r.state)
	FROM backfill.run r WHERE r.state = 'running' AND r.lease_until IS NULL
	UNION ALL
	SELECT format('pipeline %s runs after one that does not exist', d.name)
	FROM backfill.pipeline d WHERE NOT EXISTS (SELECT FROM backfill.pipeline u WHERE u.pipeline_id = d.after) AND d.after IS NOT NULL
	UNION ALL
	SELECT format('rehearsal %s left itself behind', r.run_id) FROM backfill.run r WHERE r.run_id < 0
	UNION ALL
	SELECT format('run %s is running, its lease lapsed more than an hour ago and nobody noticed', r.run_id)
	FROM backfill.run r WHERE r.state = 'running' AND r.lease_until < backfill._clock() - interval '1 hour'
	UNION ALL
	SELECT format('run %s is %s and has no end', r.run_id, r.state)
	FROM backfill.run r WHERE r.state IN ('succeeded', 'failed', 'broken', 'cancelled', 'crashed') AND r.finished_at IS NULL
	UNION ALL
	SELECT format('run %s is %s and has an end', r.run_id, r.state)
	FROM backfill.run r WHERE r.state IN ('requested', 'running', 'paused') AND r.finished_at IS NOT NULL
	UNION ALL
	SELECT format('the tally of run %s adds up to %s of %s', r.run_id, r.changed + r.unchanged + r.skipped + r.failed, backfill._counted(r.candidates, 'candidate'))
	FROM backfill.run r
	WHERE r.state = 'succeeded' AND r.candidates <> r.changed + r.unchanged + r.skipped + r.failed
	UNION ALL
	SELECT format('alarm %s was found by run %s, which is no live run', a.alarm_id, r.run_id)
	FROM backfill.alarm a JOIN backfill.run r ON r.run_id IN (a.opened_by_run, a.closed_by_run) WHERE r.mode <> 'live';
END
$$;
COMMENT ON FUNCTION backfill._check_runs() IS 'what does not hold of runs';

CREATE FUNCTION backfill.check_invariants() RETURNS SETOF text
	LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY SELECT backfill._check_outbox();
	RETURN QUERY SELECT backfill._check_runs();
END
$$;
COMMENT ON FUNCTION backfill.check_invariants() IS 'what must always hold and does not, in words; no row: everything holds. Reads all messages';
