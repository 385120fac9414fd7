-- What befalls leads and reports in the course of time, one story a mobile number.
\getenv test_folder PG_ABS_SRCDIR
\set helper :test_folder '/data/leads.psql'
\set ECHO none
\i :helper
-- Shown after each run: what it did to whom.
CREATE FUNCTION pg_temp.story(pattern text) RETURNS TABLE (lead bigint, status text, group_reason text, groups text, transfers text, readings bigint)
	LANGUAGE sql AS $$
	SELECT l.id, l.status, g.reason,
		(SELECT string_agg(x.group_key || ' ' || x.outstanding, ', ' ORDER BY x.group_key) FROM bt.loan_group x WHERE x.mobile = bt.mobile_number(l.mobile)),
		(SELECT string_agg(concat_ws(' ', b.group_key, b.state, b.withdrawn_reason), ', ' ORDER BY b.group_key) FROM bt.balance_transfer b
			WHERE b.mobile = bt.mobile_number(l.mobile)),
		(SELECT count(*) FROM bt.received_report r WHERE r.mobile = bt.mobile_number(l.mobile) AND r.normalized_report_id IS NOT NULL)
	FROM bt.lead l LEFT JOIN bt.loan_grouping g ON g.mobile = bt.mobile_number(l.mobile)
	WHERE bt.mobile_number(l.mobile) ~ ('^' || pattern || '$') ORDER BY l.id $$;
-- The part of a run that concerns some leads: the steps that did something to them.
CREATE FUNCTION pg_temp.done_to(VARIADIC leads bigint[]) RETURNS TABLE (item text, step text, status text, reason text)
	LANGUAGE sql AS $$
	SELECT e.item, e.step, e.status, e.reason FROM backfill.step_event e
	WHERE e.run_id = (SELECT max(run_id) FROM backfill.run) AND e.item = ANY (leads::text[])
	ORDER BY e.item::bigint, array_position('{fetch_report,normalize_report,unify_reports,group_loans,update_web_status}', e.step) $$;
\set ECHO all

-- 1, 3. Two leads of one mobile, which everybody writes differently, and one that is none.
INSERT INTO bt.lead (id, mobile) VALUES (101, '+91 70000 00001'), (102, '07000000001'), (103, '022-2345 6789');
INSERT INTO bt.credit_report (mobile, body) VALUES ('917000000001', pg_temp.report('20261125', pg_temp.one(pg_temp.loan())));
CALL backfill.run('bt_leads') \g /dev/null
SELECT * FROM pg_temp.story('7000000001');
SELECT lead_id, from_status, to_status FROM bt.web_status_event ORDER BY lead_id;
SELECT * FROM bt.fetch_report_lacking('{101,102,103}');
SELECT * FROM bt.fetch_report('{103}');

-- 2, 22. Closed, deleted and consent revoked before the run comes: nothing is written.
INSERT INTO bt.lead (id, mobile, status, consent) VALUES (201, '7000000002', 'closed', NULL), (202, '7000000003', 'initiated', false), (203, '7000000004', 'initiated', NULL);
INSERT INTO bt.credit_report (mobile, body) SELECT m, pg_temp.report('20261125', pg_temp.one(pg_temp.loan())) FROM unnest('{7000000002,7000000003,7000000004}'::text[]) m;
DELETE FROM bt.lead WHERE id = 203;
SELECT * FROM bt.fetch_report_lacking('{101,201,202,203}') ORDER BY 1;
SELECT * FROM bt.fetch_report('{201,202,203}') ORDER BY key;
CALL backfill.run('bt_leads') \g /dev/null
SELECT * FROM pg_temp.story('700000000[234]');
SELECT * FROM pg_temp.done_to(202);
SELECT count(*) FROM bt.normalized_report n JOIN bt.credit_report r ON r.id = n.credit_report_id WHERE r.mobile IN ('7000000002', '7000000003', '7000000004');

