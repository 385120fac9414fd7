-- Both rivals must make what the pipeline makes, apart from numbers, times and what identifies contents.
CREATE VIEW bench.output AS
	SELECT 'normalized_report' AS what, jsonb_build_array(mobile, outcome, reason, usable, complete, bureau, report_at, score, loans, report_number, name, pan,
		warnings, warning_fields) AS made FROM bt.normalized_report WHERE id > 0
	UNION ALL
	SELECT 'tradeline', to_jsonb(t) - 'normalized_report_id' || jsonb_build_object('mobile', n.mobile)
	FROM bt.tradeline t JOIN bt.normalized_report n ON n.id = t.normalized_report_id WHERE n.id > 0
	UNION ALL
	SELECT 'unified_report', to_jsonb(u) - '{fingerprint,sources,unified_at}'::text[] FROM bt.unified_report u WHERE u.mobile < '71'
	UNION ALL
	SELECT 'unified_loan', to_jsonb(l) - '{loan_id,position}'::text[] FROM bt.unified_loan l WHERE l.mobile < '71'
	UNION ALL
	SELECT 'loan_grouping', to_jsonb(g) - '{unified_fingerprint,policy_fingerprint,grouped_at}'::text[] FROM bt.loan_grouping g WHERE g.mobile < '71'
	UNION ALL
	SELECT 'loan_group', to_jsonb(g) - '{loan_ids}'::text[] || jsonb_build_object('loans', (SELECT array_agg(l.account_number ORDER BY o.n)
		FROM unnest(g.loan_ids) WITH ORDINALITY o (loan_id, n) JOIN bt.unified_loan l ON l.mobile = g.mobile AND l.loan_id = o.loan_id)) FROM bt.loan_group g WHERE g.mobile < '71'
	UNION ALL
	SELECT 'balance_transfer', to_jsonb(b) - '{fired_at,changed_at}'::text[] FROM bt.balance_transfer b WHERE b.mobile < '71'
	UNION ALL
	SELECT 'web_status_event', jsonb_build_array(lead_id, from_status, to_status, since, reason) FROM bt.web_status_event WHERE lead_id > 0
	UNION ALL
	SELECT 'lead', jsonb_build_array(id, status) FROM bt.lead WHERE id > 0;

CREATE TABLE bench.made (contender text, what text, rows bigint, hash text);
CREATE PROCEDURE bench.note_output(contender text) LANGUAGE sql AS $$
	INSERT INTO bench.made SELECT contender, what, count(*), md5(string_agg(made::text, E'\n' ORDER BY made::text COLLATE "C")) FROM bench.output GROUP BY what
$$;
