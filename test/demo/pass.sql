-- One pass, and what it cost. :pass is its name.
SELECT to_regclass('backfill.message') IS NOT NULL AS has_messages \gset
\set messages 0
\if :has_messages
	SELECT count(*) AS messages FROM backfill.message \gset
\endif
\set messages_before :messages

SELECT pg_current_wal_insert_lsn() AS lsn_before \gset
CALL backfill.run('bt_leads') \gset
SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), :'lsn_before') AS wal_bytes \gset

\if :has_messages
	SELECT count(*) AS messages FROM backfill.message \gset
\endif
INSERT INTO demo.pass
SELECT :'pass', r.candidates, r.changed, r.unchanged, r.skipped, r.failed, :messages - :messages_before, :wal_bytes
FROM backfill.run r
WHERE r.run_id = :run_id;
