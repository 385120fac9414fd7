
-- Which database this is. A copy made by pg_dump has another system identifier, one made from a template another oid,
-- and a standby that was promoted another timeline; a copy of the disks has all three the same.

CREATE FUNCTION backfill.database_identity() RETURNS text
	LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- The control file learns of a promotion at the next checkpoint, the log at once.
	RETURN format('%s/%s/%s', (SELECT s.system_identifier FROM pg_control_system() s),
		(SELECT d.oid FROM pg_database d WHERE d.datname = current_database()),
		CASE WHEN pg_is_in_recovery() THEN 'standby'
			ELSE ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::integer::text END);
END
$$;
COMMENT ON FUNCTION backfill.database_identity() IS 'system identifier, database oid and timeline: what a worker that delivers is bound to';
