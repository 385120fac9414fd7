
-- Retention: on by default, and in slices, so that it can be a part of every live run's end.
--
-- A message's key is what keeps it from being sent twice, and a replay that somebody opted into delivery may reach back
-- as far as it likes: no age makes a key useless by itself. So a key is dropped only together with the right to send what
-- it stood for: messages_before says up to which window keys may be gone, and what any run emits for a window that ends
-- there or earlier is suppressed (purged). It is kept by the pipeline's name, like the keys, and never goes back; what the
-- retention was, or is set to later, has no part in it.

CREATE TABLE backfill.retention (
	pipeline        text PRIMARY KEY,
	details         interval,
	history         interval,
	messages_before timestamptz,
	last_emptied    bigint NOT NULL DEFAULT 0,
	last_purged     bigint NOT NULL DEFAULT 0,
	last_ended      timestamptz NOT NULL DEFAULT '-infinity',
	last_run        bigint NOT NULL DEFAULT 0
);
COMMENT ON TABLE backfill.retention IS 'how long what a pipeline''s runs left is kept, and how far it has been purged; outlives the pipeline, as its messages'' keys do';
COMMENT ON COLUMN backfill.retention.details IS 'decisions item by item, and the payloads of messages that are done with; null: 90 days';
COMMENT ON COLUMN backfill.retention.history IS 'runs, messages, counters, alarms; null: 400 days';
COMMENT ON COLUMN backfill.retention.messages_before IS 'keys of messages whose window ends here or earlier may be gone: such a window is told nothing any more, by no run';
COMMENT ON COLUMN backfill.retention.last_emptied IS 'payloads of messages up to this one have been looked at';
COMMENT ON COLUMN backfill.retention.last_purged IS 'messages up to this one have been looked at';
COMMENT ON COLUMN backfill.retention.last_ended IS 'decisions of runs that ended before have been looked at';
COMMENT ON COLUMN backfill.retention.last_run IS 'and of those that ended at that moment, up to this one';
SELECT pg_catalog.pg_extension_config_dump('backfill.retention', '');

CREATE FUNCTION backfill.set_retention(pipeline text, details interval DEFAULT NULL, history interval DEFAULT NULL) RETURNS void
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	p CONSTANT backfill.pipeline := backfill._pipeline(pipeline);
	t record;
BEGIN
	PERFORM backfill._require_owner(p.pipeline_id);
	SELECT coalesce(set_retention.details, r.details) AS details, coalesce(set_retention.history, r.history) AS history INTO t
	FROM (VALUES (p.name)) n (name) LEFT JOIN backfill.retention r ON r.pipeline = n.name;
	IF t.details < '1 day' OR t.history < '7 days' OR coalesce(t.details, '90 days') > coalesce(t.history, '400 days') THEN
		RAISE EXCEPTION 'retention is out of range'
			USING ERRCODE = 'invalid_parameter_value', HINT = 'details is a day or more, history seven days or more and no shorter than details.';
	END IF;
	INSERT INTO backfill.retention AS r (pipeline, details, history) VALUES (p.name, t.details, t.history)
	ON CONFLICT ON CONSTRAINT retention_pkey DO UPDATE SET details = excluded.details, history = excluded.history;
END $$;
COMMENT ON FUNCTION backfill.set_retention(text, interval, interval) IS
	'how long to keep: details (90 days): decisions item by item, payloads of messages that are done with; history (400 days): runs, messages, counters, alarms. Null leaves it as it is. What is purged cannot be told again: see purge';

-- Each of these looks at no more than so many rows, whether or not it finds something to delete, and answers how many it
-- deleted; null: there is nothing old to look at. What it has looked at it need not look at again: that a pass finds nothing costs the next one nothing.