-- 4, 6. Several reports: the newest by the report's own day counts, and an older one that is delivered late does not.
INSERT INTO bt.lead (id, mobile) VALUES (401, '7000000005');
INSERT INTO bt.credit_report (id, mobile, body) OVERRIDING SYSTEM VALUE VALUES
	(4001, '7000000005', pg_temp.report('20261125', pg_temp.one(pg_temp.loan('2500000')))),
	(4002, '7000000005', pg_temp.report('20261101', pg_temp.one(pg_temp.loan('2600000'))));
CALL backfill.run('bt_leads') \g /dev/null
SELECT * FROM pg_temp.story('7000000005');
UPDATE bt.lead SET status = 'initiated' WHERE id = 401;
INSERT INTO bt.credit_report (id, mobile, body) OVERRIDING SYSTEM VALUE VALUES (4003, '7000000005', pg_temp.report('20261115', pg_temp.one(pg_temp.loan('2700000'))));
CALL backfill.run('bt_leads') \g /dev/null
SELECT * FROM pg_temp.done_to(401);
SELECT * FROM pg_temp.story('7000000005');

-- 5. A re-pull with new figures is new data; with the same figures it is not.
UPDATE bt.lead SET status = 'initiated' WHERE id = 401;
INSERT INTO bt.credit_report (id, mobile, body) OVERRIDING SYSTEM VALUE VALUES (4004, '7000000005', pg_temp.report('20261126', pg_temp.one(pg_temp.loan('2450000'))));
CALL backfill.run('bt_leads') \g /dev/null
SELECT * FROM pg_temp.done_to(401);
SELECT * FROM pg_temp.story('7000000005');
UPDATE bt.lead SET status = 'initiated' WHERE id = 401;
INSERT INTO bt.credit_report (id, mobile, body) OVERRIDING SYSTEM VALUE VALUES (4005, '7000000005', pg_temp.report('20261127', pg_temp.one(pg_temp.loan('2450000'))));
CALL backfill.run('bt_leads') \g /dev/null
SELECT * FROM pg_temp.done_to(401);

-- 7. The same body delivered again: nothing at all.
INSERT INTO bt.lead (id, mobile) VALUES (701, '7000000007');
INSERT INTO bt.credit_report (mobile, body) VALUES ('7000000007', pg_temp.report('20261125'));
CALL backfill.run('bt_leads') \g /dev/null
SELECT * FROM pg_temp.story('7000000007');
INSERT INTO bt.credit_report (mobile, body) VALUES ('+917000000007', pg_temp.report('20261125'));
CALL backfill.run('bt_leads') \g /dev/null
SELECT * FROM pg_temp.done_to(701);
SELECT * FROM pg_temp.story('7000000007');
-- But if the first delivery goes away, the second one is read.
DELETE FROM bt.credit_report WHERE mobile = '7000000007';
CALL backfill.run('bt_leads') \g /dev/null
SELECT * FROM pg_temp.done_to(701);

-- 8, 13. Skipped yesterday; the report is updated in place: it fires.
UPDATE bt.credit_report SET body = pg_temp.report('20261126', pg_temp.one(pg_temp.loan('1900000'))) WHERE mobile = '+917000000007';
CALL backfill.run('bt_leads') \g /dev/null
SELECT * FROM pg_temp.done_to(701);
SELECT * FROM pg_temp.story('7000000007');
SELECT from_status, to_status, reason FROM bt.web_status_event WHERE lead_id = 701 ORDER BY id;

-- 14. Fired, and a later report shows the loan closed: the group goes, the transfer is marked, the lead is not taken back.
-- A live run does not look at leads that have moved on; a replay of the day does.
INSERT INTO bt.credit_report (mobile, body, received_at)
VALUES ('7000000007', pg_temp.report('20261127', pg_temp.one(pg_temp.loan('0', '13', '20261120'))), '2026-03-10 12:00+05:30');
SELECT count(*) AS replays FROM backfill.replay('bt_leads', '2026-03-10', '2026-03-11');
CALL backfill.run_requested('bt_leads');
SELECT * FROM pg_temp.done_to(701);
SELECT * FROM pg_temp.story('7000000007');
-- Another loan of the same lender later: the same transfer opens again.
INSERT INTO bt.credit_report (mobile, body) VALUES ('7000000007', pg_temp.report('20261128', pg_temp.one(pg_temp.loan('900000', number => 'XXXX7777'))));
SELECT key, (outcome).status, (outcome).reason FROM bt.normalize_report('{701}');
SELECT key, (outcome).status, (outcome).reason FROM bt.unify_reports('{701}');
SELECT key, (outcome).status, (outcome).reason FROM bt.group_loans('{701}');
SELECT * FROM bt.update_web_status_lacking('{701}');
SELECT * FROM pg_temp.story('7000000007');

