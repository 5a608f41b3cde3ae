--- GROUP BY, HAVING, ORDER BY, LIMIT, DISTINCT.

SELECT city, COUNT(*) AS n FROM visits GROUP BY city
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- output city
-- output n

SELECT City AS town, COUNT(*) FROM Visits GROUP BY CITY
-- scan visits
-- key town := city
-- aggregate count := COUNT(*)
-- output town
-- output count

SELECT city, urgent, COUNT(*) FROM visits GROUP BY 1, 2
-- scan visits
-- key city
-- key urgent
-- aggregate count := COUNT(*)
-- output city
-- output urgent
-- output count

SELECT EXTRACT(YEAR FROM day) AS y, COUNT(*) FROM visits GROUP BY y
-- scan visits
-- key y := YEAR(day)
-- aggregate count := COUNT(*)
-- output y
-- output count

SELECT lower(city) AS city, COUNT(*) FROM visits GROUP BY city
-- scan visits
-- key city
-- aggregate count := COUNT(*)
-- output city := LOWER(city)
-- output count

SELECT COUNT(*) FROM visits GROUP BY city, age + 1
-- scan visits
-- key city
-- key key_2 := (age + 1)
-- aggregate count := COUNT(*)
-- output count

SELECT age % 10 + 1, COUNT(*) FROM visits GROUP BY age % 10
-- scan visits
-- key key_1 := (age % 10)
-- aggregate count := COUNT(*)
-- output column_1 := (key_1 + 1)
-- output count

SELECT city, COUNT(*) FROM visits GROUP BY ALL
-- scan visits
-- key city
-- aggregate count := COUNT(*)
-- output city
-- output count

SELECT city, urgent, COUNT(*) FROM visits GROUP BY ROLLUP (city, urgent)
-- scan visits
-- key city
-- key urgent
-- sets (city, urgent), (city), ()
-- aggregate count := COUNT(*)
-- output city
-- output urgent
-- output count

SELECT city, urgent, COUNT(*) FROM visits GROUP BY CUBE (city, urgent)
-- scan visits
-- key city
-- key urgent
-- sets (city, urgent), (city), (urgent), ()
-- aggregate count := COUNT(*)
-- output city
-- output urgent
-- output count

SELECT city, urgent, age, COUNT(*)
FROM visits
GROUP BY city, ROLLUP (urgent, (age, cost))
HAVING COUNT(*) > 3
-- scan visits
-- key city
-- key urgent
-- key age
-- key cost
-- sets (city, urgent, age, cost), (city, urgent), (city)
-- aggregate count := COUNT(*)
-- having (count > 3)
-- output city
-- output urgent
-- output age
-- output count

SELECT city, urgent, COUNT(*)
FROM visits
GROUP BY GROUPING SETS ((city, urgent), (city), urgent, ())
-- scan visits
-- key city
-- key urgent
-- sets (city, urgent), (city), (urgent), ()
-- aggregate count := COUNT(*)
-- output city
-- output urgent
-- output count

SELECT city, COUNT(*) FROM visits GROUP BY city HAVING COUNT(*) > 100 AND city <> 'Austin'
-- scan visits
-- key city
-- aggregate count := COUNT(*)
-- having ((count > 100) and (city <> 'Austin'))
-- output city
-- output count

SELECT city, COUNT(*) AS n
FROM visits
GROUP BY city
HAVING n > 100
ORDER BY n DESC, city LIMIT 5 OFFSET 2
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- having (n > 100)
-- output city
-- output n
-- order n desc
-- order city
-- limit 5 offset 2

SELECT city, COUNT(*)
FROM visits
GROUP BY city
HAVING SUM(cost) > 5
ORDER BY AVG(age) NULLS FIRST
-- scan visits
-- key city
-- aggregate count := COUNT(*)
-- aggregate sum_cost := SUM(cost)
-- aggregate avg_age := MEAN(age)
-- having (sum_cost > 5)
-- output city
-- output count
-- order case[IS_NULL(avg_age) -> 0; else 1]
-- order avg_age

SELECT city, AVG(age) AS age FROM visits GROUP BY city ORDER BY age, 1 DESC
-- scan visits
-- key city
-- aggregate age := MEAN(age)
-- output city
-- output age
-- order age
-- order city desc

