-- Tables of :size leads, each with a report; 10,000 of these arrived in the last day, the rest before. One lead in ten is stuck,
-- wherever its report is.
SET client_min_messages = warning;
TRUNCATE bt.lead, bt.credit_report CASCADE;
SET session_replication_role = replica;
INSERT INTO bt.lead (id, mobile, status, created_at, status_changed_at)
SELECT n, '7' || lpad(n::text, 9, '0'), CASE WHEN n % 10 = 0 THEN 'initiated' ELSE 'options_ready' END, now() - interval '40 days', now() - interval '40 days'
FROM generate_series(1, :size::bigint) n;
INSERT INTO bt.credit_report (id, mobile, body, received_at)
SELECT n, '7' || lpad(n::text, 9, '0'), '', now() - CASE WHEN n > :size::bigint - 10000 THEN interval '12 hours' ELSE interval '2 days' END - n * interval '1 ms'
FROM generate_series(1, :size::bigint) n;
RESET session_replication_role;
VACUUM (ANALYZE) bt.lead, bt.credit_report;