-- 18. A degraded re-pull is kept, and shadows nothing.
INSERT INTO bt.lead (id, mobile) VALUES (1801, '7000000018');
INSERT INTO bt.credit_report (mobile, body) VALUES ('7000000018', pg_temp.report('20261125', pg_temp.one(pg_temp.loan('0'))));
CALL backfill.run('bt_leads') \g /dev/null
INSERT INTO bt.credit_report (mobile, body) VALUES ('7000000018', pg_temp.report('20261126', pg_temp.one(pg_temp.loan('5000000')), NULL, 3));
CALL backfill.run('bt_leads') \g /dev/null
SELECT * FROM pg_temp.done_to(1801);
SELECT * FROM pg_temp.story('7000000018');

-- 17, 19, 25. A no-hit, an answer that asks for another call, and rubbish; then a hit; then a no-hit again, which erases nothing.
INSERT INTO bt.lead (id, mobile) VALUES (1901, '7000000019'), (1902, '7000000020'), (1903, '7000000021');
INSERT INTO bt.credit_report (mobile, body) VALUES ('7000000019', pg_temp.sample('s06_no_record_102.json')),
	('7000000020', pg_temp.sample('s07_masked_mobile_102.json')), ('7000000020', pg_temp.sample('s06_no_record_102.json')), ('7000000021', '\x00ff');
CALL backfill.run('bt_leads') \g /dev/null
SELECT * FROM pg_temp.done_to(1901, 1902, 1903);
SELECT * FROM pg_temp.story('70000000(19|20|21)');
CALL backfill.run('bt_leads') \g /dev/null
SELECT * FROM pg_temp.done_to(1901, 1902, 1903);
INSERT INTO bt.credit_report (mobile, body) SELECT m, pg_temp.report('20261125', pg_temp.one(pg_temp.loan('0'))) FROM unnest('{7000000019,7000000020,7000000021}'::text[]) m;
CALL backfill.run('bt_leads') \g /dev/null
SELECT * FROM pg_temp.done_to(1901, 1902, 1903);
INSERT INTO bt.credit_report (mobile, body) VALUES ('7000000019', pg_temp.sample('s11_sys100004.xml'));
CALL backfill.run('bt_leads') \g /dev/null
SELECT * FROM pg_temp.done_to(1901);
SELECT * FROM pg_temp.story('7000000019');

-- 20. A reader that has changed makes nothing stale; renormalizing is asked for.
UPDATE bt.normalized_report n SET reader_version = 0 FROM bt.credit_report r WHERE r.id = n.credit_report_id AND r.mobile LIKE '%7000000019';
CALL backfill.run('bt_leads') \g /dev/null
SELECT * FROM pg_temp.done_to(1901);
UPDATE bt.credit_report SET received_at = '2026-03-11 12:00+05:30' WHERE mobile LIKE '%7000000019';
SELECT count(*) AS replays FROM bt.renormalize('2026-03-11', '2026-03-12');
CALL backfill.run_requested('bt_leads');
SELECT * FROM pg_temp.done_to(1901);
SELECT bool_and(n.reader_version = bt.reader_version()) AS all_read_again, count(*)
FROM bt.normalized_report n JOIN bt.credit_report r ON r.id = n.credit_report_id WHERE r.mobile LIKE '%7000000019';
SELECT * FROM pg_temp.story('7000000019');