SELECT WIDTH_BUCKET(age, 0, 100, 10) AS bin, COUNT(*)
FROM visits
GROUP BY bin
ORDER BY bin
-- scan visits
-- key bin := BUCKET(age, 0, 100, 10)
-- aggregate count := COUNT(*)
-- output bin
-- output count
-- order bin

SELECT DATE_TRUNC('month', CAST(seen AS DATE)) AS month, COUNT(*)
FROM visits
WHERE day >= DATE_TRUNC('year', DATE '2022-05-13')
GROUP BY 1
-- scan visits
-- filter (day >= year of datetime.date(2022, 5, 13))
-- key month := month of seen::DATE
-- aggregate count := COUNT(*)
-- output month
-- output count

SELECT DATE_TRUNC('month', day) AS month, SUM(cost) FROM visits GROUP BY 1 ORDER BY 1
-- scan visits
-- key month := month of day
-- aggregate sum_cost := SUM(cost)
-- output month
-- output sum_cost
-- order month

SELECT DISTINCT city FROM visits
-- scan visits
-- key city
-- output city

SELECT city FROM visits GROUP BY city
-- scan visits
-- key city
-- output city

SELECT DISTINCT city, urgent FROM visits ORDER BY city LIMIT 3
-- scan visits
-- key city
-- key urgent
-- output city
-- output urgent
-- order city
-- limit 3 offset 0

SELECT COUNT(*) FROM visits HAVING COUNT(*) > 10
-- scan visits
-- aggregate count := COUNT(*)
-- having (count > 10)
-- output count

SELECT kind, SUM(load) FROM events GROUP BY kind
-- scan events
-- key kind
-- aggregate sum_load := SUM(load)
-- output kind
-- output sum_load

SELECT CAST(age AS DOUBLE), COUNT(*), 'x', age BETWEEN 3 AND 5 FROM visits GROUP BY age
-- scan visits
-- key age
-- aggregate count := COUNT(*)
-- output age := age::REAL
-- output count
-- output column_3 := 'x'
-- output column_4 := ((age >= 3) and (age <= 5))

SELECT DISTINCT city, 'x' AS tag FROM visits
-- scan visits
-- key city
-- output city
-- output tag := 'x'

SELECT city IS NULL, COALESCE(city, 'all') AS c, COUNT(*) IN (1, 2), city LIKE 'A%', DATE_TRUNC('year', day), TRY_CAST(city AS BIGINT)
FROM visits
GROUP BY ROLLUP (city, day)
-- scan visits
-- key city
-- key day
-- sets (city, day), (city), ()
-- aggregate count := COUNT(*)
-- output column_1 := IS_NULL(city)
-- output c := COALESCE(city, 'all')
-- output column_3 := count in [1, 2]
-- output column_4 := city like 'A%'
-- output date_trunc := year of day
-- output city := city::INTEGER

SELECT city, GROUPING(city), COUNT(*)
FROM visits
GROUP BY ROLLUP (city)
-- scan visits
-- key city
-- sets (city), ()
-- aggregate count := COUNT(*)
-- output city
-- output grouping := grouping(city)
-- output count

SELECT city, urgent, GROUPING(city, urgent) AS g, COUNT(*) AS n
FROM visits
GROUP BY CUBE (city, urgent)
HAVING GROUPING(city) = 0
ORDER BY GROUPING(urgent), n
-- scan visits
-- key city
-- key urgent
-- sets (city, urgent), (city), (urgent), ()
-- aggregate n := COUNT(*)
-- having (grouping(city) = 0)
-- output city
-- output urgent
-- output g := ((grouping(city) * 2) + grouping(urgent))
-- output n
-- order grouping(urgent)
-- order n

SELECT GROUPING(city) AS g, COUNT(*)
FROM visits
GROUP BY city
-- scan visits
-- key city
-- aggregate count := COUNT(*)
-- output g := 0
-- output count

SELECT * FROM (SELECT city, urgent, cost FROM visits) PIVOT (AVG(cost) FOR urgent IN (TRUE, FALSE))
-- scan visits
-- project city, urgent, cost
-- key city
-- aggregate true := MEAN(cost) where (urgent = True)
-- aggregate false := MEAN(cost) where (urgent = False)
-- output city
-- output true
-- output false

