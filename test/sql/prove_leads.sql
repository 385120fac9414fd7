-- The leads pipeline is proven on every sample report: before its first run, after it, and when newer reports have come.
\getenv test_folder PG_ABS_SRCDIR
\set helper :test_folder '/data/leads.psql'
\set ECHO none
\i :helper
\set ECHO all
SET backfill.narrate = 'none';

CREATE TEMPORARY TABLE sample AS
SELECT e.file, row_number() OVER (ORDER BY e.file) AS n
FROM jsonb_to_recordset(convert_from(pg_temp.sample('expected.json'), 'UTF8')::jsonb) AS e(file text);
INSERT INTO bt.credit_report (mobile, body)
SELECT '+91 ' || 7000000000 + CASE WHEN file LIKE 'u01%' THEN 0 ELSE n END, pg_temp.sample(file) FROM sample ORDER BY file;
INSERT INTO bt.lead (mobile, email, consent)
SELECT '0' || m, 'lead' || m || '@example.com', true FROM (SELECT DISTINCT bt.mobile_number(mobile) AS m FROM bt.credit_report) r ORDER BY m;
-- Two leads of one mobile share what is made of their reports; one has no report, one revoked.
INSERT INTO bt.lead (mobile) VALUES ('7000000000'), ('7999999999');
UPDATE bt.lead SET consent = false WHERE mobile = '07000000003';

SELECT count(*) < 256 AS all_at_once FROM bt.lead;
SELECT step, finding, items = (SELECT count(*) FROM bt.lead) AS on_every_lead, detail FROM backfill.prove('bt_leads', items => 256);
SELECT count(*) FROM bt.normalized_report;
CALL backfill.run('bt_leads') \g /dev/null
SELECT step, finding, items = (SELECT count(*) FROM bt.lead) AS on_every_lead, detail, hint FROM backfill.prove('bt_leads', items => 256);
-- Each sample once more, for the next lead: all that was made of the older one is stale.
INSERT INTO bt.credit_report (mobile, body, received_at)
SELECT '+91 ' || 7000000000 + (n % (SELECT count(*) FROM sample)), pg_temp.sample(file), now() FROM sample ORDER BY file;
SELECT step, finding, items = (SELECT count(*) FROM bt.lead) AS on_every_lead, detail FROM backfill.prove('bt_leads', items => 256);
CALL backfill.run('bt_leads') \g /dev/null
SELECT step, finding FROM backfill.prove('bt_leads');
SELECT * FROM backfill.check_invariants();

-- It would not be with one step's work spoiled.
SELECT backfill.alter_step('bt_leads', 'fetch_report', work => 'WITH spoiled AS (INSERT INTO bt.credit_report (mobile, body) SELECT mobile, '''' FROM bt.lead WHERE id = ANY ($1)) SELECT key, outcome FROM bt.fetch_report($1)');
SELECT DISTINCT step, finding FROM backfill.prove('bt_leads', items => 256) WHERE step = 'fetch_report';

RESET backfill.narrate;
SELECT backfill.drop_pipeline('bt_leads');
TRUNCATE backfill.emission, backfill.superseded, backfill.intervention, backfill.undelivered, backfill.delivery, backfill.message, backfill.counter RESTART IDENTITY;
TRUNCATE bt.lead, bt.credit_report, bt.unified_report, bt.loan_grouping, bt.balance_transfer RESTART IDENTITY CASCADE;