-- In the order of their end: a run that is open stands in nobody's way, whenever it was asked for.
CREATE FUNCTION backfill._old_runs(pipeline_id integer, after timestamptz, after_run bigint, before timestamptz, "limit" integer) RETURNS bigint[]
	LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT array_agg(s.run_id ORDER BY s.finished_at, s.run_id)
	FROM (SELECT r.run_id, r.finished_at FROM backfill.run r
		WHERE r.pipeline_id = _old_runs.pipeline_id AND (r.finished_at, r.run_id) > (after, after_run) AND r.finished_at < before
		ORDER BY r.finished_at, r.run_id LIMIT least("limit", 100)) s
$$;
COMMENT ON FUNCTION backfill._old_runs(integer, timestamptz, bigint, timestamptz, integer) IS 'the first runs that ended after one and before a moment, in that order; null: none';

CREATE FUNCTION backfill._delete_decisions(runs bigint[], "limit" integer) RETURNS bigint
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	deleted bigint;
BEGIN
	DELETE FROM backfill.decision d WHERE d.decision_id IN (
		SELECT o.decision_id FROM backfill.decision o WHERE o.run_id = ANY (runs) ORDER BY o.run_id, o.decision_id LIMIT "limit");
	GET DIAGNOSTICS deleted = ROW_COUNT;
	RETURN deleted;
END $$;
COMMENT ON FUNCTION backfill._delete_decisions(bigint[], integer) IS 'deletes decisions of runs, up to limit of them';

CREATE FUNCTION backfill._purge_decisions(p backfill.pipeline, before timestamptz, "limit" integer) RETURNS bigint
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	looked record;
	old bigint[];
	purged bigint;
	done integer;
BEGIN
	SELECT coalesce(t.last_ended, '-infinity') AS last_ended, coalesce(t.last_run, 0) AS last_run INTO looked
	FROM (VALUES (1)) one LEFT JOIN backfill.retention t ON t.pipeline = p.name;
	old := backfill._old_runs(p.pipeline_id, looked.last_ended, looked.last_run, before, "limit");
	IF old IS NULL THEN
		RETURN NULL;
	END IF;
	purged := backfill._delete_decisions(old, "limit");
	-- As far as nothing is left of them.
	SELECT coalesce(min(o.n) - 1, cardinality(old)) INTO done
	FROM unnest(old) WITH ORDINALITY o (id, n) WHERE EXISTS (SELECT FROM backfill.decision d WHERE d.run_id = o.id);
	PERFORM backfill._looked_at(p.name, last_ended => r.finished_at, last_run => r.run_id) FROM backfill.run r WHERE r.run_id = old[done];
	RETURN purged;
END $$;
COMMENT ON FUNCTION backfill._purge_decisions(backfill.pipeline, timestamptz, integer) IS 'deletes decisions, item by item, of runs that ended before';

CREATE FUNCTION backfill._looked_at(pipeline text, last_ended timestamptz DEFAULT NULL, last_run bigint DEFAULT NULL, last_emptied bigint DEFAULT NULL,
	last_purged bigint DEFAULT NULL, messages_before timestamptz DEFAULT NULL) RETURNS void
	LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$
	INSERT INTO backfill.retention AS t (pipeline, last_ended, last_run, last_emptied, last_purged, messages_before)
	VALUES (pipeline, coalesce(last_ended, '-infinity'), coalesce(last_run, 0), coalesce(last_emptied, 0), coalesce(last_purged, 0), messages_before)
	ON CONFLICT ON CONSTRAINT retention_pkey DO UPDATE
	SET last_run = CASE WHEN (excluded.last_ended, excluded.last_run) > (t.last_ended, t.last_run) THEN excluded.last_run ELSE t.last_run END,
		last_ended = greatest(t.last_ended, excluded.last_ended), last_emptied = greatest(t.last_emptied, excluded.last_emptied),
		last_purged = greatest(t.last_purged, excluded.last_purged), messages_before = greatest(t.messages_before, excluded.messages_before)
$$;
COMMENT ON FUNCTION backfill._looked_at(text, timestamptz, bigint, bigint, bigint, timestamptz) IS 'how far a pipeline has been purged; it never goes back';

