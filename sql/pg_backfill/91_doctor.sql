
-- What may be wrong with the outbox, and the doctor himself.

CREATE FUNCTION backfill._doctor_outbox() RETURNS TABLE ("check" text, status text, detail text, hint text)
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	moment CONSTANT timestamptz := backfill._clock();
	late CONSTANT interval := '15 minutes';
BEGIN
	RETURN QUERY
	WITH wanting AS (
		SELECT n.channel, n.state, count(*) AS messages, min(n.message_id) AS first FROM backfill._needs_person n GROUP BY n.channel, n.state)
	SELECT 'deliveries', 'warn', format('%s of channel %s %s %s.', backfill._counted(w.messages, 'message'), w.channel, CASE w.messages WHEN 1 THEN 'is' ELSE 'are' END, CASE w.state WHEN 'dead' THEN 'dead: no further attempt is made' ELSE 'unknown: perhaps sent already' END),
		CASE w.state WHEN 'dead' THEN format('SELECT backfill.requeue(%s, reason => ''...''); -- or backfill.discard', w.first)
			ELSE format('SELECT backfill.resolve_unknown(%s, sent => true, reason => ''...''); -- or sent => false, which sends it again', w.first) END
	FROM wanting w ORDER BY w.channel, w.state;
	RETURN QUERY
	SELECT 'channels', 'warn', format('Channel %s has %s messages that have been waiting since %s, and nobody claims them.', u.channel, count(*), date_trunc('second', min(u.not_before))),
		'-- start a worker that delivers: pg_backfill serve'
	FROM backfill.undelivered u WHERE u.token IS NULL AND u.not_before < moment - late GROUP BY u.channel
	HAVING NOT EXISTS (SELECT FROM backfill.undelivered o WHERE o.channel = u.channel AND NOT backfill._claim_has_lapsed(o.lease_until, moment))
	ORDER BY u.channel;
	RETURN QUERY
	SELECT 'channels', 'warn', format('%s claims of channel %s ended without a word; the first at %s.', count(*), u.channel, date_trunc('second', min(u.lease_until))),
		'-- start a worker that delivers: pg_backfill serve'
	FROM backfill.undelivered u WHERE u.lease_until < moment - late GROUP BY u.channel ORDER BY u.channel;
	RETURN QUERY
	SELECT 'channels', 'warn', format('%s claims of channel %s were made by a clock that was ahead: the first would end at %s.', count(*), u.channel, date_trunc('second', min(u.lease_until))),
		'-- start a worker that delivers: pg_backfill serve'
	FROM backfill.undelivered u WHERE u.lease_until > moment AND backfill._claim_has_lapsed(u.lease_until, moment) GROUP BY u.channel ORDER BY u.channel;

	RETURN QUERY
	SELECT 'outbox_bloat', 'warn', format('%s has %s dead rows beside %s live ones.', s.relid::regclass, s.n_dead_tup, s.n_live_tup), format('VACUUM %s;', s.relid::regclass)
	FROM pg_stat_user_tables s
	WHERE s.relid IN ('backfill.undelivered'::regclass, 'backfill.message'::regclass, 'backfill.delivery'::regclass)
		AND s.n_dead_tup > 10000 AND s.n_dead_tup > s.n_live_tup ORDER BY s.relid;
	RETURN QUERY
	SELECT 'outbox_bloat', 'warn', format('%s is not vacuumed by itself.', c.oid::regclass), format('ALTER TABLE %s RESET (autovacuum_enabled);', c.oid::regclass)
	FROM pg_class c, pg_options_to_table(c.reloptions) o
	WHERE c.relnamespace = 'backfill'::regnamespace AND c.relkind = 'r' AND o.option_name = 'autovacuum_enabled' AND NOT o.option_value::boolean ORDER BY c.oid;
	-- Vacuum gives the pages at its end back; what is left is spread all over it.
	RETURN QUERY
	SELECT 'outbox_bloat', 'warn', format('backfill.undelivered takes %s for %s messages.', pg_size_pretty(pg_table_size(c.oid)), n.waiting), 'VACUUM FULL backfill.undelivered;'
	FROM pg_class c, (SELECT count(*) FROM backfill.undelivered) n(waiting)
	WHERE c.oid = 'backfill.undelivered'::regclass AND pg_table_size(c.oid) > 64 * 1024 * 1024 + n.waiting * 1024;
END $$;
COMMENT ON FUNCTION backfill._doctor_outbox() IS 'messages that do not get out, and the room they take';

CREATE FUNCTION backfill.doctor() RETURNS TABLE ("check" text, status text, detail text, hint text)
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY
	WITH found AS MATERIALIZED (
		SELECT * FROM backfill._doctor_installation()
		UNION ALL SELECT * FROM backfill._doctor_cron()
		UNION ALL SELECT * FROM backfill._doctor_server()
		UNION ALL SELECT * FROM backfill._doctor_definitions()
		UNION ALL SELECT r.* FROM backfill.pipeline p, backfill._doctor_pipeline(p, 'runs') r
		UNION ALL SELECT * FROM backfill._doctor_outbox())
	SELECT a.name, coalesce(f.status, 'ok'), coalesce(f.detail, a.is_well), coalesce(f.hint, '')
	FROM unnest(ARRAY['version', 'roles', 'pg_cron', 'settings', 'old_transactions', 'pipelines', 'time_zones', 'commands', 'indexes', 'overdue', 'runs',
			'alarms', 'watermark', 'left_out', 'items', 'deliveries', 'channels', 'outbox_bloat'],
		ARRAY['The extension and its library are of one release.', 'The roles are there and have their rights.', 'pg_cron runs its jobs.',
			'No setting stands in the way.', 'No transaction is older than an hour.', 'All pipelines are enabled and have steps.',
			'All pipelines'' time zones are places.', 'All commands can be run by their owners.', 'No candidate query or check reads a large table from end to end.',
			'No run is overdue.', 'Runs begin and end.', 'No run was unusual.', 'Watermarks move.', 'Nothing was left out.', 'No item fails window after window.',
			'No delivery needs a person.', 'Messages are claimed.', 'The outbox is vacuumed.']) WITH ORDINALITY AS a(name, is_well, n)
	LEFT JOIN found f ON f."check" = a.name
	ORDER BY a.n, f.status, f.detail;
END $$;
COMMENT ON FUNCTION backfill.doctor() IS
	'what is well and what is not, with the statement that mends it as a hint; changes nothing';
