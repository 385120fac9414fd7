-- One pass, and what it cost. :pass is its name.
SELECT count(*) AS messages_before, pg_current_wal_insert_lsn() AS lsn_before FROM backfill.message \gset
CALL backfill.run('bt_leads') \gset
SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), :'lsn_before') AS wal_bytes \gset
INSERT INTO demo.pass
SELECT :'pass', r.candidates, r.changed, r.unchanged, r.skipped, r.failed, (SELECT count(*) FROM backfill.message) - :messages_before, :wal_bytes
FROM backfill.run r
WHERE r.run_id = :run_id;
