-- What every object of both extensions must have. All answers are empty, except the list of what PUBLIC may execute.
CREATE TEMPORARY VIEW member AS
SELECT e.extname, d.classid, d.objid, pg_catalog.pg_describe_object(d.classid, d.objid, 0) AS object
FROM pg_catalog.pg_depend d
JOIN pg_catalog.pg_extension e ON d.refclassid = 'pg_catalog.pg_extension'::regclass AND e.oid = d.refobjid
WHERE d.deptype = 'e' AND e.extname IN ('pg_backfill', 'bt_leads');

SELECT extname FROM pg_catalog.pg_extension WHERE extname IN ('pg_backfill', 'bt_leads') ORDER BY 1;

-- Objects without a comment. Sequences of identity columns speak for themselves.
SELECT extname, object FROM member
WHERE pg_catalog.obj_description(objid, classid::regclass::name) IS NULL
	AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
		WHERE d.classid = member.classid AND d.objid = member.objid AND d.deptype = 'i')
ORDER BY object;

-- Tables whose rows a dump would leave out, and sequences that would start again.
SELECT m.extname, m.object
FROM member m
JOIN pg_catalog.pg_class c ON m.classid = 'pg_catalog.pg_class'::regclass AND c.oid = m.objid AND c.relkind IN ('r', 'p', 'S')
JOIN pg_catalog.pg_extension e USING (extname)
WHERE NOT c.oid = ANY (coalesce(e.extconfig, '{}'))
ORDER BY m.object;

-- What PUBLIC may do beyond looking into the schemas.
CREATE TEMPORARY VIEW member_function AS
SELECT m.extname, p.oid::regprocedure AS function, p.*
FROM member m
JOIN pg_catalog.pg_proc p ON m.classid = 'pg_catalog.pg_proc'::regclass AND p.oid = m.objid;

SELECT function FROM member_function
WHERE EXISTS (SELECT FROM pg_catalog.aclexplode(coalesce(proacl, pg_catalog.acldefault('f', proowner))) a WHERE a.grantee = 0)
ORDER BY function::text COLLATE "C";

SELECT m.object, a.privilege_type
FROM member m
JOIN pg_catalog.pg_class c ON m.classid = 'pg_catalog.pg_class'::regclass AND c.oid = m.objid
CROSS JOIN LATERAL pg_catalog.aclexplode(c.relacl) a
WHERE a.grantee = 0
ORDER BY 1, 2;

-- PUBLIC's functions that are more than a computation on their arguments: they say what run they are called in.
SELECT function, provolatile, prosecdef FROM member_function
WHERE (provolatile <> 'i' OR prosecdef)
	AND EXISTS (SELECT FROM pg_catalog.aclexplode(coalesce(proacl, pg_catalog.acldefault('f', proowner))) a WHERE a.grantee = 0)
ORDER BY function::text COLLATE "C";

-- Functions in PL/pgSQL, or with the rights of their owner, that run under whatever search path the caller has. A
-- procedure that commits cannot have a setting: its names are qualified.
SELECT function, prosecdef FROM member_function
WHERE prokind <> 'p' AND (prosecdef OR prolang = (SELECT oid FROM pg_catalog.pg_language WHERE lanname = 'plpgsql'))
	AND NOT EXISTS (SELECT FROM unnest(proconfig) s WHERE s LIKE 'search_path=%')
ORDER BY function::text COLLATE "C";

-- C functions whose symbol is not the extension's name and the function's.
SELECT function, prosrc FROM member_function
WHERE prolang = (SELECT oid FROM pg_catalog.pg_language WHERE lanname = 'c')
	AND prosrc <> extname || '_' || proname
ORDER BY function::text COLLATE "C";
