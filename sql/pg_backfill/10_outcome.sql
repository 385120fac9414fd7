
-- Fails if the schema exists: the extension must own it.
CREATE SCHEMA backfill;
COMMENT ON SCHEMA backfill IS 'pipelines that are safe to run twice';
GRANT USAGE ON SCHEMA backfill TO PUBLIC;

-- Outcomes: what a step's work says of an item.

CREATE DOMAIN backfill.reason AS text CHECK (VALUE ~ '^[a-z][a-z0-9_]{0,62}$');
COMMENT ON DOMAIN backfill.reason IS 'short machine-readable reason: lower case letters, digits and underscores, at most 63';

CREATE TYPE backfill.outcome_status AS ENUM ('ok', 'skip', 'stop', 'fail');
COMMENT ON TYPE backfill.outcome_status IS 'ok: done; skip: nothing to do, the chain goes on; stop: this item needs no more; fail: the item failed';

CREATE TYPE backfill.outcome AS (status backfill.outcome_status, reason backfill.reason);
COMMENT ON TYPE backfill.outcome IS 'what a step says of an item; made by ok(), skip(), stop() and fail()';

CREATE FUNCTION backfill.ok(reason text DEFAULT NULL) RETURNS backfill.outcome
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN ROW('ok', reason)::backfill.outcome;
COMMENT ON FUNCTION backfill.ok(text) IS 'outcome: the work is done; the check still has the last word';

CREATE FUNCTION backfill.skip(reason text) RETURNS backfill.outcome
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN ROW('skip', reason)::backfill.outcome;
COMMENT ON FUNCTION backfill.skip(text) IS 'outcome: nothing to do for this item, the chain goes on';

CREATE FUNCTION backfill.stop(reason text) RETURNS backfill.outcome
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN ROW('stop', reason)::backfill.outcome;
COMMENT ON FUNCTION backfill.stop(text) IS 'outcome: the rest of the chain does not apply to this item';

CREATE FUNCTION backfill.fail(reason text) RETURNS backfill.outcome
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN ROW('fail', reason)::backfill.outcome;
COMMENT ON FUNCTION backfill.fail(text) IS 'outcome: this item failed; later steps are not touched';
