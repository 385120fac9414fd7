CREATE TABLE bench.stored (body bytea COMPRESSION lz4 NOT NULL, report jsonb COMPRESSION lz4 NOT NULL);
INSERT INTO bench.stored
SELECT r.body, convert_from(r.body, 'UTF8')::jsonb -> 'INProfileResponse' FROM bt.credit_report r WHERE r.id > 0 ORDER BY r.id LIMIT :bodies;
VACUUM ANALYZE bench.stored;
INSERT INTO bench.target VALUES
	(8, 'jsonb_to_recordset vs bt.read_report, new session', 'reader, new session', 'jsonb_to_recordset', 'bt.read_report', false, 3.5, 4.5),
	(9, 'jsonb_to_recordset vs bt.read_report, primed session', 'reader, primed session', 'jsonb_to_recordset', 'bt.read_report', false, 1.8, 2.2);
INSERT INTO bench.target (position, what, bench, contender, rival, is_at_most) VALUES
	(30, 'text::jsonb and jsonb_to_recordset vs bt.read_report', 'reader, new session', 'text::jsonb, jsonb_to_recordset', 'bt.read_report', false);
