CALL bench.add_leads(1, :leads, now() - interval '1 hour');
-- The range of a run names its items, moved on or not: an item that is done would not come up again otherwise.
SELECT bt.install_pipeline('leads') \g /dev/null
SELECT backfill.alter_pipeline('leads', candidates => 'SELECT id FROM bt.lead WHERE created_at >= $1 AND created_at < $2 AND id > 0') \g /dev/null
CREATE FUNCTION bench.keys() RETURNS bigint[] LANGUAGE sql STABLE
	RETURN (SELECT array_agg(id ORDER BY id) FROM bt.lead WHERE created_at >= now() - interval '1 day' AND created_at < now() AND id > 0);

-- One lead in a hundred fails in the first step that writes, when the bench says so.
CREATE FUNCTION bench.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$;
CREATE TRIGGER refuse BEFORE INSERT ON bt.normalized_report FOR EACH ROW WHEN (right(NEW.mobile, 2) = '77') EXECUTE FUNCTION bench.refuse();
ALTER TABLE bt.normalized_report DISABLE TRIGGER refuse;
CREATE PROCEDURE bench.let_fail(yes boolean) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('ALTER TABLE bt.normalized_report %s TRIGGER refuse', CASE WHEN yes THEN 'ENABLE' ELSE 'DISABLE' END);
END $$;

INSERT INTO bench.target VALUES
	(1, 'first pass vs careful PL/pgSQL', 'first pass', 'engine', 'item by item', true, 0.5, 0.35),
	(2, 'first pass vs set-based SQL', 'first pass', 'engine', 'set-based', true, 0.75, 0.6),
	(4, 'no-op pass vs fused anti-join', 'no-op', 'engine', 'anti-join', true, 1.1, 0.6),
	(5, '1 % failing items vs none', 'failing', 'engine, 1 % failing', 'engine, none failing', true, 1.5, 1.2),
	(11, 'rehearsal vs the run', 'first pass', 'rehearsal', 'engine', true, 1.3, 1.1);
INSERT INTO bench.target (position, what, bench, contender, rival, is_at_most) VALUES
	(4, 'no-op pass vs anti-join that sees stale', 'no-op', 'engine', 'anti-join that sees stale outputs', true),
	(4, 'no-op pass vs careful PL/pgSQL', 'no-op', 'engine', 'item by item', true),
	(5, 'careful PL/pgSQL: 1 % failing vs none', 'failing', 'item by item, 1 % failing', 'item by item, none failing', true);
