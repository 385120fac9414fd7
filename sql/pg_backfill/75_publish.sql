
-- Publishing: a table's rows are replaced by those of a query, all at once. The new rows are built aside; then, under a
-- lock that stops writers and no reader, rows that are gone are deleted and rows that are new are inserted, in one
-- transaction. The table itself stays, so grants, comments, indexes, policies, constraints and dependent views have
-- nothing to survive, and a reader with an old snapshot sees the old rows. What did not change is not written.
--
-- The query is read under the caller's search path, so that it means what it means to its author; nothing else is.

CREATE FUNCTION backfill._publish_columns(target regclass) RETURNS text
	LANGUAGE sql STABLE STRICT SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT string_agg(format('%I', a.attname), ', ' ORDER BY a.attnum) FROM pg_attribute a
		WHERE a.attrelid = target AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND a.attidentity = ''
	$$;
COMMENT ON FUNCTION backfill._publish_columns(regclass) IS 'columns a query gives: all but generated and identity columns';

CREATE FUNCTION backfill._open_publish(target regclass, OUT aside text, OUT columns text)
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	t record;
BEGIN
	SELECT c.relkind, c.relowner, n.nspname INTO t
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = target;
	IF t.relkind IS NULL OR t.relkind NOT IN ('r', 'p') THEN
		RAISE EXCEPTION 'only a table can be published'
			USING ERRCODE = 'wrong_object_type', HINT = 'Name an ordinary or partitioned table.';
	END IF;
	IF NOT pg_has_role(t.relowner, 'USAGE') THEN
		RAISE EXCEPTION 'must be owner of table %', target
			USING ERRCODE = 'insufficient_privilege', HINT = 'Publishing replaces all of its rows.';
	END IF;
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE EXCEPTION 'a table cannot be published in a % transaction', current_setting('transaction_isolation')
			USING ERRCODE = 'active_sql_transaction',
				HINT = 'Publish in a read committed transaction, which sees what another publisher has just committed.';
	END IF;
	columns := backfill._publish_columns(target);
	IF columns IS NULL THEN
		RAISE EXCEPTION 'table % has no columns to publish', target
			USING ERRCODE = 'invalid_table_definition', HINT = 'Generated and identity columns are not given by the query.';
	END IF;
	aside := format('%I.%I', t.nspname, format('publish_%s_%s', target::oid, pg_backend_pid()));
	EXECUTE format('CREATE UNLOGGED TABLE %s AS SELECT %s FROM %s WITH NO DATA', aside, columns, target);
END
$$;
COMMENT ON FUNCTION backfill._open_publish(regclass) IS 'makes the table that the new rows are built in';

CREATE FUNCTION backfill._close_publish(target regclass, aside text, columns text, OUT removed bigint, OUT added bigint)
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET row_security = off
AS $$
BEGIN
	EXECUTE format('ANALYZE %s', aside);
	EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', target);
	-- Rows are compared by their image and not by =, which holds for 1.0 and 1.00 and does not exist for every type.
	-- Equal rows are numbered, so that a row that is there twice is kept as often as it was built.
	EXECUTE format($sql$
		DELETE FROM %1$s t USING (
			SELECT r.part, r.place, sha256(record_send(r.image)) AS hash,
				row_number() OVER (PARTITION BY sha256(record_send(r.image)) ORDER BY r.part, r.place) AS n
			FROM (SELECT tableoid AS part, ctid AS place, ROW(%3$s) AS image FROM %1$s) r) old
		WHERE t.tableoid = old.part AND t.ctid = old.place AND NOT EXISTS (
			SELECT FROM (
				SELECT sha256(record_send(r.image)) AS hash,
					row_number() OVER (PARTITION BY sha256(record_send(r.image))) AS n
				FROM (SELECT ROW(%3$s) AS image FROM %2$s) r) new
			WHERE new.hash = old.hash AND new.n = old.n)
		$sql$, target, aside, columns);
	GET DIAGNOSTICS removed = ROW_COUNT;
	EXECUTE format($sql$
		INSERT INTO %1$s (%3$s)
		SELECT %3$s FROM (
			SELECT b.*, sha256(record_send(ROW(%3$s))) AS "publish hash",
				row_number() OVER (PARTITION BY sha256(record_send(ROW(%3$s)))) AS "publish n"
			FROM %2$s b) new
		WHERE NOT EXISTS (
			SELECT FROM (
				SELECT sha256(record_send(r.image)) AS hash,
					row_number() OVER (PARTITION BY sha256(record_send(r.image))) AS n
				FROM (SELECT ROW(%3$s) AS image FROM %1$s) r) old
			WHERE old.hash = new."publish hash" AND old.n = new."publish n")
		$sql$, target, aside, columns);
	GET DIAGNOSTICS added = ROW_COUNT;
	EXECUTE format('DROP TABLE %s', aside);
END
$$;
COMMENT ON FUNCTION backfill._close_publish(regclass, text, text) IS 'takes the rows that were built over into the published table';

CREATE FUNCTION backfill._publish(target regclass, build text, path text, OUT removed bigint, OUT added bigint)
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	opened record;
BEGIN
	SELECT * INTO opened FROM backfill._open_publish(target);
	PERFORM set_config('search_path', path, true);
	-- A line of its own for the bracket: the query may end in a comment.
	EXECUTE pg_catalog.format(E'INSERT INTO %s (%s) SELECT * FROM (%s\n) AS built', opened.aside, opened.columns,
		pg_catalog.regexp_replace(build, ';\s*$', ''));
	PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
	SELECT * INTO removed, added FROM backfill._close_publish(target, opened.aside, opened.columns);
END
$$;
COMMENT ON FUNCTION backfill._publish(regclass, text, text) IS 'publishes a query that is read under the given search path';

CREATE FUNCTION backfill.publish(target regclass, build text, OUT removed bigint, OUT added bigint)
	LANGUAGE sql
BEGIN ATOMIC
	SELECT p.removed, p.added FROM backfill._publish(target, build, pg_catalog.current_setting('search_path')) p;
END;
COMMENT ON FUNCTION backfill.publish(regclass, text) IS 'replaces a table''s rows by those of a query, all at once and with the caller''s rights; readers see the old or the new and are never blocked; answers how many rows changed';
