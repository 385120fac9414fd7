-- Proving: a work that takes the time of day is found though two makings a moment apart are the same.
CREATE SCHEMA prove_clock;
SET search_path = prove_clock;
SET client_min_messages = warning;
SET backfill.narrate = 'none';
CREATE TABLE input (id bigint PRIMARY KEY, arrived_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE output (id bigint PRIMARY KEY, t text, made_at timestamptz NOT NULL DEFAULT clock_timestamp());
INSERT INTO input SELECT n FROM generate_series(1, 5) n;
SELECT backfill.create_pipeline('clock', 'SELECT id, arrived_at FROM input WHERE arrived_at >= $1 AND arrived_at < $2');
SELECT backfill.add_step('clock', 'make', done => 'SELECT EXISTS (SELECT FROM output WHERE id = $1)', work => 'INSERT INTO output (id) VALUES ($1)');
CREATE FUNCTION prove_with(work text, done text DEFAULT 'SELECT EXISTS (SELECT FROM output WHERE id = $1)')
	RETURNS TABLE (step text, finding text, detail text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM backfill.alter_step('clock', 'make', done => done, work => work);
	RETURN QUERY SELECT p.step, p.finding, p.detail FROM backfill.prove('clock') p;
END $$;

\echo of the transaction, and of the wall
SELECT * FROM prove_with('INSERT INTO output VALUES ($1, current_date)');
SELECT * FROM prove_with('INSERT INTO output VALUES ($1, now()::date)');
SELECT * FROM prove_with('INSERT INTO output VALUES ($1, clock_timestamp()::date)');
SELECT * FROM prove_with('INSERT INTO output VALUES ($1, left(timeofday(), 10))');
SELECT * FROM prove_with($$ INSERT INTO output VALUES ($1, 'today'::date) $$);
SELECT * FROM prove_with('INSERT INTO output VALUES ($1, to_char(clock_timestamp(), $$YYYY$$))');
SELECT * FROM prove_with('INSERT INTO output VALUES ($1, date_trunc($$year$$, now()))');
SELECT * FROM prove_with('INSERT INTO output VALUES ($1, right(timeofday(), 8))');
-- Whose second may also pass between two makings.
SELECT DISTINCT step, replace(finding, 'differs', 'clock') AS finding FROM prove_with('INSERT INTO output VALUES ($1, extract(second FROM clock_timestamp())::integer)') ORDER BY 1;
\echo within a function, a trigger, a data-modifying WITH
CREATE FUNCTION today() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN clock_timestamp()::date; END $$;
SELECT * FROM prove_with('INSERT INTO output VALUES ($1, today())');
CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN new.t := clock_timestamp()::date; RETURN new; END $$;
CREATE TRIGGER stamp BEFORE INSERT ON output FOR EACH ROW EXECUTE FUNCTION stamp();
SELECT * FROM prove_with('INSERT INTO output VALUES ($1)');
DROP TRIGGER stamp ON output;
SELECT * FROM prove_with('WITH day AS (SELECT clock_timestamp()::date AS d) INSERT INTO output SELECT $1, d FROM day');
\echo in a message
SELECT * FROM prove_with($$ WITH o AS (INSERT INTO output VALUES ($1)) SELECT backfill.emit('slack:#team', 'made_' || $1, jsonb_build_object('on', clock_timestamp()::date)) $$);
\echo in a check
SELECT * FROM prove_with('INSERT INTO output VALUES ($1)', $$ SELECT clock_timestamp() > '2001-01-01' AND EXISTS (SELECT FROM output o, input i WHERE (o.id, i.id) = ($1, $1) AND i.arrived_at + interval '9 days' > clock_timestamp()) $$);

\echo where it makes no difference: in a column that says when the row was written, a condition, the time of the run
SELECT * FROM prove_with('INSERT INTO output VALUES ($1, NULL, clock_timestamp())');
SELECT * FROM prove_with('INSERT INTO output SELECT id FROM input WHERE id = $1 AND clock_timestamp() > arrived_at - interval $$9 days$$');
SELECT * FROM prove_with('INSERT INTO output VALUES ($1, backfill.run_time()::date)');
\echo where another year has no place: partitions of months, for one
CREATE FUNCTION place(at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
BEGIN IF at < (SELECT min(arrived_at) FROM input) - interval '300 days' THEN RAISE 'no place'; END IF; END $$;
SELECT * FROM prove_with('WITH o AS (INSERT INTO output VALUES ($1)) SELECT place(now())');
\echo waiting for it ends
CREATE FUNCTION wait() RETURNS void LANGUAGE plpgsql AS $$
DECLARE since timestamptz := clock_timestamp();
BEGIN WHILE clock_timestamp() < since + interval '1 ms' LOOP PERFORM pg_sleep(0.001); END LOOP; END $$;
SELECT * FROM prove_with('WITH o AS (INSERT INTO output VALUES ($1)) SELECT wait()');
\echo and the clock is right afterwards, also in what was parsed meanwhile
SELECT abs(extract(epoch FROM clock_timestamp() - now())) < 60 AS is_right, today() = current_date::text OR today() = (current_date + 1)::text AS is_today,
	abs(extract(epoch FROM timeofday()::timestamptz - now())) < 60 AS is_right_too;

RESET backfill.narrate;
SELECT backfill.drop_pipeline('clock');
TRUNCATE backfill.emission, backfill.superseded, backfill.intervention, backfill.undelivered, backfill.delivery, backfill.message, backfill.counter RESTART IDENTITY;
DROP SCHEMA prove_clock CASCADE;
