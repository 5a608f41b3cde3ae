--- Rows that a question writes out, subqueries that look at the row before them, lists and zones.

SELECT v.k, COUNT(*) AS n FROM visits JOIN (VALUES ('Haifa', 'north'), ('Austin', 'south')) AS v(c, k) ON v.c = city GROUP BY v.k
-- scan visits
-- filter city in ['Haifa', 'Austin']
-- project visit_id, patient_id, city, age, cost, day, seen, urgent, Note, col0 := case[('Haifa' = city) -> 'Haifa'; else 'Austin'], col1 := case[('Haifa' = city) -> 'north'; else 'south']
-- key k := col1
-- aggregate n := COUNT(*)
-- output k
-- output n

SELECT b.name, COUNT(*) AS n FROM visits LEFT JOIN (VALUES ('young', 0, 30), ('old', 30, 121)) b(name, low, high) ON age >= b.low AND age < b.high GROUP BY b.name
-- scan visits
-- project visit_id, patient_id, city, age, cost, day, seen, urgent, Note, col0 := case[((age >= 0) and (age < 30)) -> 'young'; ((age >= 30) and (age < 121)) -> 'old'; else None:TEXT], col1 := case[((age >= 0) and (age < 30)) -> 0; ((age >= 30) and (age < 121)) -> 30; else None:INTEGER], col2 := case[((age >= 0) and (age < 30)) -> 30; ((age >= 30) and (age < 121)) -> 121; else None:INTEGER]
-- key name := col0
-- aggregate n := COUNT(*)
-- output name
-- output n

SELECT t.x, COUNT(*) AS n FROM visits JOIN UNNEST([18, 65]) AS t(x) ON age >= t.x GROUP BY 1
-- scan visits
-- filter (age >= 18)
-- project visit_id, patient_id, city, age, cost, day, seen, urgent, Note, t := 18
-- union all
--   scan visits
--   filter (age >= 65)
--   project visit_id, patient_id, city, age, cost, day, seen, urgent, Note, t := 65
-- key x := t
-- aggregate n := COUNT(*)
-- output x
-- output n

WITH m AS (SELECT 'Haifa' AS c, 2 AS w UNION ALL SELECT 'Austin', 0.5) SELECT SUM(m.w) AS s FROM visits JOIN m ON m.c = city
-- scan visits
-- filter city in ['Haifa', 'Austin']
-- project visit_id, patient_id, city, age, cost, day, seen, urgent, Note, c := case[('Haifa' = city) -> 'Haifa'; else 'Austin'], w := case[('Haifa' = city) -> 2.0; else 0.5]
-- aggregate s := SUM(w)
-- output s

SELECT m.c, COUNT(v.visit_id) AS n FROM (VALUES ('Haifa'), ('Bern')) m(c) LEFT JOIN visits v ON v.city = m.c GROUP BY m.c
-- scan visits
-- filter city in ['Haifa', 'Bern']
-- project visit_id, patient_id, city, age, cost, day, seen, urgent, Note, col0 := case[(city = 'Haifa') -> 'Haifa'; else 'Bern']
-- key c := col0
-- aggregate value 0 := COUNT(visit_id)
-- then
--   rows col0: ('Haifa'), ('Bern')
--   compute c := col0
--   group c
--   compute c
--   left join on COALESCE((c = c_2), (IS_NULL(c) and IS_NULL(c_2)))
--     answer 0
--     compute c, value 0
--     compute c_2 := c, value 0
--   compute c, n := value 0

SELECT a.city, n * w AS score FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) a JOIN (VALUES ('Haifa', 2), ('Austin', 3)) b(city, w) ON a.city = b.city
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   compute city, n
--   inner join on (city = city_2)
--     rows col0, col1: ('Haifa', 2), ('Austin', 3)
--     compute city := col0, w := col1
--     compute city_2 := city, w
--   compute city, score := (n * w)

