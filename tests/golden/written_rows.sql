--- Questions with rows, lists and zones that are written into them, and with LATERAL; after === what DuckDB is asked where it says so otherwise.

SELECT COUNT(*), SUM(age) FROM visits JOIN (VALUES ('Haifa'), ('f'), ('Haifa')) v(s) ON v.s = city

SELECT COUNT(*), SUM(age) FROM visits LEFT JOIN (VALUES (2, 1), (2, 2)) v(s, n) ON v.s = age WHERE n > 1 OR n IS NULL

SELECT COUNT(*), SUM(age) FROM visits, (VALUES (1, 2), (2, 4)) v(s, p) WHERE age > v.p AND cost > v.s

SELECT COUNT(*), SUM(age) FROM visits CROSS JOIN (VALUES (1), (NULL)) v(x)

SELECT COUNT(*), SUM(age) FROM visits JOIN (VALUES (1, 3), (3, 5.5)) v(a, b) ON age >= a AND age < b

SELECT COUNT(*), SUM(age) FROM visits JOIN (VALUES (1, 3), (3, 5)) v(a, b) ON a < age AND b >= age

SELECT COUNT(*), SUM(age) FROM visits JOIN (VALUES (1, 3), (3, 5)) v(a, b) ON age BETWEEN a AND b

SELECT COUNT(*), SUM(age) FROM visits JOIN (VALUES (1, NULL), (2, 5)) v(a, b) ON age = a AND (b = 5 OR b IS NULL)

SELECT COUNT(*), SUM(age) FROM visits JOIN (VALUES ('a', 'i'), ('H', 'z')) v(a, b) ON city > a AND city < b

SELECT COUNT(*), SUM(age) FROM visits SEMI JOIN (VALUES (1), (NULL), (7)) v(x) ON age = x

SELECT COUNT(*), SUM(age) FROM visits ANTI JOIN (VALUES (1), (NULL), (7)) v(x) ON age = x

SELECT COUNT(*), SUM(age) FROM visits JOIN (VALUES (1), (2)) v(age) USING (age)

SELECT COUNT(*) FROM (VALUES (TRUE, 1)) v(u, x) JOIN visits ON u = urgent

SELECT COUNT(v.x) FROM (VALUES (1), (4)) v(x) RIGHT JOIN visits ON x = age

SELECT d, COUNT(*) FROM visits JOIN (VALUES (DATE '2021-01-01'), (DATE '2023-01-01')) x(d) ON day < d GROUP BY 1

SELECT COUNT(*), SUM(age) FROM visits JOIN GENERATE_SERIES(2, 6, 2) g(n) ON g.n = age

SELECT COUNT(*), SUM(age) FROM visits JOIN RANGE(2, 6) r ON r.range = age

SELECT m, COUNT(*) FROM visits JOIN GENERATE_SERIES(DATE '2021-01-01', DATE '2021-12-01', INTERVAL 1 MONTH) g(m) ON DATE_TRUNC('month', day) = m GROUP BY 1

SELECT COUNT(*), SUM(age) FROM visits JOIN GENERATE_SERIES(TIMESTAMP '2021-01-11', TIMESTAMP '2024-12-01', INTERVAL '2 weeks') g(m) ON day = m

WITH m(k, v) AS (VALUES ('Haifa', 1), ('m', 2)), n AS (SELECT k || '' AS c, v + 1 AS w FROM m) SELECT w, COUNT(*) FROM visits JOIN n ON c = city GROUP BY w

WITH m AS (SELECT 'Haifa' AS k UNION ALL (SELECT 'Austin')) SELECT COUNT(*) FROM visits WHERE city IN (SELECT k FROM m) OR (city, age) IN (SELECT k, 3 FROM m)

SELECT COUNT(*) FROM visits WHERE city NOT IN (SELECT 'Haifa')

SELECT COUNT(*) FROM visits WHERE NOT EXISTS (SELECT 1 FROM (VALUES (2), (9)) v(x) WHERE x = age)

SELECT x, n FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY 1) a FULL JOIN (SELECT unnest(['Haifa', 'Bern']) AS x, 2 AS y) b ON x = city AND n > y

SELECT COUNT(*) + (SELECT MAX(x) FROM (VALUES (1), (5)) v(x)) + (SELECT 3) FROM visits

SELECT city, COUNT(*) FROM visits GROUP BY 1 HAVING COUNT(*) > (SELECT 5)

SELECT COUNT(*), COUNT(l.age) FROM patients p LEFT JOIN LATERAL (SELECT v.age FROM visits v WHERE v.patient_id = p.id AND v.cost > 5) l ON TRUE

