-- 300 leads, the same ones each time. Bodies are the sample reports, each with the lead's own mobile, report number and
-- balances. demo.lead says what state each lead starts in.
SET client_min_messages = warning;
ALTER SYSTEM SET autovacuum = off; -- so that the WAL that is counted is the job's own
SELECT pg_reload_conf() \g /dev/null
CREATE EXTENSION pg_cron;
CREATE EXTENSION pg_backfill;
CREATE EXTENSION bt_leads;
CREATE SCHEMA demo;

CREATE TABLE demo.sample (name text PRIMARY KEY, body text NOT NULL);
\copy demo.sample FROM PROGRAM 'cd test/data/reports && for f in [ms][0-9]*; do printf "%s\t%s\n" "${f%%_*}" "$(base64 -w 0 "$f")"; done'

CREATE FUNCTION demo.mobile(n bigint) RETURNS text LANGUAGE sql IMMUTABLE
	RETURN '7' || lpad(n::text, 9, '0');

-- Amounts keep their size: the last three digits become the lead's number.
CREATE FUNCTION demo.body(sample text, n bigint) RETURNS bytea LANGUAGE sql STABLE
	RETURN (SELECT convert_to(regexp_replace(regexp_replace(regexp_replace(
			convert_from(decode(s.body, 'base64'), 'UTF8'),
			'60000000\d\d', demo.mobile(n), 'g'),
			'(Current_Balance(?:": "|>)\d+)\d{3}(["<])', '\1' || lpad((n % 1000)::text, 3, '0') || '\2', 'g'),
			'(ReportNumber(?:": "|>)\d+)\d{4}(["<])', '\1' || lpad(n::text, 4, '0') || '\2', 'g'), 'UTF8')
		FROM demo.sample s WHERE s.name = sample);

CREATE TABLE demo.lead (id bigint PRIMARY KEY, state text NOT NULL, steps_done int, sample text, mobile_of bigint NOT NULL);
INSERT INTO demo.lead
SELECT n, state, steps_done, CASE WHEN cardinality(samples) > 0 THEN samples[(1 + n % cardinality(samples))::int] END,
	CASE WHEN n BETWEEN 131 AND 140 THEN n - 10 ELSE n END
FROM (VALUES
	(  1, 130, 'report arrived, nothing done yet',               0, '{s01,s02,s39,s35,s37,s15}'::text[]),
	(131, 140, 'second lead of a mobile that has a report',      0, '{}'),
	(141, 155, 'an earlier run died after normalize_report',     2, '{s01,s02,s39}'),
	(156, 170, 'an earlier run died after unify_reports',        3, '{s01,s02,s39}'),
	(171, 185, 'an earlier run died after group_loans',          4, '{s01,s02,s39}'),
	(186, 225, 'all done by an earlier run',                     5, '{s01,s02,s39,s36}'),
	(226, 255, 'no report yet',                                  0, '{}'),
	(256, 265, 'the bureau knows nobody of that mobile',         0, '{s06,s11}'),
	(266, 288, 'report has no home loan that could be moved',    0, '{s36,s21}'),
	(289, 300, 'report cannot be read',                          0, '{m01,m07,m03}')
) AS kind(first_id, last_id, state, steps_done, samples), generate_series(first_id, last_id) n;

-- People write their mobiles as they like, and some leave no address.
INSERT INTO bt.lead (id, mobile, email, consent)
SELECT id, CASE id % 3 WHEN 0 THEN '+91 ' || m WHEN 1 THEN m ELSE '0' || left(m, 5) || ' ' || right(m, 5) END,
	CASE WHEN id % 12 <> 0 THEN 'lead' || id || '@example.invalid' END, true
FROM demo.lead, demo.mobile(mobile_of) m
ORDER BY id;
SELECT setval('bt.lead_id_seq', 300) \g /dev/null
INSERT INTO bt.credit_report (mobile, bureau, body, received_at)
SELECT demo.mobile(id), 'experian', demo.body(sample, id), now() - id * interval '1 minute'
FROM demo.lead WHERE sample IS NOT NULL ORDER BY id;

SET backfill.narrate = 'none';

-- Runs that died half-way: pipelines that have only the first steps, for the leads in question.
CREATE FUNCTION demo.candidates(steps bigint) RETURNS text LANGUAGE sql IMMUTABLE
	RETURN format('SELECT id FROM bt.lead WHERE created_at >= $1 AND created_at < $2'
		' AND id IN (SELECT d.id FROM demo.lead d WHERE d.steps_done = %s)', steps);
SELECT bt.install_pipeline('steps_' || k), backfill.alter_pipeline('steps_' || k, candidates => demo.candidates(k))
FROM generate_series(2, 4) k \g /dev/null
SELECT backfill.drop_step(p.name, s.name)
FROM backfill.pipeline p JOIN backfill.step s USING (pipeline_id)
WHERE p.name LIKE 'steps\_%' AND s.position > right(p.name, 1)::int
ORDER BY p.name, s.position DESC \g /dev/null
CALL backfill.run('steps_2') \g /dev/null
CALL backfill.run('steps_3') \g /dev/null
CALL backfill.run('steps_4') \g /dev/null
SELECT backfill.drop_pipeline('steps_' || k) FROM generate_series(2, 4) k \g /dev/null

-- The pipeline itself, and a run of it that met only some of the leads.
SELECT bt.install_pipeline(summary_to => 'slack:#lending-ops') \g /dev/null
SELECT candidates FROM backfill.pipeline WHERE name = 'bt_leads' \gset
SELECT backfill.alter_pipeline('bt_leads', candidates => demo.candidates(5)) \g /dev/null
CALL backfill.run('bt_leads') \g /dev/null
SELECT backfill.alter_pipeline('bt_leads', candidates => :'candidates') \g /dev/null

CREATE TABLE demo.pass (pass text PRIMARY KEY, candidates bigint, changed bigint, unchanged bigint, skipped bigint, failed bigint,
	messages bigint, wal_bytes numeric, at timestamptz NOT NULL DEFAULT clock_timestamp());
VACUUM (ANALYZE);