-- The next messages to look at, oldest first: up to the first that is too young.
CREATE FUNCTION backfill._old_messages(after bigint, before timestamptz, "limit" integer) RETURNS TABLE (message_id bigint, pipeline text)
	LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT m.message_id, m.pipeline FROM backfill.message m
	WHERE m.message_id > after AND m.message_id < coalesce(
		(SELECT s.message_id FROM (SELECT q.message_id, q.created_at FROM backfill.message q WHERE q.message_id > after ORDER BY q.message_id LIMIT "limit") s
			WHERE s.created_at >= before LIMIT 1), 9223372036854775807)
	ORDER BY m.message_id LIMIT "limit"
$$;
COMMENT ON FUNCTION backfill._old_messages(bigint, timestamptz, integer) IS 'messages written before, in the order of their writing';

-- What waits, is being sent or is unknown keeps its payload, and so does what a replay could still send as its receiver
-- may have seen it. The rows are locked first and looked at then: nobody makes one wait again in between.
CREATE FUNCTION backfill._empty_messages(p backfill.pipeline, before timestamptz, "limit" integer) RETURNS bigint
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	looked CONSTANT bigint := coalesce((SELECT t.last_emptied FROM backfill.retention t WHERE t.pipeline = p.name), 0);
	old record;
	locked bigint[];
	emptied bigint;
BEGIN
	SELECT max(o.message_id) AS last, array_agg(o.message_id) FILTER (WHERE o.pipeline = p.name) AS ids INTO old
	FROM backfill._old_messages(looked, before, "limit") o;
	IF old.last IS NULL THEN
		RETURN NULL;
	END IF;
	SELECT array_agg(l.message_id) INTO locked
	FROM (SELECT m.message_id FROM backfill.message m WHERE m.message_id = ANY (old.ids) AND m.payload IS NOT NULL
		ORDER BY m.message_id FOR NO KEY UPDATE SKIP LOCKED) l;
	UPDATE backfill.message m SET payload = NULL
	WHERE m.message_id = ANY (locked)
		AND CASE backfill._delivery_state(m.message_id) WHEN 'sent' THEN true
			WHEN 'suppressed' THEN NOT backfill._is_frozen(m.message_id) WHEN 'expired' THEN NOT backfill._is_frozen(m.message_id)
			WHEN 'dead' THEN NOT backfill._is_frozen(m.message_id) ELSE false END;
	GET DIAGNOSTICS emptied = ROW_COUNT;
	PERFORM backfill._looked_at(p.name, last_emptied => old.last);
	RETURN emptied;
END $$;
COMMENT ON FUNCTION backfill._empty_messages(backfill.pipeline, timestamptz, integer) IS 'takes the payloads out of messages that are done with; their keys and hashes stay';

-- A key goes with all its generations, when nothing has happened to any of them since, nothing is under way and none is
-- for a person to decide. It is looked at once, when it has had the time for all that to be over: what then still waits or
-- is unknown stays.
CREATE FUNCTION backfill._purge_messages(p backfill.pipeline, before timestamptz, "limit" integer) RETURNS bigint
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	looked CONSTANT bigint := coalesce((SELECT t.last_purged FROM backfill.retention t WHERE t.pipeline = p.name), 0);
	old record;
	locked bigint[];
	gone bigint[];
	purged bigint := 0;
	slot CONSTANT interval := ('1 ' || coalesce(p.slot, 'month'))::interval;
