-- More leads, with small reports, until :done are there; the pipeline does them.
SET client_min_messages = error;
UPDATE bench.template SET body = (
	SELECT jsonb_set(body::jsonb, '{INProfileResponse,CAIS_Account,CAIS_Account_DETAILS}', jsonb_build_array(bench.account(kind, 1)))::text);
SELECT max(id) + 1 AS first FROM bt.lead \gset
CALL bench.add_leads(:first, :done, now() - interval '1 hour');
CALL backfill.run('leads') \g /dev/null
VACUUM (FREEZE, ANALYZE);
CHECKPOINT;