-- 21. The lead's mobile was wrong: everything follows the new one.
INSERT INTO bt.lead (id, mobile) VALUES (2101, '7000000022');
INSERT INTO bt.credit_report (mobile, body) VALUES ('7000000022', pg_temp.report('20261125')), ('7000000023', pg_temp.report('20261125', pg_temp.one(pg_temp.loan())));
CALL backfill.run('bt_leads') \g /dev/null
SELECT * FROM pg_temp.story('700000002[23]');
UPDATE bt.lead SET mobile = '7000000023' WHERE id = 2101;
CALL backfill.run('bt_leads') \g /dev/null
SELECT * FROM pg_temp.story('700000002[23]');

-- 23. Two bureaus, two PANs, one mobile: a warning, and a stop if the policy says so.
INSERT INTO bt.lead (id, mobile) VALUES (2301, '7000000024');
INSERT INTO bt.credit_report (mobile, body) VALUES ('7000000024', pg_temp.sample('u01_cibil.json')), ('7000000024', pg_temp.sample('u01_experian.json'));
UPDATE bt.credit_report SET body = convert_to(replace(convert_from(body, 'UTF8'), 'AAAPN0040A', 'ZZZPN9999Z'), 'UTF8')
WHERE id = (SELECT min(id) FROM bt.credit_report WHERE mobile = '7000000024');
BEGIN;
UPDATE bt.policy SET identity_mismatch_fires = false;
SELECT key, (outcome).status, (outcome).reason FROM bt.normalize_report('{2301}');
SELECT key, (outcome).status, (outcome).reason FROM bt.unify_reports('{2301}');
SELECT key, (outcome).status, (outcome).reason FROM bt.group_loans('{2301}');
SELECT warnings FROM bt.unified_report WHERE mobile = '7000000024';
COMMIT;
-- A changed policy makes the groups stale, of these leads and nobody's before they are looked at.
UPDATE bt.policy SET identity_mismatch_fires = true;
SELECT * FROM bt.group_loans_lacking('{2301}');
CALL backfill.run('bt_leads') \g /dev/null
SELECT * FROM pg_temp.done_to(2301);
SELECT reason, warnings FROM bt.loan_grouping WHERE mobile = '7000000024';

-- 9, 11. Arrived before the range, exactly at its start, at its end, and in the future.
INSERT INTO bt.lead (id, mobile, status_changed_at) SELECT 900 + n, '710000000' || n, '2026-01-01' FROM generate_series(1, 5) n;
INSERT INTO bt.credit_report (mobile, body, received_at)
SELECT '710000000' || n, pg_temp.report('20261125'), at FROM (VALUES (1, '2026-03-03 23:59:59.999999+00'::timestamptz), (2, '2026-03-04 00:00+00'),
	(3, '2026-03-04 23:59:59.999999+00'), (4, '2026-03-05 00:00+00'), (5, '2199-01-01 00:00+00')) v(n, at);
SELECT * FROM bt.candidates('2026-03-04 00:00+00', '2026-03-05 00:00+00') ORDER BY 1;
SELECT lead_id FROM bt.candidates('2026-03-05 00:00+00', '2027-01-01') c WHERE lead_id BETWEEN 900 AND 909;
-- An item's time is the newest arrival in the range; a new lead comes in by itself, with or without a report.
INSERT INTO bt.credit_report (mobile, body, received_at) VALUES ('7100000002', pg_temp.report('20261126'), '2026-03-04 12:00+00');
INSERT INTO bt.lead (id, mobile, status_changed_at) VALUES (910, '7100000010', '2026-03-04 01:00+00'), (911, '7100000001', '2026-03-04 02:00+00');
SELECT * FROM bt.candidates('2026-03-04 00:00+00', '2026-03-05 00:00+00') ORDER BY 1;
-- The future report is not a candidate, but it is a report.
SELECT * FROM bt.fetch_report_lacking('{905,910}');

-- 12. Days are India's, whatever the session's time zone.
SELECT z AS zone, (SELECT said.report_at AT TIME ZONE 'UTC' FROM (SELECT set_config('timezone', z, true)) s, bt.read_report(pg_temp.report('20261125')) said) AS report_at_utc
FROM unnest('{UTC,Asia/Kolkata,America/New_York}'::text[]) z;
RESET timezone;
SET timezone = 'UTC';

