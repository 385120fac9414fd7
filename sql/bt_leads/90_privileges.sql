
-- Nothing is executable by PUBLIC except pure helpers.

DO $$
DECLARE
	routine regprocedure;
BEGIN
	FOR routine IN SELECT p.oid FROM pg_catalog.pg_proc p WHERE p.pronamespace = 'bt'::pg_catalog.regnamespace AND p.provolatile <> 'i' LOOP
		EXECUTE pg_catalog.format('REVOKE ALL ON ROUTINE %s FROM PUBLIC', routine);
	END LOOP;
END $$;
