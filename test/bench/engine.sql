CREATE TABLE bench.input (id bigint PRIMARY KEY, at timestamptz NOT NULL, fingerprint bytea NOT NULL, value text NOT NULL);
INSERT INTO bench.input SELECT n, now() - interval '1 hour', sha256(n::text::bytea), md5(n::text) FROM generate_series(1, :items) n;
VACUUM ANALYZE bench.input;

-- Outputs as the leads have them: each carries the fingerprint of what it was made from, and the first and the last refer
-- to what the item is about.
SELECT backfill.create_pipeline('engine_only', candidates => 'SELECT id, at FROM bench.input WHERE at >= $1 AND at < $2', key_type => 'bigint') \g /dev/null
CREATE PROCEDURE bench.make_steps() LANGUAGE plpgsql AS $$
DECLARE
	source text := 'bench.input';
BEGIN
	FOR step IN 1..5 LOOP
		EXECUTE format('CREATE TABLE bench.output_%s (id bigint PRIMARY KEY %s, fingerprint bytea NOT NULL, value text NOT NULL, made_at timestamptz NOT NULL DEFAULT now())',
			step, CASE WHEN step IN (1, 5) THEN 'REFERENCES bench.input ON DELETE CASCADE' END);
		PERFORM backfill.add_batch_step('engine_only', 'step_' || step,
			lacking => format('SELECT k FROM unnest($1) k LEFT JOIN %s s ON s.id = k LEFT JOIN bench.output_%s o ON o.id = k AND o.fingerprint = s.fingerprint WHERE o.id IS NULL', source, step),
			work => format('INSERT INTO bench.output_%s (id, fingerprint, value) SELECT s.id, s.fingerprint, s.value FROM unnest($1) k JOIN %s s ON s.id = k', step, source));
		source := 'bench.output_' || step;
	END LOOP;
END $$;
CALL bench.make_steps();

CREATE PROCEDURE bench.five_inserts() LANGUAGE plpgsql AS $$
DECLARE
	source text := 'bench.input';
BEGIN
	FOR step IN 1..5 LOOP
		EXECUTE format('INSERT INTO bench.output_%s (id, fingerprint, value) SELECT s.id, s.fingerprint, s.value FROM bench.input i JOIN %s s ON s.id = i.id'
			' LEFT JOIN bench.output_%s o ON o.id = i.id AND o.fingerprint = s.fingerprint WHERE i.at >= now() - interval ''1 day'' AND i.at < now() AND o.id IS NULL', step, source, step);
		source := 'bench.output_' || step;
	END LOOP;
END $$;

INSERT INTO bench.target VALUES (3, 'engine only vs set-based SQL', 'engine only', 'engine', 'set-based', true, 1.0, 0.9);
INSERT INTO bench.target (position, what, bench, contender, rival, is_at_most) VALUES
	(3, 'engine only, no-op pass vs set-based SQL', 'engine only, no-op', 'engine', 'set-based', true);
