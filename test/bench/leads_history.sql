-- Every output table gets rows of other leads, from :first to :last, all done. Bodies are empty: nothing reads them any more.
SET session_replication_role = replica; -- no triggers, no foreign keys
INSERT INTO bt.lead (id, mobile, status, created_at, status_changed_at)
SELECT -n, bench.mobile(n + 100000000), 'options_ready', now() - interval '40 days', now() - interval '40 days' FROM generate_series(:first, :last) n;
INSERT INTO bt.credit_report (id, mobile, bureau, body, received_at)
SELECT -n, bench.mobile(n + 100000000), 'experian', '', now() - interval '40 days' - n * interval '1 second' FROM generate_series(:first, :last) n;
INSERT INTO bt.normalized_report (id, credit_report_id, body_sha256, reader_version, outcome, complete, bureau, report_at, semantic_sha256, score, loans,
	mobile, warnings, warning_fields)
SELECT -n, -n, sha256(''), 1, 'ok', true, 'experian', now() - interval '40 days', sha256(''), 750, 1, bench.mobile(n + 100000000), '{}', '{}'
FROM generate_series(:first, :last) n;
INSERT INTO bt.tradeline (normalized_report_id, position, lender, lender_family, account_type, status)
SELECT -n, 1, 'UDAHARAN BANK', 'UDAHARAN BANK', 2, 'active' FROM generate_series(:first, :last) n;
INSERT INTO bt.unified_report (mobile, fingerprint, sources, warnings, warning_fields)
SELECT bench.mobile(n + 100000000), '0'::bytea || sha256(''), ARRAY[-n], '{}', '{}' FROM generate_series(:first, :last) n;
INSERT INTO bt.unified_loan (mobile, loan_id, bureaus, positions, position, account_type)
SELECT bench.mobile(n + 100000000), '1', '{experian}', '{1}', 1, 2 FROM generate_series(:first, :last) n;
INSERT INTO bt.loan_grouping (mobile, unified_fingerprint, policy_fingerprint, warnings, warning_fields)
SELECT bench.mobile(n + 100000000), '0'::bytea || sha256(''), p.fingerprint, '{}', '{}' FROM generate_series(:first, :last) n, bt.policy p;
INSERT INTO bt.loan_group (mobile, group_key, lender_masked, outstanding, loan_ids, roles)
SELECT bench.mobile(n + 100000000), 'UDAHARAN BANK', false, 1, '{1}', '{primary}' FROM generate_series(:first, :last) n;
INSERT INTO bt.balance_transfer (mobile, group_key, outstanding, rate_inferred, emi_computed, missing)
SELECT bench.mobile(n + 100000000), 'UDAHARAN BANK', 1, false, false, '{}' FROM generate_series(:first, :last) n;
INSERT INTO bt.web_status_event (lead_id, from_status, to_status, since)
SELECT -n, 'initiated', 'options_ready', now() - interval '41 days' FROM generate_series(:first, :last) n;
RESET session_replication_role;
VACUUM (ANALYZE);
