-- The leads job as people write it without an engine, twice: item by item in PL/pgSQL, with a check and an exception block,
-- and one INSERT ... SELECT a step over all items. Both write the tables that the pipeline writes, for bare Experian JSON
-- and the default policy, and do less: no other form, no other bureau, no warnings, no masked lenders, no duplicates, no
-- messages, no locks, no record of what they did. What identifies a report's contents is the body's own hash.

-- What a body says. Functions of SQL, so that they are inlined.
CREATE FUNCTION bench.tradelines(report jsonb)
	RETURNS TABLE (n bigint, lender text, number text, type int, status int, holder text, opened text, closed text, reported text, paid text,
		sanctioned numeric, balance numeric, past_due numeric, emi numeric, written_off numeric, rate numeric, tenure int,
		newest text, dpd int[])
	LANGUAGE sql STABLE AS $$
	SELECT a.n, a."Subscriber_Name", a."Account_Number", a."Account_Type", a."Account_Status", a."AccountHoldertypeCode", a."Open_Date",
		a."Date_Closed", a."Date_Reported", a."Date_of_Last_Payment", a."Highest_Credit_or_Original_Loan_Amount", a."Current_Balance",
		a."Amount_Past_Due", a."Scheduled_Monthly_Payment_Amount", a."Written_Off_Amt_Total", a."Rate_of_Interest", a."Repayment_Tenure",
		h.newest, h.dpd
	FROM ROWS FROM (jsonb_to_recordset(report #> '{CAIS_Account,CAIS_Account_DETAILS}') AS (
			"Subscriber_Name" text, "Account_Number" text, "Account_Type" int, "Account_Status" int, "AccountHoldertypeCode" text, "Open_Date" text,
			"Date_Closed" text, "Date_Reported" text, "Date_of_Last_Payment" text, "Highest_Credit_or_Original_Loan_Amount" numeric,
			"Current_Balance" numeric, "Amount_Past_Due" numeric, "Scheduled_Monthly_Payment_Amount" numeric, "Written_Off_Amt_Total" numeric,
			"Rate_of_Interest" numeric, "Repayment_Tenure" int, "CAIS_Account_History" jsonb)) WITH ORDINALITY AS a ("Subscriber_Name",
			"Account_Number", "Account_Type", "Account_Status", "AccountHoldertypeCode", "Open_Date", "Date_Closed", "Date_Reported",
			"Date_of_Last_Payment", "Highest_Credit_or_Original_Loan_Amount", "Current_Balance", "Amount_Past_Due",
			"Scheduled_Monthly_Payment_Amount", "Written_Off_Amt_Total", "Rate_of_Interest", "Repayment_Tenure", "CAIS_Account_History", n)
	-- Newest first, no month left out, as in the reports of this bench.
	CROSS JOIN LATERAL (
		SELECT max(m."Year" || m."Month" || '01') AS newest, array_agg(m."Days_Past_Due") AS dpd
		FROM jsonb_to_recordset(a."CAIS_Account_History") AS m ("Year" text, "Month" text, "Days_Past_Due" int)) h
$$;

CREATE VIEW bench.unread_report AS
	SELECT r.id AS credit_report_id, r.mobile, r.sha256, convert_from(r.body, 'UTF8')::jsonb -> 'INProfileResponse' AS report
	FROM bt.credit_report r
	WHERE NOT EXISTS (SELECT FROM bt.normalized_report n WHERE n.credit_report_id = r.id AND n.body_sha256 = r.sha256);