SELECT * FROM visits PIVOT (COUNT(*) AS n FOR city IN ('Haifa' AS h, 'Austin') GROUP BY urgent)
-- scan visits
-- key urgent
-- aggregate h_n := COUNT(*) where (city = 'Haifa')
-- aggregate Austin_n := COUNT(*) where (city = 'Austin')
-- output urgent
-- output h_n
-- output Austin_n

SELECT * FROM (SELECT urgent, age > 9 AS old FROM visits) AS t(old, urgent) PIVOT (COUNT(*) FOR urgent IN (TRUE))
-- scan visits
-- project urgent, old := (age > 9)
-- key old := urgent
-- aggregate true := COUNT(*) where (old = True)
-- output old
-- output true

SELECT p.x, p.Haifa, Austin FROM visits PIVOT (AVG(cost) FOR city IN ('Austin', 'Haifa') GROUP BY urgent) AS p(x, Haifa, Austin)
-- scan visits
-- key urgent
-- aggregate Austin := MEAN(cost) where (city = 'Austin')
-- aggregate Haifa := MEAN(cost) where (city = 'Haifa')
-- output x := urgent
-- output Haifa := Austin
-- output Austin := Haifa

SELECT * FROM visits PIVOT (COUNT(*) FOR cost IN (-3, -4 AS four, 3) GROUP BY urgent)
-- scan visits
-- key urgent
-- aggregate -3 := COUNT(*) where (cost = -3)
-- aggregate four := COUNT(*) where (cost = -4)
-- aggregate 3 := COUNT(*) where (cost = 3)
-- output urgent
-- output -3
-- output four
-- output 3

SELECT region, COUNT(*) FROM (SELECT city AS name FROM visits) NATURAL JOIN cities GROUP BY region
-- scan visits
-- project name := city
-- inner join public cities on name = name giving cities.name := name, region := region, population := population
-- key region
-- aggregate count := COUNT(*)
-- output region
-- output count

SELECT age, age % 10 AS w, COUNT(*) AS n FROM visits GROUP BY age, w
-- scan visits
-- key age
-- aggregate n := COUNT(*)
-- output age
-- output w := (age % 10)
-- output n

SELECT CASE WHEN city = 'Haifa' THEN 1 ELSE 2 END AS c, UPPER(city) AS u, urgent, COUNT(*) AS n FROM visits GROUP BY c, u, city, urgent HAVING UPPER(city) <> 'X'
-- scan visits
-- key city
-- key urgent
-- aggregate n := COUNT(*)
-- having (UPPER(city) <> 'X')
-- output c := case[(city = 'Haifa') -> 1; else 2]
-- output u := UPPER(city)
-- output urgent
-- output n

SELECT w, AVG(n) AS a FROM (SELECT age, age % 10 AS w, COUNT(*) AS n FROM visits GROUP BY age, w) AS g GROUP BY w
-- scan visits
-- key age
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   compute age, w := (age % 10), n
--   group w, a := MEAN(n)
--   compute w, a

SELECT "Note", UPPER("Note") AS u, COUNT(*) AS n FROM visits GROUP BY "Note", u
-- scan visits
-- key Note
-- key u := UPPER(Note)
-- aggregate n := COUNT(*)
-- output Note
-- output u
-- output n

SELECT city, UPPER(city) AS u, COUNT(*) AS n, GROUPING(UPPER(city)) AS g FROM visits GROUP BY city, u
-- scan visits
-- key city
-- key u := UPPER(city)
-- aggregate n := COUNT(*)
-- output city
-- output u
-- output n
-- output g := 0

SELECT city, UPPER(city) AS u, COUNT(*) AS n FROM visits GROUP BY ROLLUP (city, u)
-- scan visits
-- key city
-- key u := UPPER(city)
-- sets (city, u), (city), ()
-- aggregate n := COUNT(*)
-- output city
-- output u
-- output n

SELECT STRFTIME(day, '%Y-%m') AS m, COUNT(*) FROM visits WHERE EXTRACT(YEAR FROM day) = 2024 GROUP BY m
-- scan visits
-- filter (YEAR(day) = 2024)
-- key m := (RIGHT(('000' || YEAR(day)::TEXT), 4) || '-' || RIGHT(('0' || MONTH(day)::TEXT), 2))
-- aggregate count := COUNT(*)
-- output m
-- output count