BEGIN
	SELECT max(o.message_id) AS last, array_agg(o.message_id) FILTER (WHERE o.pipeline = p.name) AS ids INTO old
	FROM backfill._old_messages(looked, before - slot - coalesce(p.delivery_max_age, slot) - interval '7 days', "limit") o;
	IF old.last IS NULL THEN
		RETURN NULL;
	END IF;
	SELECT array_agg(l.message_id) INTO locked
	FROM (SELECT m.message_id
		FROM backfill.message f JOIN backfill.message m USING (recipient, window_from, window_to, message_type, pipeline)
		WHERE f.message_id = ANY (old.ids) AND f.generation = 0 AND f.window_to <= before
		ORDER BY m.message_id FOR UPDATE OF m SKIP LOCKED) l;
	SELECT array_agg(m.message_id) INTO gone
	FROM backfill.message f JOIN backfill.message m USING (recipient, window_from, window_to, message_type, pipeline)
	WHERE f.message_id = ANY (locked) AND f.generation = 0
		AND NOT EXISTS (SELECT FROM backfill.message l
			WHERE (l.recipient, l.window_from, l.window_to, l.message_type, l.pipeline) = (f.recipient, f.window_from, f.window_to, f.message_type, f.pipeline)
				AND (l.message_id <> ALL (locked) OR l.created_at >= before
					OR backfill._delivery_state(l.message_id) NOT IN ('sent', 'suppressed', 'expired', 'dead')
					OR EXISTS (SELECT FROM backfill.delivery d WHERE d.message_id = l.message_id AND d.at >= before)));
	IF gone IS NOT NULL THEN
		DELETE FROM backfill.delivery d WHERE d.message_id = ANY (gone);
		DELETE FROM backfill.message m WHERE m.message_id = ANY (gone);
		GET DIAGNOSTICS purged = ROW_COUNT;
	END IF;
	PERFORM backfill._looked_at(p.name, last_purged => old.last, messages_before => CASE WHEN purged > 0 THEN before END);
	RETURN purged;
END $$;
COMMENT ON FUNCTION backfill._purge_messages(backfill.pipeline, timestamptz, integer) IS
	'deletes messages whose window ended and whose delivery was over before, and from then on lets nothing be told for such windows';

CREATE FUNCTION backfill._purge_runs(p backfill.pipeline, before timestamptz, "limit" integer) RETURNS bigint
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- One more, as one may be the last.
	old bigint[] := backfill._old_runs(p.pipeline_id, '-infinity', 0, before, "limit" + 1);
	purged bigint;
BEGIN
	old := array_remove(old, (SELECT max(l.run_id) FROM backfill.run l WHERE l.pipeline_id = p.pipeline_id));
	IF coalesce(cardinality(old), 0) = 0 THEN
		RETURN NULL;
	END IF;
	PERFORM backfill._delete_decisions(old, "limit");
	DELETE FROM backfill.emission e WHERE (e.run_id, e.message_id) IN (
		SELECT o.run_id, o.message_id FROM backfill.emission o WHERE o.run_id = ANY (old) ORDER BY o.run_id, o.message_id LIMIT "limit");
	DELETE FROM backfill.run r WHERE r.run_id = ANY (old)
		AND NOT EXISTS (SELECT FROM backfill.emission e WHERE e.run_id = r.run_id) AND NOT EXISTS (SELECT FROM backfill.decision d WHERE d.run_id = r.run_id);
	GET DIAGNOSTICS purged = ROW_COUNT;
	DELETE FROM backfill.replay y WHERE y.pipeline_id = p.pipeline_id AND y.requested_at < before AND NOT EXISTS (SELECT FROM backfill.run r WHERE r.replay_id = y.replay_id);
	RETURN purged;
END $$;
COMMENT ON FUNCTION backfill._purge_runs(backfill.pipeline, timestamptz, integer) IS 'deletes runs that ended before, but for the pipeline''s last, and what they decided and told';

-- Metric by metric, since that is how the key goes; a metric without old rows costs one look at it.
CREATE FUNCTION backfill._purge_counters(p backfill.pipeline, before timestamptz, "limit" integer) RETURNS bigint
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
	purged bigint;
