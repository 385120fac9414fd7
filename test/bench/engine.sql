CREATE TABLE bench.input (id bigint PRIMARY KEY, at timestamptz NOT NULL, value text NOT NULL);
INSERT INTO bench.input SELECT n, now() - interval '1 hour', md5(n::text) FROM generate_series(1, :items) n;
VACUUM ANALYZE bench.input;

-- Each step's output carries what it was made from, as all outputs should.
SELECT backfill.create_pipeline('engine_only', candidates => 'SELECT id, at FROM bench.input WHERE at >= $1 AND at < $2', key_type => 'bigint') \g /dev/null
CREATE PROCEDURE bench.make_steps() LANGUAGE plpgsql AS $$
DECLARE
	source text := 'bench.input';
BEGIN
	FOR step IN 1..5 LOOP
		EXECUTE format('CREATE TABLE bench.output_%s (id bigint PRIMARY KEY, value text NOT NULL)', step);
		PERFORM backfill.add_batch_step('engine_only', 'step_' || step,
			lacking => format('SELECT k FROM unnest($1) k LEFT JOIN bench.output_%s o ON o.id = k WHERE o.id IS NULL', step),
			work => format('INSERT INTO bench.output_%s SELECT s.id, s.value FROM unnest($1) k JOIN %s s ON s.id = k', step, source));
		source := 'bench.output_' || step;
	END LOOP;
END $$;
CALL bench.make_steps();

CREATE PROCEDURE bench.five_inserts() LANGUAGE plpgsql AS $$
DECLARE
	source text := 'bench.input';
BEGIN
	FOR step IN 1..5 LOOP
		EXECUTE format('INSERT INTO bench.output_%s SELECT s.id, s.value FROM bench.input i JOIN %s s ON s.id = i.id LEFT JOIN bench.output_%s o ON o.id = i.id'
			' WHERE i.at >= now() - interval ''1 day'' AND i.at < now() AND o.id IS NULL', step, source, step);
		source := 'bench.output_' || step;
	END LOOP;
END $$;

INSERT INTO bench.target VALUES (3, 'engine only vs set-based SQL', 'engine only', 'engine', 'set-based', true, 1.0, 0.9);
INSERT INTO bench.target (position, what, bench, contender, rival, is_at_most) VALUES
	(3, 'engine only, no-op pass vs set-based SQL', 'engine only, no-op', 'engine', 'set-based', true);
