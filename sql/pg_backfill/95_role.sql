
-- Who may do what. Nothing is executable by everybody but what only reads its arguments or the run it is a part of.

CREATE FUNCTION backfill.create_roles() RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	role name;
BEGIN
	FOREACH role IN ARRAY '{backfill_reader,backfill_operator,backfill_deliver,backfill_worker}'::name[] LOOP
		IF NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = role) THEN
			EXECUTE format('CREATE ROLE %I NOLOGIN', role);
		END IF;
	END LOOP;
	GRANT backfill_reader TO pg_monitor, backfill_operator;

	-- Readers see everything but the texts that quote data.
	GRANT SELECT ON ALL TABLES IN SCHEMA backfill TO backfill_reader;
	REVOKE SELECT ON backfill.message, backfill.outbox, backfill.superseded, backfill.step_event, backfill.decision FROM backfill_reader;
	GRANT SELECT (message_id, pipeline, window_from, window_to, message_type, generation, receiver_key, deliver_until, channel,
		content_hash, run_id, item, created_at) ON backfill.message TO backfill_reader;
	REVOKE SELECT ON backfill.run FROM backfill_reader;
	EXECUTE (SELECT format('GRANT SELECT (%s) ON backfill.run TO backfill_reader', string_agg(quote_ident(a.attname), ', '))
		FROM pg_attribute a WHERE a.attrelid = 'backfill.run'::regclass AND a.attnum > 0 AND NOT a.attisdropped AND a.attname <> 'error');
	GRANT SELECT (step_event_id, run_id, item, step, status, reason, sqlstate, at) ON backfill.step_event TO backfill_reader;
	GRANT EXECUTE ON FUNCTION backfill.check_invariants(), backfill._clock(), backfill._eta(timestamptz, double precision),
		backfill._claim_has_lapsed(timestamptz, timestamptz), backfill._alarm_text(text, text, jsonb), backfill._percent(text), backfill._counted(bigint, text, text),
		backfill._cron_job(text), backfill.doctor(), backfill.narration(bigint), backfill._operates(name) TO backfill_reader;

	GRANT SELECT ON backfill.run, backfill.message, backfill.outbox, backfill.superseded, backfill.step_event, backfill.decision TO backfill_operator;
	GRANT EXECUTE ON FUNCTION
		backfill.create_pipeline(text, text, regtype, interval, text, text, interval, interval, text, text, text, interval, double precision),
		backfill.alter_pipeline(text, text, interval, text, text, interval, interval, text, text, text, text, interval, double precision),
		backfill.drop_pipeline(text), backfill.enable_pipeline(text), backfill.disable_pipeline(text),
		backfill.add_step(text, text, text, text, text), backfill.add_batch_step(text, text, text, text, text),
		backfill.alter_step(text, text, text, text, text, text, integer, text), backfill.drop_step(text, text),
		backfill.request_run(text), backfill.pause_run(bigint), backfill.resume_run(bigint), backfill.cancel_run(bigint),
		backfill.set_rate(bigint, double precision), backfill.set_batch(bigint, integer),
		backfill.rehearse(text, timestamp, timestamp, text, boolean), backfill.rehearse_messages(text, timestamp, timestamp, text, boolean),
		backfill.replay(text, timestamp, timestamp, text, boolean, boolean),
		backfill.pause_replay(bigint), backfill.resume_replay(bigint), backfill.cancel_replay(bigint),
		backfill.check_health(text), backfill.set_alarm(text, text, boolean, double precision), backfill.accept_alarm(bigint, text),
		backfill.set_retention(text, interval, interval), backfill.purge(text, integer),
		backfill._next_requested(text), backfill.prove(text, integer), backfill.explain_item(text, text), backfill.schedule(text, text), backfill.unschedule(text), backfill._check_schedule(text), backfill._cron_database(),
		backfill._cron_jobs(text), backfill._cron_job_name(text), backfill._cron_syntax(), backfill._tick_text(text, text), backfill._refuse_second_job(text), backfill._ask_cron(text),
		backfill.emit(text, text, jsonb, text, text), backfill.emit(text, text, jsonb, anyelement, text), backfill.count(text, text, numeric),
		backfill.requeue(bigint, text), backfill.discard(bigint, text), backfill.resolve_unknown(bigint, boolean, text), backfill.resend(bigint, text, boolean),
		backfill.publish(regclass, text), backfill._publish(regclass, text, text),
		backfill._publish_columns(regclass), backfill._open_publish(regclass), backfill._close_publish(regclass, text, text)
		TO backfill_operator;
	GRANT EXECUTE ON PROCEDURE backfill.run(text, bigint, text), backfill.run_requested(text, bigint), backfill._run_requested(text, bigint, text),
		backfill._require_own_transactions(text)
		TO backfill_operator;
	GRANT SELECT ON backfill.channel_status TO backfill_worker;
	GRANT EXECUTE ON FUNCTION backfill._clock(), backfill._claim_has_lapsed(timestamptz, timestamptz), backfill.check_health(text), backfill.database_identity(),
		backfill.claim_deliveries(text, integer, interval, bigint, text, integer, text),
		backfill.heartbeat(bigint[], bigint, interval), backfill.mark_sent(bigint[], bigint), backfill.mark_failed(bigint[], bigint, text, timestamptz, boolean),
		backfill.mark_unknown(bigint[], bigint, text, timestamptz), backfill.mark_inert(bigint[], bigint),
		backfill.release(bigint[], bigint, timestamptz, text), backfill.abandon_claims()
		TO backfill_worker;
	-- Who may run every pipeline may also do it with the command line's help.
	GRANT EXECUTE ON FUNCTION backfill.claim_run(text[], bigint, interval), backfill.run_candidates(bigint, bigint, text, integer, boolean),
		backfill.check_batch(bigint, bigint, text[], timestamptz[]),
		backfill.run_batch(bigint, bigint, text, text, bigint, text[], timestamptz[], integer[], text),
		backfill.heartbeat_run(bigint, bigint, interval, bigint, jsonb, text[], double precision, double precision, double precision),
		backfill.finish_run(bigint, bigint, text, text, text, bigint, jsonb, text),
		backfill.release_run(bigint, bigint, jsonb), backfill.keep_house(text), backfill.pressure(), backfill.unknown_pipelines(text[])
		TO backfill_worker, backfill_operator;
END $$;
COMMENT ON FUNCTION backfill.create_roles() IS
	'creates backfill_reader, backfill_operator, backfill_deliver and backfill_worker, which belong to the cluster, and gives them what they need here';

REVOKE ALL ON ALL ROUTINES IN SCHEMA backfill FROM PUBLIC;
GRANT EXECUTE ON FUNCTION backfill.ok(text), backfill.skip(text), backfill.stop(text), backfill.fail(text),
	backfill.mode(), backfill.is_replay(), backfill.run_time(), backfill.run_window(), backfill.is_recipient(text) TO PUBLIC;