BEGIN
	WITH RECURSIVE metric (name) AS (
		(SELECT c.metric FROM backfill.counter c ORDER BY c.metric LIMIT 1)
		UNION ALL
		SELECT (SELECT c.metric FROM backfill.counter c WHERE c.metric > m.name ORDER BY c.metric LIMIT 1) FROM metric m WHERE m.name IS NOT NULL),
	old AS MATERIALIZED (
		SELECT o.* FROM metric m CROSS JOIN LATERAL (
			SELECT c.metric, c.window_from, c.window_to, c.pipeline, c.key FROM backfill.counter c
			WHERE c.metric = m.name AND c.window_from < before AND c.window_to < before AND c.pipeline = p.name
			ORDER BY c.metric, c.window_from, c.window_to LIMIT "limit") o
		LIMIT "limit")
	DELETE FROM backfill.counter c USING old o
	WHERE (c.metric, c.window_from, c.window_to, c.pipeline, c.key) = (o.metric, o.window_from, o.window_to, o.pipeline, o.key);
	GET DIAGNOSTICS purged = ROW_COUNT;
	RETURN nullif(purged, 0);
END $$;
COMMENT ON FUNCTION backfill._purge_counters(backfill.pipeline, timestamptz, integer) IS 'deletes counters of windows that ended before';

CREATE FUNCTION backfill._purge_watch(p backfill.pipeline, before timestamptz, "limit" integer) RETURNS bigint
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	purged bigint;
	failures bigint;
BEGIN
	DELETE FROM backfill.run_shape s WHERE s.pipeline_id = p.pipeline_id AND s.run_time < before AND s.run_id IN (
		SELECT o.run_id FROM backfill.run_shape o WHERE o.pipeline_id = p.pipeline_id ORDER BY o.run_id LIMIT "limit");
	DELETE FROM backfill.alarm a WHERE a.pipeline_id = p.pipeline_id AND a.closed_at < before;
	GET DIAGNOSTICS purged = ROW_COUNT;
	DELETE FROM backfill.item_failure f WHERE f.pipeline_id = p.pipeline_id AND f.last_window < before AND f.item IN (
		SELECT o.item FROM backfill.item_failure o WHERE o.pipeline_id = p.pipeline_id AND o.last_window < before ORDER BY o.last_window LIMIT "limit");
	GET DIAGNOSTICS failures = ROW_COUNT;
	RETURN nullif(purged + failures, 0);
END $$;
COMMENT ON FUNCTION backfill._purge_watch(backfill.pipeline, timestamptz, integer) IS 'deletes shapes of runs, alarms that have closed and items that failed last before';

-- A pipeline that was dropped has left messages and counters under its name, and no runs.
CREATE FUNCTION backfill._purge(name text, "limit" integer) RETURNS TABLE (what text, purged bigint)
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	p backfill.pipeline;
	details timestamptz;
	history timestamptz;
BEGIN
	IF NOT pg_try_advisory_xact_lock(hashtextextended('backfill.purge', hashtext(name))) THEN
		RETURN;
	END IF;
	SELECT q.* INTO p FROM backfill.pipeline q WHERE q.name = _purge.name;
	p.name := name;
	SELECT backfill._clock() - coalesce(t.details, '90 days'), backfill._clock() - coalesce(t.history, '400 days') INTO details, history
	FROM (VALUES (1)) one LEFT JOIN backfill.retention t ON t.pipeline = _purge.name;
	RETURN QUERY SELECT w.what, w.purged FROM (VALUES
		('decisions', backfill._purge_decisions(p, details, "limit")),
		('payloads', backfill._empty_messages(p, details, "limit")),
		('messages', backfill._purge_messages(p, history, "limit")),
		('runs', backfill._purge_runs(p, history, "limit")),
		('counters', backfill._purge_counters(p, history, "limit")),
		('alarms and failures', backfill._purge_watch(p, history, "limit"))) w (what, purged)
	WHERE w.purged IS NOT NULL;
END $$;
COMMENT ON FUNCTION backfill._purge(text, integer) IS 'one slice of a pipeline; nothing where somebody else is at it';

