-- The last 31 days once more, all of it.
SELECT (now() AT TIME ZONE 'Asia/Kolkata')::date - 30 AS first_day, (now() AT TIME ZONE 'Asia/Kolkata')::date + 1 AS after_last_day \gset
SET client_min_messages = warning;
SET backfill.narrate = 'none';
SELECT DISTINCT replay_id FROM backfill.replay('bt_leads', :'first_day', :'after_last_day', redo => 'all') \gset
CALL backfill.run_requested('bt_leads') \gset
SELECT slots, done AS "slots done", candidates, changed AS "made again", failed FROM backfill.replay_progress WHERE replay_id = :replay_id;
SELECT e.message_type AS "message", e.state, e.reason, sum(e.messages) AS messages
FROM backfill.run_emission e JOIN backfill.run r USING (run_id) WHERE r.replay_id = :replay_id
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
SELECT coalesce(sum(e.messages), 0) AS "messages of the replay", count(*) FILTER (WHERE e.state = 'pending') AS "of these to be sent"
FROM backfill.run_emission e JOIN backfill.run r USING (run_id) WHERE r.replay_id = :replay_id;
