-- More leads, with small reports, until :done are there; the pipeline does them.
SET client_min_messages = error;
UPDATE bench.template SET body = (
	SELECT jsonb_set(body::jsonb, '{INProfileResponse,CAIS_Account,CAIS_Account_DETAILS}', jsonb_build_array(bench.account(kind, 1)))::text);
CALL bench.add_leads(:leads + 1, :done, now() - interval '1 hour');
VACUUM (ANALYZE);
CALL backfill.run('leads') \g /dev/null
VACUUM (FREEZE, ANALYZE);
CHECKPOINT;
