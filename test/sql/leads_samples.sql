-- Every sample report, read and grouped through SQL, against what is expected of it.
\getenv test_folder PG_ABS_SRCDIR
\set helper :test_folder '/data/leads.psql'
\set ECHO none
\i :helper
\set ECHO all

CREATE TEMPORARY TABLE sample AS
SELECT bt.read_report(pg_temp.sample(e.file)) AS said, e.*
FROM jsonb_to_recordset(convert_from(pg_temp.sample('expected.json'), 'UTF8')::jsonb) AS
	e(file text, outcome text, reason text, score integer, accounts integer, loans integer, open integer, active_home_loans integer, groups jsonb,
	home_loan_outstanding numeric, total_outstanding numeric, mobile text, warnings jsonb);
SELECT count(*) > 50 AS all_of_them FROM sample;

SELECT file FROM sample
WHERE (outcome, nullif(reason, ''), score, accounts, loans, mobile)
	IS DISTINCT FROM ((said).outcome, (said).reason, (said).score, coalesce(cardinality((said).tradelines), 0), (said).loans, (said).mobile)
	OR ARRAY(SELECT jsonb_array_elements_text(warnings) w ORDER BY w) IS DISTINCT FROM ARRAY(SELECT unnest((said).warnings) w ORDER BY w)
ORDER BY file;

-- The same through the merge and the grouping, each report by itself.
CREATE TEMPORARY TABLE decided AS
SELECT s.*, unified, bt.decide_transfer(unified, p) AS decision
FROM sample s, bt.policy p, LATERAL bt.unify(ARRAY[s.said]) unified
WHERE s.outcome <> 'failed';

SELECT file, d.groups, array_agg((c.lender, cardinality(c.loan_ids), c.outstanding)) AS found
FROM decided d LEFT JOIN LATERAL unnest((d.decision).candidates) c ON true
GROUP BY file, d.groups
HAVING ARRAY(SELECT (g.lender, g.members, g.outstanding) FROM jsonb_to_recordset(d.groups) AS g(lender text, members integer, outstanding numeric)
		ORDER BY g.lender, g.outstanding)
	<> array_agg((c.lender, cardinality(c.loan_ids), c.outstanding) ORDER BY c.lender, c.outstanding) FILTER (WHERE c.group_key IS NOT NULL)
	OR jsonb_array_length(d.groups) <> count(c.group_key)
ORDER BY file;

SELECT d.file
FROM decided d
CROSS JOIN LATERAL (
	SELECT count(*) FILTER (WHERE (l.facts).status IN ('active', 'open_adverse')) AS open,
		coalesce(sum(greatest((l.facts).balance, 0)) FILTER (WHERE (l.facts).status IN ('active', 'open_adverse', 'unknown')), 0) AS total
	FROM unnest((d.unified).loans) l) t
CROSS JOIN LATERAL (
	SELECT count(*) FILTER (WHERE r <> 'lap') AS home_loans, coalesce(sum((l.facts).balance) FILTER (WHERE r <> 'lap'), 0) AS home_outstanding
	FROM unnest((d.decision).candidates) c CROSS JOIN LATERAL unnest(c.loan_ids, c.roles) AS m(id, r)
	JOIN unnest((d.unified).loans) l ON l.loan_id = m.id) h
WHERE (d.open, d.total_outstanding, d.active_home_loans, d.home_loan_outstanding) <> (t.open, t.total, h.home_loans, h.home_outstanding);

-- One borrower in four bureaus, whatever the order they are given in.
SELECT l.bureaus, (l.facts).lender_family, (l.facts).account_type, (l.facts).opened, (l.facts).sanctioned, (l.facts).balance, (l.facts).rate,
	(l.facts).emi, (l.facts).tenure_months, (l.facts).holder, l.disagreements
FROM unnest((bt.unify(ARRAY(SELECT said FROM sample WHERE file LIKE 'u01%' ORDER BY file))).loans) l
ORDER BY (l.facts).position;

SELECT count(DISTINCT bt.unify(ARRAY[a.said, b.said, c.said, d.said])) AS answers, count(*) AS orders
FROM sample a, sample b, sample c, sample d
WHERE a.file LIKE 'u01%' AND b.file LIKE 'u01%' AND c.file LIKE 'u01%' AND d.file LIKE 'u01%'
	AND a.file <> b.file AND a.file <> c.file AND a.file <> d.file AND b.file <> c.file AND b.file <> d.file AND c.file <> d.file;

-- All of them through the pipeline, each for a lead of its own; the four of one borrower for one lead.
INSERT INTO bt.credit_report (mobile, body)
SELECT '+91 ' || 7000000000 + CASE WHEN file LIKE 'u01%' THEN 0 ELSE row_number() OVER (ORDER BY file) END, pg_temp.sample(file) FROM sample ORDER BY file;
INSERT INTO bt.lead (mobile) SELECT DISTINCT '0' || bt.mobile_number(mobile) FROM bt.credit_report ORDER BY 1;
CALL backfill.run('bt_leads') \g /dev/null
SELECT * FROM pg_temp.last_run();
SELECT status, count(*) FROM bt.lead GROUP BY 1 ORDER BY 1;

-- What is stored is what was read.
SELECT count(*) AS readings, count(*) FILTER (WHERE bt._reading(n) IS DISTINCT FROM bt.read_report(r.body)) AS other_than_read
FROM bt.normalized_report n JOIN bt.credit_report r ON r.id = n.credit_report_id WHERE n.outcome <> 'failed';

-- And what is stored is what was merged.
SELECT count(*) AS unified, count(*) FILTER (WHERE bt._unified_reading(u) IS DISTINCT FROM bt.unify(ARRAY(
	SELECT bt._reading(n) FROM bt.normalized_report n WHERE n.id = ANY (u.sources)))) AS other_than_merged
FROM bt.unified_report u;

CALL backfill.run('bt_leads') \g /dev/null
SELECT * FROM pg_temp.last_run();
SELECT * FROM backfill.check_invariants();

-- The code tables, to join to.
SELECT l.account_type, t.name, t.loan_class, count(*)
FROM bt.tradeline l LEFT JOIN bt.account_type t ON t.code = l.account_type GROUP BY 1, 2, 3 ORDER BY 1 LIMIT 4;
SELECT 'account_type' AS code_table, count(*) > 0 AS filled FROM bt.account_type
UNION ALL SELECT 'account_status', count(*) > 0 FROM bt.account_status
UNION ALL SELECT 'holder_code', count(*) > 0 FROM bt.holder_code
UNION ALL SELECT 'account_type_text', count(*) > 0 FROM bt.account_type_text
UNION ALL SELECT 'status_text', count(*) > 0 FROM bt.status_text
UNION ALL SELECT 'written_off_settled_code', count(*) > 0 FROM bt.written_off_settled_code
UNION ALL SELECT 'suit_filed_code', count(*) > 0 FROM bt.suit_filed_code
UNION ALL SELECT 'other_code', count(*) > 0 FROM bt.other_code
UNION ALL SELECT 'lender_alias', count(*) > 0 FROM bt.lender_alias;

SELECT backfill.drop_pipeline('bt_leads');