CREATE FUNCTION backfill.purge(pipeline text DEFAULT NULL, "limit" integer DEFAULT 1000) RETURNS TABLE (pipeline_name text, what text, purged bigint)
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	n record;
BEGIN
	IF "limit" IS NULL OR "limit" NOT BETWEEN 1 AND 100000 THEN
		RAISE EXCEPTION 'limit is out of range'
			USING ERRCODE = 'invalid_parameter_value', HINT = 'Use 1 to 100000.';
	END IF;
	IF pipeline IS NOT NULL THEN
		PERFORM backfill._pipeline(pipeline);
	END IF;
	FOR n IN SELECT q.name, q.pipeline_id FROM backfill.pipeline q WHERE q.name = coalesce(purge.pipeline, q.name)
		UNION ALL
		SELECT t.pipeline, NULL FROM backfill.retention t
		WHERE purge.pipeline IS NULL AND NOT EXISTS (SELECT FROM backfill.pipeline q WHERE q.name = t.pipeline)
		ORDER BY 1
	LOOP
		IF n.pipeline_id IS NOT NULL THEN
			PERFORM backfill._require_operator(n.pipeline_id);
		END IF;
		RETURN QUERY SELECT n.name, u.what, u.purged FROM backfill._purge(n.name, "limit") u;
	END LOOP;
END $$;
COMMENT ON FUNCTION backfill.purge(text, integer) IS
	'deletes what is older than a pipeline''s retention, of one pipeline or of all, up to limit rows of each kind; call it again while it answers anything. Each live run purges a slice of its own pipeline at its end. What waits, is being sent or is unknown is never purged. A message''s key goes only when its window and all that happened to it are older than the history, and with it goes the right to tell anything for windows as old: a replay that may deliver suppresses them (purged), and sends nothing a second time';

-- After a live run, in a transaction of its own: neither part can cost the run anything, or the other.
CREATE FUNCTION backfill._keep_house(pipeline_id integer) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	slice CONSTANT integer := 500;
	n record;
BEGIN
	BEGIN
		PERFORM backfill.check_health();
	EXCEPTION WHEN OTHERS THEN
		RAISE WARNING 'other pipelines were not looked at: %', SQLERRM;
	END;
	BEGIN
		-- A clock that is wrong for one run must not purge what is of now: after a leap nothing is purged until a run comes
		-- as soon after another as runs do. A month's slot is no leap.
		IF EXISTS (SELECT FROM (
				SELECT r.run_time - lead(r.run_time) OVER (ORDER BY r.run_id DESC) AS gap FROM backfill.run r
				WHERE r.pipeline_id = _keep_house.pipeline_id AND r.mode = 'live' AND r.started_at IS NOT NULL ORDER BY r.run_id DESC LIMIT 1) g
			WHERE g.gap > '60 days') THEN
			RETURN;
		END IF;
		-- And of one pipeline that was dropped, in turn.
		FOR n IN SELECT q.name FROM backfill.pipeline q WHERE q.pipeline_id = _keep_house.pipeline_id
			UNION ALL
			SELECT d.pipeline FROM (
				SELECT t.pipeline, row_number() OVER (ORDER BY t.pipeline) AS n, count(*) OVER () AS of FROM backfill.retention t
				WHERE NOT EXISTS (SELECT FROM backfill.pipeline q WHERE q.name = t.pipeline)) d
			WHERE d.n = 1 + extract(epoch FROM backfill._clock())::bigint % d.of
		LOOP
			PERFORM backfill._purge(n.name, slice);
		END LOOP;
	EXCEPTION WHEN OTHERS THEN
		RAISE WARNING 'old records were not purged: %', SQLERRM;
	END;
END $$;
COMMENT ON FUNCTION backfill._keep_house(integer) IS 'what a live run does at its end for all: looks for runs that have not come, and purges a slice';

-- For a worker, which ends its runs from outside and may touch no table.
CREATE FUNCTION backfill.keep_house(pipeline text) RETURNS void
	LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	AS $$ SELECT backfill._keep_house((backfill._pipeline(pipeline)).pipeline_id) $$;
COMMENT ON FUNCTION backfill.keep_house(text) IS 'what a worker calls after a live run, in a transaction of its own: looks for runs that have not come, and purges a slice';
