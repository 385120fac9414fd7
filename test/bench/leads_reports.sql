-- Leads with a report each: bare Experian JSON of about 72 KB with 35 accounts and their history, the same ones each time.
-- Five kinds of report, in which lead, report number and balance differ.

CREATE FUNCTION bench.mobile(n bigint) RETURNS text LANGUAGE sql IMMUTABLE RETURN '7' || lpad(n::text, 9, '0');

-- An account as a bureau writes it: mostly nulls. Of kind 1 all but one in seven are home loans that are paid back.
CREATE FUNCTION bench.account(kind int, a int) RETURNS jsonb LANGUAGE sql STABLE AS $$
	SELECT jsonb_build_object(
		'Identification_Number', 'PUB' || lpad(a::text, 7, '0'),
		'Subscriber_Name', (ARRAY['Namuna Finserve', 'Kalpit Housing Finance', 'Udaharan Bank', 'Nakli Credit', 'Drishtant Cooperative Bank'])[1 + (a + kind) % 5],
		'Account_Number', 'LN' || lpad((kind * 1000 + a)::text, 12, '7'),
		'Portfolio_Type', 'I', 'Account_Type', lpad(type::text, 2, '0'),
		'Open_Date', to_char(date '2013-01-10' + 31 * a, 'YYYYMMDD'),
		'Credit_Limit_Amount', NULL, 'Highest_Credit_or_Original_Loan_Amount', (100000 + 70000 * a)::text,
		'Terms_Duration', '240', 'Terms_Frequency', 'M', 'Scheduled_Monthly_Payment_Amount', (9000 + 100 * a)::text,
		'Account_Status', CASE WHEN is_closed THEN '13' ELSE '11' END,
		'Payment_Rating', '0', 'Payment_History_Profile', repeat('0', 36), 'Special_Comment', NULL,
		'Current_Balance', CASE WHEN is_closed THEN '0' WHEN a = 1 THEN '1000@balance@' ELSE (50000 + 900 * a)::text END,
		'Amount_Past_Due', '0', 'Original_Charge_Off_Amount', NULL, 'Date_Reported', '20261031',
		'Date_of_First_Delinquency', NULL, 'Date_Closed', CASE WHEN is_closed THEN '20240815' END,
		'Date_of_Last_Payment', CASE WHEN is_closed THEN '20240801' ELSE '20261005' END)
	|| jsonb_build_object(
		'SuitFiledWillfulDefaultWrittenOffStatus', NULL, 'SuitFiled_WilfulDefault', '00', 'Written_off_Settled_Status', NULL,
		'Settlement_Amount', NULL, 'Value_of_Collateral', NULL, 'Type_of_Collateral', NULL, 'Written_Off_Amt_Total', NULL,
		'Written_Off_Amt_Principal', NULL, 'Rate_of_Interest', '8.75', 'Repayment_Tenure', '240', 'Promotional_Rate_Flag', NULL,
		'Income', NULL, 'DefaultStatusDate', NULL, 'LitigationStatusDate', NULL, 'WriteOffStatusDate', NULL, 'CurrencyCode', 'INR',
		'Subscriber_comments', NULL, 'Consumer_comments', NULL, 'AccountHoldertypeCode', '1',
		'CAIS_Account_History', (
			SELECT jsonb_agg(jsonb_build_object('Year', to_char(m, 'YYYY'), 'Month', to_char(m, 'MM'),
				'Days_Past_Due', CASE WHEN a % 4 = 0 AND extract(month FROM m) = 7 THEN '30' ELSE '0' END, 'Asset_Classification', '?') ORDER BY m DESC)
			FROM generate_series(timestamp '2026-10-01' - interval '9 months', timestamp '2026-10-01', interval '1 month') m))
	FROM (SELECT a % 3 = 0 OR a > 20 AS is_closed,
		CASE WHEN a = 1 OR (a % 7 = 0 AND kind < 4) THEN 2 WHEN a = 6 THEN 3 WHEN a % 2 = 0 THEN 10 ELSE 5 END AS type) t
$$;

CREATE TABLE bench.template (kind int PRIMARY KEY, body text NOT NULL);
INSERT INTO bench.template
SELECT kind, jsonb_build_object('INProfileResponse', jsonb_build_object(
	'Header', jsonb_build_object('SystemCode', '0', 'ReportDate', '20261125', 'ReportTime', '101530'),
	'CreditProfileHeader', jsonb_build_object('ReportDate', '20261125', 'ReportTime', '101530', 'Version', 'V2.4', 'ReportNumber', '@report@'),
	'Current_Application', jsonb_build_object('Current_Application_Details', jsonb_build_object('Current_Applicant_Details',
		jsonb_build_object('Last_Name', 'UDAHARAN', 'First_Name', 'ISHITA', 'IncomeTaxPan', 'AAAPN0001A', 'MobilePhoneNumber', '@mobile@'))),
	'CAIS_Account', jsonb_build_object(
		'CAIS_Summary', jsonb_build_object('Credit_Account', jsonb_build_object('CreditAccountTotal', '35')),
		'CAIS_Account_DETAILS', (SELECT jsonb_agg(bench.account(kind, a) ORDER BY a) FROM generate_series(1, 35) a)),
	'SCORE', jsonb_build_object('BureauScore', (700 + kind)::text, 'BureauScoreConfidLevel', 'H')))::text
FROM generate_series(0, 4) kind;

-- Keys follow each other as their data arrived, as they do in life.
CREATE PROCEDURE bench.add_leads(first bigint, last bigint, since timestamptz) LANGUAGE sql AS $$
	INSERT INTO bt.lead (id, mobile, created_at, status_changed_at)
	SELECT n, bench.mobile(n), since, since FROM generate_series(first, last) n;
	INSERT INTO bt.credit_report (mobile, bureau, body, received_at)
	SELECT bench.mobile(n), 'experian', convert_to(replace(replace(replace(t.body,
		'@mobile@', bench.mobile(n)), '@report@', lpad(n::text, 13, '1')), '@balance@', lpad((n % 1000)::text, 3, '0')), 'UTF8'),
		since + n * interval '1 ms'
	FROM generate_series(first, last) n JOIN bench.template t ON t.kind = n % 5 ORDER BY n
$$;