CREATE FUNCTION bench.normalize(keys bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	WITH report AS MATERIALIZED (
		SELECT nextval('bt.normalized_report_id_seq') AS id, u.*
		FROM unnest(keys) k JOIN bt.lead l ON l.id = k JOIN bench.unread_report u ON bt.mobile_number(u.mobile) = bt.mobile_number(l.mobile)
	), tradeline AS MATERIALIZED (
		SELECT report.id, t.* FROM report, bench.tradelines(report.report) t
	), normalized AS (
		INSERT INTO bt.normalized_report (id, credit_report_id, body_sha256, reader_version, outcome, reason, complete, bureau, report_at,
			semantic_sha256, score, loans, report_number, mobile, name, pan, warnings, warning_fields)
		SELECT r.id, r.credit_report_id, r.sha256, 1, CASE WHEN t.active > 0 THEN 'ok' ELSE 'skipped' END,
			CASE WHEN t.active = 0 THEN 'no_active_home_loan' END,
			score IS NOT NULL AND t.loans >= (r.report #>> '{CAIS_Account,CAIS_Summary,Credit_Account,CreditAccountTotal}')::int, 'experian',
			to_timestamp((r.report #>> '{CreditProfileHeader,ReportDate}') || (r.report #>> '{CreditProfileHeader,ReportTime}'), 'YYYYMMDDHH24MISS')
				AT TIME ZONE 'UTC' AT TIME ZONE 'Asia/Kolkata',
			r.sha256, score, t.loans, r.report #>> '{CreditProfileHeader,ReportNumber}', bt.mobile_number(a ->> 'MobilePhoneNumber'),
			upper(concat_ws(' ', a ->> 'First_Name', a ->> 'Last_Name')), a ->> 'IncomeTaxPan', '{}', '{}'
		FROM report r
		CROSS JOIN LATERAL (SELECT (r.report #>> '{SCORE,BureauScore}')::int AS score,
			r.report #> '{Current_Application,Current_Application_Details,Current_Applicant_Details}' AS a) x
		JOIN (SELECT id, count(*) AS loans, count(*) FILTER (WHERE type IN (2, 42, 44) AND status = 11 AND closed IS NULL AND balance > 0) AS active
			FROM tradeline GROUP BY id) t USING (id)
	)
	INSERT INTO bt.tradeline
	SELECT t.id, t.n, upper(t.lender), upper(t.lender), false, t.number, substring(t.number FROM '[1-9][0-9]{3,11}$'), t.type, t.status::text,
		CASE WHEN t.closed IS NOT NULL OR t.status BETWEEN 12 AND 17 THEN 'closed' ELSE 'active' END,
		CASE t.holder WHEN '1' THEN 'individual' WHEN '2' THEN 'joint' WHEN '7' THEN 'guarantor' ELSE 'unknown' END, t.opened::date, t.closed::date,
		t.reported::date, t.paid::date, t.sanctioned, t.balance, t.past_due, t.emi, t.written_off, t.rate, t.tenure, t.dpd[1], t.newest::date, t.dpd
	FROM tradeline t;
END $$;

CREATE FUNCTION bench.unify(keys bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	WITH best AS MATERIALIZED (
		SELECT DISTINCT ON (bt.mobile_number(l.mobile)) bt.mobile_number(l.mobile) AS mobile, n.id, n.bureau,
			n.semantic_sha256, n.report_at, n.score
		FROM unnest(keys) k JOIN bt.lead l ON l.id = k
		JOIN bt.credit_report r ON bt.mobile_number(r.mobile) = bt.mobile_number(l.mobile)
		JOIN bt.normalized_report n ON n.credit_report_id = r.id AND n.body_sha256 = r.sha256 AND n.usable
		LEFT JOIN bt.unified_report u ON u.mobile = bt.mobile_number(l.mobile)
		WHERE u.fingerprint IS DISTINCT FROM '0'::bytea || n.semantic_sha256
		ORDER BY 1, n.complete DESC, n.report_at DESC, r.received_at DESC, r.id DESC
	), report AS (
		INSERT INTO bt.unified_report (mobile, fingerprint, sources, warnings, warning_fields, report_at, experian_score)
		SELECT mobile, '0'::bytea || semantic_sha256, ARRAY[id], '{}', '{}', report_at, score FROM best
	)
	INSERT INTO bt.unified_loan
	SELECT b.mobile, md5(concat_ws(' ', b.bureau, t.account_type, t.opened, t.sanctioned, t.number_tail)), ARRAY[b.bureau], ARRAY[t.position], NULL, NULL,
		row_number() OVER (PARTITION BY b.mobile ORDER BY t.opened, t.account_type, t.sanctioned), t.lender, t.lender_family, t.lender_masked,
		t.account_number, t.number_tail, t.account_type, t.status_code, t.status, t.holder, t.opened, t.closed, t.reported, t.last_payment,
		t.sanctioned, t.balance, t.past_due, t.emi, t.written_off, t.rate, t.tenure_months, t.dpd, t.history_newest, t.history_dpd
	FROM best b JOIN bt.tradeline t ON t.normalized_report_id = b.id;
END $$;

CREATE FUNCTION bench.group_loans(keys bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	WITH due AS MATERIALIZED (
		SELECT u.mobile, u.fingerprint, u.report_at, u.experian_score AS score, p.fingerprint AS policy_fingerprint
		FROM unnest(keys) k JOIN bt.lead l ON l.id = k JOIN bt.unified_report u ON u.mobile = bt.mobile_number(l.mobile)
		JOIN bt.policy p ON p.is_in_force
		LEFT JOIN bt.loan_grouping g ON g.mobile = u.mobile AND g.unified_fingerprint = u.fingerprint AND g.policy_fingerprint = p.fingerprint
		WHERE g.mobile IS NULL
	), loan AS MATERIALIZED (
		SELECT d.score, (d.report_at AT TIME ZONE 'Asia/Kolkata')::date AS report_day, l.*, l.account_type IN (2, 42, 44) AS is_home,
			row_number() OVER (PARTITION BY d.mobile, l.lender_family ORDER BY l.account_type NOT IN (2, 42, 44), l.sanctioned DESC, l.opened, l.balance DESC) AS rank
		FROM due d JOIN bt.unified_loan l ON l.mobile = d.mobile
		WHERE l.account_type IN (2, 42, 44, 3) AND l.status = 'active' AND l.balance > 0 AND l.holder IN ('individual', 'joint', 'unknown')
	), candidate AS MATERIALIZED (
		SELECT mobile, lender_family, sum(balance) AS outstanding, array_agg(loan_id::text ORDER BY rank) AS loan_ids,
			array_agg(CASE WHEN rank = 1 THEN 'primary' WHEN is_home THEN 'topup' ELSE 'lap' END ORDER BY rank) AS roles
		FROM loan GROUP BY mobile, lender_family HAVING bool_or(is_home)
	), grouping AS (
		INSERT INTO bt.loan_grouping (mobile, unified_fingerprint, policy_fingerprint, reason, warnings, warning_fields)
		SELECT d.mobile, d.fingerprint, d.policy_fingerprint, CASE WHEN c.mobile IS NULL THEN 'no_active_home_loan' END, '{}', '{}'
		FROM due d LEFT JOIN (SELECT DISTINCT mobile FROM candidate) c USING (mobile)
	), loan_group AS (
		INSERT INTO bt.loan_group (mobile, group_key, lender, lender_masked, outstanding, loan_ids, roles)
		SELECT mobile, lender_family, lender_family, false, outstanding, loan_ids, roles FROM candidate
	)
	INSERT INTO bt.balance_transfer (mobile, group_key, lender, outstanding, seasoning_months, days_past_due_3, days_past_due_6, days_past_due_12,
		score, rate, rate_inferred, tenure_left_months, emi, emi_computed, missing)
	SELECT c.mobile, c.lender_family, c.lender_family, c.outstanding, m.seasoning, h.dpd_3, h.dpd_6, h.dpd_12, l.score, l.rate, false,
		CASE WHEN l.tenure_months > m.seasoning THEN l.tenure_months - m.seasoning END, l.emi, false,
		CASE WHEN l.tenure_months > m.seasoning THEN '{}' ELSE '{tenure}'::text[] END
	FROM candidate c
	JOIN loan l ON l.mobile = c.mobile AND l.lender_family = c.lender_family AND l.rank = 1
	CROSS JOIN LATERAL (SELECT extract(year FROM age(l.report_day, l.opened))::int * 12 + extract(month FROM age(l.report_day, l.opened))::int AS seasoning) m
	CROSS JOIN LATERAL (
		SELECT greatest(l.dpd, max(e.dpd) FILTER (WHERE e.age < 3)) AS dpd_3, greatest(l.dpd, max(e.dpd) FILTER (WHERE e.age < 6)) AS dpd_6,
			greatest(l.dpd, max(e.dpd) FILTER (WHERE e.age < 12)) AS dpd_12
		FROM (SELECT e.dpd, e.n - 1 + (extract(year FROM l.reported) - extract(year FROM l.history_newest)) * 12
				+ extract(month FROM l.reported) - extract(month FROM l.history_newest) AS age
			FROM unnest(l.history_dpd) WITH ORDINALITY AS e (dpd, n)) e) h;
END $$;

CREATE FUNCTION bench.move(keys bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	WITH due AS MATERIALIZED (
		SELECT l.id, l.status AS from_status, CASE WHEN g.fires THEN 'options_ready' ELSE 'no_home_loan' END AS to_status,
			l.status_changed_at AS since, g.reason
		FROM unnest(keys) k JOIN bt.lead l ON l.id = k JOIN bt.loan_grouping g ON g.mobile = bt.mobile_number(l.mobile)
		WHERE (l.status = 'initiated' OR l.status = 'no_home_loan' AND g.fires) AND l.consent IS NOT FALSE
	), moved AS (
		UPDATE bt.lead l SET status = due.to_status FROM due WHERE l.id = due.id AND l.status = due.from_status RETURNING due.*
	)
	INSERT INTO bt.web_status_event (lead_id, from_status, to_status, since, reason)
	SELECT id, from_status, to_status, since, reason FROM moved;
END $$;

-- All items, one statement a step.
CREATE PROCEDURE bench.set_based(keys bigint[]) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM bench.normalize(keys);
	PERFORM bench.unify(keys);
	PERFORM bench.group_loans(keys);
	PERFORM bench.move(keys);
END $$;

-- One item after the other; what an item needs is looked for before it is made, and a failure costs that item only.
CREATE PROCEDURE bench.item_by_item(keys bigint[], INOUT failed int DEFAULT 0) LANGUAGE plpgsql AS $$
DECLARE
	lead bt.lead;
	number text;
	k bigint;
	done int := 0;
BEGIN
	failed := 0;
	FOREACH k IN ARRAY keys LOOP
		BEGIN
			SELECT * INTO lead FROM bt.lead l WHERE l.id = k;
			number := bt.mobile_number(lead.mobile);
			IF NOT EXISTS (SELECT FROM bt.credit_report r WHERE bt.mobile_number(r.mobile) = number) THEN
				CONTINUE;
			END IF;
			IF EXISTS (SELECT FROM bt.credit_report r WHERE bt.mobile_number(r.mobile) = number
					AND NOT EXISTS (SELECT FROM bt.normalized_report n WHERE n.credit_report_id = r.id AND n.body_sha256 = r.sha256)) THEN
				PERFORM bench.normalize(ARRAY[k]);
			END IF;
			IF NOT EXISTS (SELECT FROM bt.credit_report r JOIN bt.normalized_report n ON n.credit_report_id = r.id AND n.body_sha256 = r.sha256
					JOIN bt.unified_report u ON u.mobile = number AND u.fingerprint = '0'::bytea || n.semantic_sha256
					WHERE bt.mobile_number(r.mobile) = number AND n.usable) THEN
				PERFORM bench.unify(ARRAY[k]);
			END IF;
			IF NOT EXISTS (SELECT FROM bt.unified_report u JOIN bt.loan_grouping g ON g.mobile = u.mobile AND g.unified_fingerprint = u.fingerprint
					WHERE u.mobile = number) THEN
				PERFORM bench.group_loans(ARRAY[k]);
			END IF;
			IF lead.status = 'initiated' THEN
				PERFORM bench.move(ARRAY[k]);
			END IF;
		EXCEPTION WHEN OTHERS THEN
			failed := failed + 1;
		END;
		done := done + 1;
		IF done % 100 = 0 THEN
			COMMIT;
		END IF;
	END LOOP;
	COMMIT;
END $$;

-- Done items, with as little as can be looked at: one anti-join over all outputs. It does not see stale ones.
CREATE FUNCTION bench.count_missing() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	RETURN (
		SELECT count(*)
		FROM bt.lead l
		LEFT JOIN bt.credit_report r ON bt.mobile_number(r.mobile) = bt.mobile_number(l.mobile)
		LEFT JOIN bt.normalized_report n ON n.credit_report_id = r.id
		LEFT JOIN bt.unified_report u ON u.mobile = bt.mobile_number(l.mobile)
		LEFT JOIN bt.loan_grouping g ON g.mobile = bt.mobile_number(l.mobile)
		LEFT JOIN bt.web_status_event e ON e.lead_id = l.id
		WHERE l.created_at >= now() - interval '1 day' AND l.created_at < now() AND l.id > 0
			AND (r.id IS NULL OR n.id IS NULL OR u.mobile IS NULL OR g.mobile IS NULL OR e.id IS NULL));
END $$;
-- The same, and sees stale ones.
CREATE FUNCTION bench.count_stale() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	RETURN (
		SELECT count(*)
		FROM bt.lead l
		LEFT JOIN bt.credit_report r ON bt.mobile_number(r.mobile) = bt.mobile_number(l.mobile)
		LEFT JOIN bt.normalized_report n ON n.credit_report_id = r.id AND n.body_sha256 = r.sha256
		LEFT JOIN bt.unified_report u ON u.mobile = bt.mobile_number(l.mobile) AND u.fingerprint = '0'::bytea || n.semantic_sha256
		LEFT JOIN bt.loan_grouping g ON g.mobile = u.mobile AND g.unified_fingerprint = u.fingerprint
			AND g.policy_fingerprint = (SELECT p.fingerprint FROM bt.policy p WHERE p.is_in_force)
		LEFT JOIN bt.web_status_event e ON e.lead_id = l.id
		WHERE l.created_at >= now() - interval '1 day' AND l.created_at < now() AND l.id > 0
			AND (r.id IS NULL OR n.id IS NULL OR u.mobile IS NULL OR g.mobile IS NULL OR e.id IS NULL));
END $$;
