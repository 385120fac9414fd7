-- What the third pass did to the leads that got a report, and to all others.
SELECT a.id AS lead, a.what AS "what arrived", b.status AS before, l.status AS after
FROM demo.arrival a
JOIN demo.before b USING (id)
JOIN bt.lead l USING (id)
ORDER BY a.id;
SELECT count(*) AS "other leads", count(*) FILTER (WHERE l.status <> b.status) AS "of these moved"
FROM demo.before b
JOIN bt.lead l USING (id)
WHERE NOT EXISTS (SELECT FROM demo.arrival a WHERE a.id = b.id);