SELECT COUNT(*) AS n FROM visits SEMI JOIN RANGE(1, 3) r ON r.range = age
-- scan visits
-- filter COALESCE(age in [1, 2], False)
-- aggregate n := COUNT(*)
-- output n

SELECT COUNT(*) AS n FROM visits WHERE city = ANY (ARRAY['Haifa', 'Austin']) AND NOT LIST_CONTAINS([1, 2], age) AND "Note" LIKE ANY ('a%', '%b')
-- scan visits
-- filter (city in ['Haifa', 'Austin'] and NOT(age in [1, 2]) and (Note like 'a%' or Note like '%b'))
-- aggregate n := COUNT(*)
-- output n

SELECT COUNT(*) AS n FROM visits WHERE EXISTS (SELECT 1 FROM (VALUES (1, 9), (20, 29)) r(a, b) WHERE age BETWEEN r.a AND r.b)
-- scan visits
-- filter COALESCE((((age >= 1) and (age <= 9)) or ((age >= 20) and (age <= 29))), False)
-- aggregate n := COUNT(*)
-- output n

SELECT AVG(l.cost) AS m FROM patients p CROSS JOIN LATERAL (SELECT v.cost FROM visits v WHERE v.patient_id = p.id ORDER BY v.day DESC, v.visit_id LIMIT 1) l
-- scan patients
-- inner join same person
--   scan visits
--   window window := ROW_NUMBER() order day desc, visit_id
--   filter (window <= 1)
--   project cost, key 0 := patient_id
-- aggregate m := MEAN(cost)
-- output m

SELECT p.sex, AVG(l.n) AS m FROM patients p LEFT JOIN LATERAL (SELECT LEAST(COUNT(*), 9) AS n, MAX(v.age) AS a FROM visits v WHERE v.patient_id = p.id AND v.urgent) l ON TRUE GROUP BY p.sex
-- scan patients
-- left join same person
--   scan visits
--   filter urgent
--   per person key 0 := patient_id, value 0 := COUNT(*), value 1 := MAX(age)
--   project value 0, value 1, key 0
-- project id, sex, born, income, value 0, value 1, key 0, n := LEAST(COALESCE(value 0, 0), 9)
-- key sex
-- aggregate m := MEAN(n)
-- output sex
-- output m

SELECT COUNT(*) AS n FROM visits v CROSS APPLY (SELECT w.age FROM visits w WHERE w.patient_id = v.patient_id AND w.day > v.day) l
-- scan visits
-- inner join same person
--   scan visits
--   project w.visit_id := visit_id, w.patient_id := patient_id, w.city := city, w.age := age, w.cost := cost, w.day := day, w.seen := seen, w.urgent := urgent, w.Note := Note
-- filter (w.day > day)
-- aggregate n := COUNT(*)
-- output n

SELECT l.k, SUM(l.x) AS s FROM visits v CROSS JOIN LATERAL (VALUES ('age', v.age), ('one', 1)) l(k, x) GROUP BY l.k
-- scan visits
-- project visit_id, patient_id, city, age, cost, day, seen, urgent, Note, col0 := 'age', col1 := age
-- union all
--   scan visits
--   project visit_id, patient_id, city, age, cost, day, seen, urgent, Note, col0 := 'one', col1 := 1
-- key k := col0
-- aggregate s := SUM(col1)
-- output k
-- output s

