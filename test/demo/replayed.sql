-- What the latest replay did.
SELECT max(replay_id) AS replay_id FROM backfill.replay \gset
SELECT slots, done AS "slots done", candidates, changed AS "made again", failed FROM backfill.replay_progress WHERE replay_id = :replay_id;
SELECT e.message_type AS "message", e.state, e.reason, sum(e.messages) AS messages
FROM backfill.run_emission e JOIN backfill.run r USING (run_id) WHERE r.replay_id = :replay_id
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
SELECT coalesce(sum(e.messages), 0) AS "messages of the replay", count(*) FILTER (WHERE e.state = 'pending') AS "of these to be sent"
FROM backfill.run_emission e JOIN backfill.run r USING (run_id) WHERE r.replay_id = :replay_id;