-- 15, 24. Stopped after each step: the next run goes on from there, and what is there stays as it is, row by row.
CREATE TEMPORARY TABLE there (made text, at tid, by xid);
CREATE FUNCTION pg_temp.rows_of(mobile text) RETURNS TABLE (made text, at tid, by xid) LANGUAGE sql AS $$
	SELECT 'normalized_report', n.ctid, n.xmin FROM bt.normalized_report n JOIN bt.credit_report r ON r.id = n.credit_report_id WHERE r.mobile = rows_of.mobile
	UNION ALL SELECT 'tradeline', t.ctid, t.xmin FROM bt.tradeline t JOIN bt.normalized_report n ON n.id = t.normalized_report_id
		JOIN bt.credit_report r ON r.id = n.credit_report_id WHERE r.mobile = rows_of.mobile
	UNION ALL SELECT 'unified_report', u.ctid, u.xmin FROM bt.unified_report u WHERE u.mobile = rows_of.mobile
	UNION ALL SELECT 'unified_loan', u.ctid, u.xmin FROM bt.unified_loan u WHERE u.mobile = rows_of.mobile
	UNION ALL SELECT 'loan_grouping', g.ctid, g.xmin FROM bt.loan_grouping g WHERE g.mobile = rows_of.mobile
	UNION ALL SELECT 'loan_group', g.ctid, g.xmin FROM bt.loan_group g WHERE g.mobile = rows_of.mobile
	UNION ALL SELECT 'balance_transfer', b.ctid, b.xmin FROM bt.balance_transfer b WHERE b.mobile = rows_of.mobile $$;
INSERT INTO bt.lead (id, mobile) SELECT 1500 + n, '720000000' || n FROM generate_series(1, 5) n;
INSERT INTO bt.credit_report (mobile, body) SELECT '720000000' || n, pg_temp.report('20261125', pg_temp.one(pg_temp.loan())) FROM generate_series(1, 5) n;
SELECT key, (outcome).status, (outcome).reason FROM bt.normalize_report('{1502,1503,1504,1505}');
SELECT key, (outcome).status, (outcome).reason FROM bt.unify_reports('{1503,1504,1505}');
SELECT key, (outcome).status, (outcome).reason FROM bt.group_loans('{1504,1505}');
SELECT key, (outcome).status, (outcome).reason FROM bt.update_web_status('{1505}');
INSERT INTO there SELECT r.* FROM generate_series(2, 5) n, pg_temp.rows_of('720000000' || n) r;
SELECT made, count(*) FROM there GROUP BY made ORDER BY made;
CALL backfill.run('bt_leads') \g /dev/null
SELECT * FROM pg_temp.done_to(1501, 1502, 1503, 1504, 1505);
SELECT count(*) AS touched FROM (SELECT * FROM there EXCEPT SELECT r.* FROM generate_series(2, 5) n, pg_temp.rows_of('720000000' || n) r) x;
SELECT * FROM pg_temp.story('720000000.');

-- Whom another policy would concern, before it is the policy; nothing changes, and a setting that is none is refused.
INSERT INTO bt.lead (id, mobile) VALUES (9001, '7000000091'), (9002, '7000000092');
INSERT INTO bt.credit_report (mobile, body) SELECT l.mobile, s.body
FROM bt.lead l, LATERAL (SELECT pg_temp.report('20261125', pg_temp.one(pg_temp.loan())) AS body) s WHERE l.id IN (9001, 9002);
CALL backfill.run('bt_leads') \g /dev/null
SELECT lead_id, status, reason, would_be_reason, groups, would_be_groups FROM bt.rehearse_policy('{"outstanding_above": 100000000}') WHERE lead_id > 9000;
SELECT count(*) FROM bt.rehearse_policy('{}') WHERE lead_id > 9000;
SELECT bt.rehearse_policy('{"home_loans": [2]}');
SELECT outstanding_above FROM bt.policy;

SELECT * FROM backfill.check_invariants();
SELECT backfill.drop_pipeline('bt_leads');
