-- Six leads get a report: five that could not go on for want of one, and one that learns nothing new.
CREATE TABLE demo.arrival AS
SELECT a.*
FROM (VALUES
	(226::bigint, 's01', 'its first report'),
	(227, 's02', 'its first report'),
	(256, 's39', 'a report, where the bureau knew nobody'),
	(266, 's01', 'a report with a home loan, where there was none'),
	(268, 's36', 'the same report once more'),
	(289, 's37', 'a report that can be read')
) AS a(id, sample, what);
CREATE TABLE demo.before AS SELECT id, status FROM bt.lead;
INSERT INTO bt.credit_report (mobile, bureau, body)
SELECT demo.mobile(id), 'experian', demo.body(sample, id) FROM demo.arrival ORDER BY id;
SELECT id AS lead, what AS "what arrives", status FROM demo.arrival JOIN bt.lead USING (id) ORDER BY id;