SELECT COUNT(*), SUM(l.n), SUM(m) FROM patients p, LATERAL (SELECT LEAST(COUNT(*) + 2 * COUNT(v.age), 60) AS n, MAX(v.age) AS m FROM visits v WHERE v.patient_id = p.id AND urgent) l

SELECT COUNT(*) FROM visits v, LATERAL (SELECT APPROX_COUNT_DISTINCT(w.city) AS n FROM visits w WHERE w.patient_id = v.patient_id AND w.age > 8 AND w.city = v.city) l WHERE n = 0

SELECT COUNT(*) FROM visits v WHERE (SELECT APPROX_COUNT_DISTINCT(w.city) FROM visits w WHERE w.patient_id = v.patient_id AND w.age > 8 AND w.city = v.city) = 0

SELECT c, COUNT(*) FROM patients p, LATERAL (SELECT city, COUNT(*) FROM visits v WHERE v.patient_id = p.id GROUP BY city HAVING COUNT(*) > 1) l(c, n) GROUP BY 1

SELECT COUNT(*), SUM(l.a) FROM patients p, LATERAL (SELECT age AS a FROM visits v WHERE v.patient_id = p.id ORDER BY 1 DESC NULLS LAST, visit_id LIMIT 2) l

SELECT COUNT(*) FROM patients p, LATERAL (SELECT DISTINCT city FROM visits v WHERE v.patient_id = p.id) l

SELECT k, SUM(x) FROM visits v, LATERAL (VALUES ('a', v.age), ('b', 2), ('c', NULL)) l(k, x) GROUP BY k

SELECT COUNT(*), SUM(u) FROM visits v CROSS JOIN UNNEST([v.age, 3]) AS t(u)

SELECT COUNT(*), SUM(b) FROM visits v, LATERAL (SELECT v.age + 1 AS b, 2 AS c WHERE urgent) l

SELECT COUNT(*), COUNT(b) FROM visits v LEFT JOIN LATERAL (SELECT v.age AS b WHERE urgent) l ON TRUE

SELECT region, COUNT(*) FROM visits v, LATERAL (SELECT region FROM cities c WHERE c.name = v.city) l GROUP BY 1

SELECT COUNT(*), SUM(w) FROM visits v, LATERAL (SELECT y AS w FROM (VALUES (1, 2), (2, 3)) t(x, y) WHERE x < v.age) l

SELECT age + 1 AS a, a * 2 AS b, COUNT(*) FROM visits GROUP BY ALL

SELECT HOUR(t AT TIME ZONE 'UTC' AT TIME ZONE 'America/New_York') AS h, COUNT(*) FROM (SELECT *, (CAST(day AS TIMESTAMP) + INTERVAL (age * 7) HOUR) AS t FROM visits) GROUP BY 1

SELECT SUM(HOUR(TIMEZONE('UTC', TIMEZONE('Europe/Berlin', t)))) FROM (SELECT *, (CAST(day AS TIMESTAMP) + INTERVAL (age * 7) HOUR) AS t FROM visits)

SELECT COUNT(*) FROM (SELECT *, (CAST(day AS TIMESTAMP) + INTERVAL (age * 7) HOUR) AS t FROM visits) WHERE t AT TIME ZONE 'Asia/Tokyo' BETWEEN '2021-03-01 00:00:00+02:30' AND TIMESTAMPTZ '2023-06-01 00:00:00Z'

SELECT COUNT(*) FROM (SELECT *, (CAST(day AS TIMESTAMP) + INTERVAL (age * 7) HOUR) AS t FROM visits) WHERE t::TIMESTAMPTZ > '2022-03-01' AND t::TIMESTAMPTZ::TIMESTAMPTZ < NOW()

SELECT COUNT(*) FROM (SELECT *, (CAST(day AS TIMESTAMP) + INTERVAL (age * 7) HOUR) AS t FROM visits) WHERE t < CURRENT_TIMESTAMP AT TIME ZONE 'America/New_York'

SELECT COUNT(*) FROM visits WHERE list_contains([3, 4], age) OR NOT list_contains(['Haifa'], city)

SELECT COUNT(*) FROM visits WHERE NOT age = ANY ([1, 2, 3])

SELECT COUNT(*) FROM visits WHERE patient_id = ANY (SELECT id FROM patients WHERE sex = 'f')

SELECT COUNT(*) FROM visits WHERE (city, age) IN (VALUES ('Haifa', 3), ('Austin', 4))

SELECT (STRING_SPLIT(city, 'i'))[2] AS p, COUNT(*) FROM visits GROUP BY 1

SELECT time_bucket(INTERVAL '9 days', day, DATE '2020-01-05') AS b, COUNT(*) FROM visits GROUP BY 1

