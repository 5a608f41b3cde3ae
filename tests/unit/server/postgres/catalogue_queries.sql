-- DBeaver: databases
SELECT db.oid, db.* FROM pg_catalog.pg_database db WHERE datallowconn AND NOT datistemplate OR db.datname = 'discreet' ORDER BY db.datname
-- DBeaver: schemas
SELECT n.oid, n.*, d.description FROM pg_catalog.pg_namespace n LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = n.oid AND d.objsubid = 0 AND d.classoid = 'pg_namespace'::regclass ORDER BY nspname
-- DBeaver: types
SELECT t.oid, t.*, c.relkind, format_type(nullif(t.typbasetype, 0), t.typtypmod) AS base_type_name, d.description FROM pg_catalog.pg_type t LEFT OUTER JOIN pg_catalog.pg_type et ON et.oid = t.typelem LEFT OUTER JOIN pg_catalog.pg_class c ON c.oid = t.typrelid LEFT OUTER JOIN pg_catalog.pg_description d ON t.oid = d.objoid WHERE t.typname IS NOT NULL AND (c.relkind IS NULL OR c.relkind = 'c') AND (et.typcategory IS NULL OR et.typcategory <> 'C')
-- DBeaver: tables, visits too
SELECT c.oid, c.*, d.description, pg_catalog.pg_get_expr(c.relpartbound, c.oid) AS partition_expr, pg_catalog.pg_get_partkeydef(c.oid) AS partition_key FROM pg_catalog.pg_class c LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid = 'pg_class'::regclass WHERE c.relnamespace = 2200 AND c.relkind NOT IN ('i', 'I', 'c')
-- DBeaver: columns of visits
SELECT c.relname, a.*, pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) AS def_value, dsc.description, dep.objid FROM pg_catalog.pg_attribute a INNER JOIN pg_catalog.pg_class c ON (a.attrelid = c.oid) LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON (a.attrelid = ad.adrelid AND a.attnum = ad.adnum) LEFT OUTER JOIN pg_catalog.pg_description dsc ON (c.oid = dsc.objoid AND a.attnum = dsc.objsubid) LEFT OUTER JOIN pg_depend dep ON dep.refobjid = a.attrelid AND dep.deptype = 'i' AND dep.refobjsubid = a.attnum AND dep.classid = dep.refclassid WHERE NOT a.attisdropped AND c.oid = 16385 ORDER BY a.attnum
-- DBeaver: constraints
SELECT c.oid, c.*, t.relname AS tabrelname, rt.relnamespace AS refnamespace, d.description FROM pg_catalog.pg_constraint c INNER JOIN pg_catalog.pg_class t ON t.oid = c.conrelid LEFT OUTER JOIN pg_catalog.pg_class rt ON rt.oid = c.confrelid LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid = 'pg_constraint'::regclass WHERE c.conrelid = 16385 ORDER BY c.oid
-- DBeaver: indexes
SELECT i.*, i.indkey AS keys, c.relname, c.relnamespace, tc.relname AS tabrelname, dsc.description, pg_catalog.pg_get_expr(i.indpred, i.indrelid) AS pred_expr, pg_catalog.pg_relation_size(i.indexrelid) AS index_rel_size, pg_catalog.pg_stat_get_numscans(i.indexrelid) AS index_num_scans FROM pg_catalog.pg_index i INNER JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid INNER JOIN pg_catalog.pg_class tc ON tc.oid = i.indrelid LEFT OUTER JOIN pg_catalog.pg_description dsc ON i.indexrelid = dsc.objoid WHERE i.indrelid = 16385 ORDER BY tabrelname, c.relname
-- DBeaver: sizes
SELECT c.oid, pg_catalog.pg_total_relation_size(c.oid) AS total_rel_size, pg_catalog.pg_relation_size(c.oid) AS rel_size FROM pg_class c WHERE c.relnamespace = 2200
-- DBeaver: roles
SELECT a.oid, a.*, pd.description FROM pg_catalog.pg_roles a LEFT JOIN pg_catalog.pg_shdescription pd ON a.oid = pd.objoid ORDER BY a.rolname
-- DBeaver: functions
SELECT p.oid AS poid, p.*, pg_catalog.pg_get_expr(p.proargdefaults, 0) AS arg_defaults, d.description FROM pg_catalog.pg_proc p LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = p.oid AND d.objsubid = 0 AND d.classoid = 'pg_proc'::regclass WHERE p.pronamespace = 2200 ORDER BY p.proname
-- DBeaver: extensions
SELECT e.oid, e.*, n.nspname AS schema_name FROM pg_catalog.pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace ORDER BY e.oid
-- DBeaver: keywords
SELECT string_agg(word, ',') FROM pg_catalog.pg_get_keywords() WHERE word <> ALL ('{a,abs,absolute,action}'::text[])
-- DBeaver: session
SELECT current_schema(), session_user, current_setting('search_path')
-- dbt: relations, visits too
SELECT 'discreet' AS database, tablename AS name, schemaname AS schema, 'table' AS type FROM pg_tables WHERE schemaname ILIKE 'public' UNION ALL SELECT 'discreet' AS database, viewname AS name, schemaname AS schema, 'view' AS type FROM pg_views WHERE schemaname ILIKE 'public' UNION ALL SELECT 'discreet' AS database, matviewname AS name, schemaname AS schema, 'materialized_view' AS type FROM pg_matviews WHERE schemaname ILIKE 'public'
-- dbt: schemas
SELECT DISTINCT nspname FROM pg_namespace
-- dbt: schema there
SELECT count(*) FROM pg_namespace WHERE nspname = 'public'
-- dbt: catalogue, visits too
SELECT 'discreet' AS table_database, sch.nspname AS table_schema, tbl.relname AS table_name, CASE tbl.relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'BASE TABLE' END AS table_type, tbl_desc.description AS table_comment, col.attname AS column_name, col.attnum AS column_index, pg_catalog.format_type(col.atttypid, col.atttypmod) AS column_type, col_desc.description AS column_comment, pg_get_userbyid(tbl.relowner) AS table_owner FROM pg_catalog.pg_namespace sch JOIN pg_catalog.pg_class tbl ON tbl.relnamespace = sch.oid JOIN pg_catalog.pg_attribute col ON col.attrelid = tbl.oid LEFT OUTER JOIN pg_catalog.pg_description tbl_desc ON (tbl_desc.objoid = tbl.oid AND tbl_desc.objsubid = 0) LEFT OUTER JOIN pg_catalog.pg_description col_desc ON (col_desc.objoid = tbl.oid AND col_desc.objsubid = col.attnum) WHERE (upper(sch.nspname) = upper('public')) AND NOT pg_is_other_temp_schema(sch.oid) AND tbl.relpersistence IN ('p', 'u') AND tbl.relkind IN ('r', 'v', 'f', 'p', 'm') AND col.attnum > 0 AND NOT col.attisdropped ORDER BY sch.nspname, tbl.relname, col.attnum
-- dbt: columns of visits
SELECT column_name, data_type, character_maximum_length, numeric_precision, numeric_scale, table_name FROM "discreet".INFORMATION_SCHEMA.columns WHERE table_name = 'visits' AND table_schema = 'public' ORDER BY ordinal_position
-- dbt: dependents
WITH relation AS (SELECT pg_rewrite.ev_class AS class, pg_rewrite.oid AS id FROM pg_rewrite), class AS (SELECT oid AS id, relname AS name, relnamespace AS schema, relkind AS kind FROM pg_class), dependency AS (SELECT DISTINCT pg_depend.objid AS id, pg_depend.refobjid AS ref FROM pg_depend) SELECT referenced.name, dependent.name FROM relation JOIN class AS referenced ON relation.class = referenced.id JOIN dependency ON relation.id = dependency.id JOIN class AS dependent ON dependency.ref = dependent.id
-- Npgsql: types
SELECT ns.nspname, t.oid, t.typname, t.typtype, t.typnotnull, t.elemtypoid FROM (SELECT typ.oid, typ.typnamespace, typ.typname, typ.typtype, typ.typrelid, typ.typnotnull, elemtyp.oid AS elemtypoid, elemcls.relkind AS elemrelkind, CASE WHEN proc.proname = 'array_recv' THEN 'a' ELSE typ.typtype END AS kind FROM pg_type AS typ LEFT JOIN pg_class AS cls ON (cls.oid = typ.typrelid) LEFT JOIN pg_proc AS proc ON proc.oid = typ.typreceive LEFT JOIN pg_range ON (pg_range.rngtypid = typ.oid) LEFT JOIN pg_type AS elemtyp ON elemtyp.oid = typ.typelem LEFT JOIN pg_class AS elemcls ON (elemcls.oid = elemtyp.typrelid)) AS t JOIN pg_namespace AS ns ON (ns.oid = typnamespace) WHERE typtype IN ('b', 'r', 'm', 'e', 'd') ORDER BY CASE WHEN typtype IN ('b', 'e', 'p') THEN 0 ELSE 1 END
-- Power BI: tables, visits too
select TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE from INFORMATION_SCHEMA.tables where TABLE_SCHEMA not in ('information_schema', 'pg_catalog') order by TABLE_SCHEMA, TABLE_NAME
-- Power BI: columns of visits
select COLUMN_NAME, ORDINAL_POSITION, IS_NULLABLE, case when (data_type like '%unsigned%') then DATA_TYPE || ' unsigned' else DATA_TYPE end as DATA_TYPE, table_name from INFORMATION_SCHEMA.columns where TABLE_SCHEMA = 'public' and TABLE_NAME = 'visits' order by TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION
-- Metabase: privileges on visits
select n.nspname as schema, c.relname as table, pg_catalog.has_table_privilege(current_user, c.oid, 'SELECT') as "select" from pg_catalog.pg_class c join pg_catalog.pg_namespace n on c.relnamespace = n.oid where n.nspname !~ '^pg_' and c.relkind in ('r', 'p', 'v', 'f', 'm')
-- psql: \d visits
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), (SELECT pg_catalog.pg_get_expr(d.adbin, d.adrelid, true) FROM pg_catalog.pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef), a.attnotnull, c.relname FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid WHERE c.relname OPERATOR(pg_catalog.~) '^(visits)$' COLLATE pg_catalog.default AND a.attnum > 0 ORDER BY a.attnum