SELECT l.band, COUNT(*) AS n FROM visits v, LATERAL (SELECT v.age // 50 AS band WHERE v.urgent) l GROUP BY 1
-- scan visits
-- filter urgent
-- project visit_id, patient_id, city, age, cost, day, seen, urgent, Note, band := QUOTIENT(age, 50)
-- key band
-- aggregate n := COUNT(*)
-- output band
-- output n

SELECT HOUR(CAST(day AS TIMESTAMP) AT TIME ZONE 'UTC' AT TIME ZONE 'Asia/Tokyo') AS h, COUNT(*) AS n FROM visits GROUP BY 1
-- scan visits
-- key h := HOUR(ADD_SECONDS(day::TIMESTAMP, 32400))
-- aggregate n := COUNT(*)
-- output h
-- output n

SELECT COUNT(*) AS n FROM visits WHERE seen AT TIME ZONE 'UTC' >= TIMESTAMPTZ '2024-03-01 00:00:00+02'
-- scan visits
-- filter (seen >= datetime.datetime(2024, 2, 29, 22, 0))
-- aggregate n := COUNT(*)
-- output n

SELECT age // 10 AS decade, decade * 10 AS years, COUNT(*) AS n FROM visits GROUP BY ALL
-- scan visits
-- key decade := QUOTIENT(age, 10)
-- aggregate n := COUNT(*)
-- output decade
-- output years := (decade * 10)
-- output n

SELECT (STRING_SPLIT(city, 'i'))[2] AS part, COUNT(*) AS n FROM visits WHERE SPLIT(city, 'i')[OFFSET(0)] IN ('Ha') GROUP BY 1
-- scan visits
-- filter SPLIT_PART(city, 'i', 1) in ['Ha']
-- key part := case[(case[IS_NULL(city) -> None:INTEGER; else GREATEST((((LENGTH(city) - LENGTH(REPLACE(city, 'i', ''))) / 1) + 1)::INTEGER, 1)] >= 2) -> SPLIT_PART(city, 'i', 2); else None:TEXT]
-- aggregate n := COUNT(*)
-- output part
-- output n

SELECT d.day, COUNT(v.age) FROM UNNEST(GENERATE_DATE_ARRAY('2024-01-30'::DATE, DATE '2024-02-01')) AS d(day) LEFT JOIN visits v ON v.day = d.day GROUP BY d.day
-- scan visits
-- filter day in [datetime.datetime(2024, 1, 30, 0, 0), datetime.datetime(2024, 1, 31, 0, 0), datetime.datetime(2024, 2, 1, 0, 0)]
-- project visit_id, patient_id, city, age, cost, day, seen, urgent, Note, d := case[(day = datetime.datetime(2024, 1, 30, 0, 0)) -> datetime.datetime(2024, 1, 30, 0, 0); (day = datetime.datetime(2024, 1, 31, 0, 0)) -> datetime.datetime(2024, 1, 31, 0, 0); else datetime.datetime(2024, 2, 1, 0, 0)]
-- key day := d
-- aggregate value 0 := COUNT(age)
-- then
--   rows d: (datetime.datetime(2024, 1, 30, 0, 0)), (datetime.datetime(2024, 1, 31, 0, 0)), (datetime.datetime(2024, 2, 1, 0, 0))
--   compute day := d
--   group day
--   compute day
--   left join on COALESCE((day = day_2), (IS_NULL(day) and IS_NULL(day_2)))
--     answer 0
--     compute day, value 0
--     compute day_2 := day, value 0
--   compute day, count := value 0

SELECT d, COUNT(*) FROM visits JOIN GENERATE_SERIES('2024-01-01'::DATE, '2024-02-01'::DATE, '2 weeks') g(d) ON day = d GROUP BY d
-- scan visits
-- filter day in [datetime.datetime(2024, 1, 1, 0, 0), datetime.datetime(2024, 1, 15, 0, 0), datetime.datetime(2024, 1, 29, 0, 0)]
-- project visit_id, patient_id, city, age, cost, day, seen, urgent, Note, g := case[(day = datetime.datetime(2024, 1, 1, 0, 0)) -> datetime.datetime(2024, 1, 1, 0, 0); (day = datetime.datetime(2024, 1, 15, 0, 0)) -> datetime.datetime(2024, 1, 15, 0, 0); else datetime.datetime(2024, 1, 29, 0, 0)]
-- key d := g
-- aggregate count := COUNT(*)
-- output d
-- output count