SELECT x.n, COUNT(v.visit_id) FROM GENERATE_SERIES(1, 3) x(n) LEFT JOIN visits v ON v.age = x.n GROUP BY 1
=== SELECT age, COUNT(visit_id) FROM visits WHERE age < 4 GROUP BY 1

SELECT COUNT(*), SUM(age) FROM visits JOIN UNNEST([STRUCT('Haifa' AS c, 2 AS n), STRUCT('f', 3)]) m ON m.c = city AND n < age
=== SELECT COUNT(*), SUM(age) FROM visits JOIN (VALUES ('Haifa', 2), ('f', 3)) m(c, n) ON m.c = city AND n < age

SELECT COUNT(*), SUM(age) FROM visits JOIN UNNEST([2, 3]) AS n ON n = age
=== SELECT COUNT(*), SUM(age) FROM visits WHERE age IN (2, 3)

SELECT COUNT(*), COUNT(x.age) FROM patients p OUTER APPLY (SELECT TOP 1 v.age FROM visits v WHERE v.patient_id = p.id AND urgent ORDER BY age DESC) x
=== SELECT COUNT(*), COUNT(x.age) FROM patients p LEFT JOIN LATERAL (SELECT v.age FROM visits v WHERE v.patient_id = p.id AND urgent ORDER BY age DESC LIMIT 1) x ON TRUE

SELECT HOUR(CONVERT_TZ(t, 'UTC', 'Asia/Tokyo')), COUNT(*) FROM (SELECT *, (CAST(day AS TIMESTAMP) + INTERVAL (age * 7) HOUR) AS t FROM visits) WHERE CONVERT_TIMEZONE('UTC', 'Asia/Kolkata', t) > '2021-01-01' AND DATE(t, 'Asia/Tokyo') > '2021-01-01' AND DATETIME(t, 'UTC') > '2021-01-01' GROUP BY 1
=== SELECT HOUR(t + INTERVAL 9 HOUR), COUNT(*) FROM (SELECT *, (CAST(day AS TIMESTAMP) + INTERVAL (age * 7) HOUR) AS t FROM visits) WHERE t + INTERVAL 330 MINUTE > '2021-01-01' AND (t + INTERVAL 9 HOUR)::DATE > '2021-01-01' AND t > '2021-01-01' GROUP BY 1

SELECT COUNT(*) FROM visits WHERE age = ANY ('{2, 3}'::int[])
=== SELECT COUNT(*) FROM visits WHERE age IN (2, 3)

SELECT COUNT(*) FROM visits WHERE city <> ALL (ARRAY['Haifa']) AND age IN UNNEST([1, 2, 3, 4])
=== SELECT COUNT(*) FROM visits WHERE city <> 'Haifa' AND age < 5

SELECT COUNT(*) FROM visits WHERE city LIKE ANY ('H%', 'm') OR city ILIKE ALL (ARRAY['a%', r'%n'])
=== SELECT COUNT(*) FROM visits WHERE city LIKE 'H%' OR city = 'm' OR city = 'Austin'

SELECT f, COUNT(*) FROM (SELECT patient_id, ARRAY_AGG(age ORDER BY age LIMIT 1)[OFFSET(0)] AS f FROM visits GROUP BY 1) GROUP BY 1
=== SELECT f, COUNT(*) FROM (SELECT patient_id, FIRST(age ORDER BY age) AS f FROM visits GROUP BY 1) GROUP BY 1

SELECT APPROX_QUANTILES(cost, 4)[OFFSET(3)] FROM visits
=== SELECT QUANTILE_CONT(cost, 0.75) FROM visits

SELECT DATENAME(month, day) AS m, TO_CHAR(day, 'Dy FMMonth') AS d, COUNT(*), AVG(ARRAY_LENGTH(STRING_TO_ARRAY(city, 'i'), 1)) FROM visits WHERE DATENAME(year, day) = '2022' GROUP BY 1, 2
=== SELECT MONTHNAME(day), STRFTIME(day, '%a %B'), COUNT(*), AVG(LEN(STRING_SPLIT(city, 'i'))) FROM visits WHERE YEAR(day) = 2022 GROUP BY 1, 2

SELECT DATE_BIN('6 hours', t, TIMESTAMP '2020-01-01 01:30:00') AS b, COUNT(*) FROM (SELECT *, (CAST(day AS TIMESTAMP) + INTERVAL (age * 7) HOUR) AS t FROM visits) WHERE t < '2020-09-01' GROUP BY 1
=== SELECT TIME_BUCKET(INTERVAL '6 hours', t, TIMESTAMP '2020-01-01 01:30:00'), COUNT(*) FROM (SELECT *, (CAST(day AS TIMESTAMP) + INTERVAL (age * 7) HOUR) AS t FROM visits) WHERE t < '2020-09-01' GROUP BY 1
