
-- Explaining one item.

CREATE FUNCTION backfill._explain_item(pipeline text, key text) RETURNS json
	LANGUAGE c AS 'MODULE_PATHNAME', 'pg_backfill__explain_item';
COMMENT ON FUNCTION backfill._explain_item(text, text) IS
	'asks the checks about one item, runs its chain and rolls it back; {key, candidate, item_time, scan_from, scan_to, steps: [{name, state, would, reason, message}], messages: [...]}';

-- Who holds an item's lock; the lock is made by the chain.
CREATE FUNCTION backfill._item_holder(pipeline_id integer, key text) RETURNS integer
	LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT l.pid FROM pg_locks l, hashtextextended(key COLLATE "C", pipeline_id) h
	WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND l.pid <> pg_backend_pid()
		AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
		AND l.classid::bigint = (h >> 32) & 4294967295 AND l.objid::bigint = h & 4294967295
$$;
COMMENT ON FUNCTION backfill._item_holder(integer, text) IS 'process that works on an item at this moment; null: none';

-- What became of an item in the latest runs; further back would be a search.
CREATE FUNCTION backfill._item_history(pipeline_id integer, key text) RETURNS TABLE (run_id bigint, mode text, step text, status text, reason text, message text, at timestamptz)
	LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT r.run_id, r.mode, d.step, d.status, d.reason, concat_ws(' ', d.sqlstate, d.message), d.at
	FROM (SELECT q.run_id, q.mode FROM backfill.run q WHERE q.pipeline_id = _item_history.pipeline_id ORDER BY q.run_id DESC LIMIT 10) r
	JOIN backfill.decision d USING (run_id)
	WHERE key = ANY (d.items)
	ORDER BY d.decision_id DESC LIMIT 10
$$;
COMMENT ON FUNCTION backfill._item_history(integer, text) IS 'what the latest runs changed or failed of an item, newest first';

CREATE FUNCTION backfill.explain_item(pipeline text, key text)
	RETURNS TABLE (part text, name text, state text, would text, reason text, detail text)
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	p backfill.pipeline := backfill._pipeline(pipeline);
	said CONSTANT json := backfill._explain_item(pipeline, key);
	canonical CONSTANT text := said ->> 'key';
	holder CONSTANT integer := backfill._item_holder(p.pipeline_id, canonical);
BEGIN
	RETURN QUERY
	SELECT 'item', 'candidate', CASE WHEN (said ->> 'candidate')::boolean THEN 'yes' ELSE 'no' END, '', '',
		concat('arrived at ' || (said ->> 'item_time')::timestamptz || '; ', 'the next live run looks at what arrived since ', (said ->> 'scan_from')::timestamptz);
	RETURN QUERY
	SELECT 'item', 'disabled', 'yes', '', '', format('nothing of this happens before SELECT backfill.enable_pipeline(%L)', p.name) WHERE NOT p.enabled;
	RETURN QUERY
	SELECT 'item', 'busy', 'yes', '', '', format('process %s works on it', holder) WHERE holder IS NOT NULL;
	RETURN QUERY
	SELECT 'item', 'failing', 'yes', '', '', format('in %s, since %s', backfill._counted(f.windows, 'window'), f.first_window)
	FROM backfill.item_failure f WHERE f.pipeline_id = p.pipeline_id AND f.item = canonical;
	RETURN QUERY
	SELECT 'step', s.name, s.state, s.would, s.reason, s.message
	FROM json_to_recordset(said -> 'steps') AS s(name text, state text, would text, reason text, message text, n integer) ORDER BY s.n;
	RETURN QUERY
	SELECT 'tell', m.channel || ' ' || m.message_type, '', m.would, m.reason, concat_ws(', ', m.recipient, 'window of ' || m.window_from)
	FROM json_to_recordset(said -> 'messages') AS m(channel text, message_type text, would text, reason text, recipient text, window_from timestamptz)
	ORDER BY m.channel, m.message_type, m.recipient;
	RETURN QUERY
	SELECT 'message', o.channel || ' ' || o.message_type, o.state, '', coalesce(o.reason, ''),
		concat_ws(', ', o.recipient, 'window of ' || o.window_from, 'message ' || o.message_id, CASE WHEN o.superseded THEN 'superseded' END)
	FROM backfill.outbox o WHERE o.pipeline = p.name AND o.item = canonical ORDER BY o.message_id;
	RETURN QUERY
	SELECT 'history', h.step, h.status, '', h.reason, concat_ws(', ', format('%s run %s', h.mode, h.run_id), h.at, nullif(h.message, ''))
	FROM backfill._item_history(p.pipeline_id, canonical) h;
END $$;
COMMENT ON FUNCTION backfill.explain_item(text, text) IS
	'one item, also of a pipeline that is disabled: whether the next live run would take it, what each step''s check says, what a run would do now and tell, which messages about it exist, and what the latest ten runs did; nothing of it stays, apart from gaps in sequences';
