-- The last 31 days once more, all of it. The worker does it.
SELECT (now() AT TIME ZONE 'Asia/Kolkata')::date - 30 AS first_day, (now() AT TIME ZONE 'Asia/Kolkata')::date + 1 AS after_last_day \gset
SET client_min_messages = warning;
SELECT count(*) AS "slots asked for" FROM backfill.replay('bt_leads', :'first_day', :'after_last_day', redo => 'all');
