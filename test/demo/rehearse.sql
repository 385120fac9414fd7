-- What the same replay would do and send if somebody opted in; nothing of it happens.
SELECT (now() AT TIME ZONE 'Asia/Kolkata')::date - 30 AS first_day, (now() AT TIME ZONE 'Asia/Kolkata')::date + 1 AS after_last_day \gset
SELECT * FROM backfill.rehearse('bt_leads', :'first_day', :'after_last_day', redo => 'all', deliver => true) WHERE part <> 'step';
SELECT count(*) AS "messages waiting afterwards" FROM backfill.undelivered;
SELECT count(*) AS "invariants that do not hold" FROM backfill.check_invariants();
