-- What a worker does: claim, send, say what became of it.
SELECT channel, count(*) AS sent
FROM (VALUES ('customer_mail'), ('slack')) c(channel), LATERAL backfill.claim_deliveries(c.channel, 10000) d,
	LATERAL (SELECT count(*) FROM backfill.mark_sent(ARRAY[d.message_id], d.token)) m
GROUP BY channel ORDER BY channel;
-- Some whose lead was ready had left no address. Now they have, and nobody has told them anything.
UPDATE bt.lead SET email = 'lead' || id || '@example.invalid' WHERE status = 'options_ready' AND email IS NULL;
