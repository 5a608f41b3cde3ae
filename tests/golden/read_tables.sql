--- Answers as tables: windows, groups, joins and subqueries of what is released.

SELECT city, COUNT(*) AS n, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () AS share FROM visits GROUP BY city
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   window window 1 := SUM(n) by [] order []
--   compute city, n, share := ((n * 1.0) / window 1)

SELECT city, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS r FROM visits GROUP BY city
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   window window 1 := RANK() by [] order [n desc]
--   compute city, n, r := window 1

SELECT year(day) AS y, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY year(day)) AS running FROM visits GROUP BY 1
-- scan visits
-- key y := YEAR(day)
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   window window 1 := SUM(n) by [] order [y]
--   compute y, n, running := window 1

SELECT AVG(n) FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY city)
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   compute city, n
--   group avg_n := MEAN(n)
--   compute avg_n

SELECT MAX(n), MIN(n), COUNT(*) FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) t
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   compute city, n
--   group max_n := MAX(n), min_n := MIN(n), count := COUNT(*)
--   compute max_n, min_n, count

SELECT COUNT(*) FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) t WHERE n > 10
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   compute city, n
--   filter (n > 10)
--   group count := COUNT(*)
--   compute count

SELECT a.city, a.n, b.m, a.n * 1.0 / b.m AS r FROM (SELECT city, COUNT(*) AS n FROM visits WHERE age >= 18 GROUP BY city) a JOIN (SELECT city, COUNT(*) AS m FROM visits GROUP BY city) b ON a.city = b.city
-- scan visits
-- filter (age >= 18)
-- key city
-- aggregate n := COUNT(*)
-- also
--   scan visits
--   key city
--   aggregate m := COUNT(*)
-- then
--   answer 0
--   compute city, n
--   inner join on (city = city_2)
--     answer 1
--     compute city, m
--     compute city_2 := city, m
--   compute city, n, m, r := ((n * 1.0) / m)

SELECT COUNT(*) * 1.0 / (SELECT COUNT(*) FROM visits) AS share FROM visits WHERE age >= 65
-- scan visits
-- filter (age >= 65)
-- aggregate count := COUNT(*)
-- also
--   scan visits
--   aggregate count := COUNT(*)
-- then
--   answer 0
--   left join
--     answer 1
--     compute count
--     compute answer 1 := count
--   compute share := ((count * 1.0) / answer 1)

SELECT (SELECT COUNT(*) FROM visits WHERE urgent) - (SELECT COUNT(*) FROM visits WHERE NOT urgent) AS d
-- scan visits
-- filter urgent
-- aggregate count := COUNT(*)
-- also
--   scan visits
--   filter NOT(urgent)
--   aggregate count := COUNT(*)
-- then
--   answer 0
--   compute count
--   compute answer 1 := count
--   left join
--     answer 1
--     compute count
--     compute answer 2 := count
--   compute d := (answer 1 - answer 2)

SELECT city, n, n - LAG(n) OVER (ORDER BY city) AS diff FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) t
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   compute city, n
--   window window 1 := LAG(n; 1) by [] order [city]
--   compute city, n, diff := (n - window 1)

WITH g AS (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) SELECT city, n FROM g WHERE n > (SELECT AVG(n) FROM g)
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   compute city, n
--   left join
--     answer 0
--     compute city, n
--     group avg_n := MEAN(n)
--     compute avg_n
--     compute answer 1 := avg_n
--   filter (n > answer 1)
--   compute city, n

WITH g AS (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) SELECT city, n / SUM(n) OVER () AS share FROM g ORDER BY share DESC LIMIT 3
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   compute city, n
--   window window 1 := SUM(n) by [] order []
--   sort (n / window 1) desc limit 3 offset 0
--   compute city, share := (n / window 1)

SELECT city, COUNT(*) AS n FROM visits GROUP BY city QUALIFY RANK() OVER (ORDER BY COUNT(*) DESC) <= 3
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   window window 1 := RANK() by [] order [n desc]
--   filter (window 1 <= 3)
--   compute city, n

SELECT city, urgent, COUNT(*) AS n, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER (PARTITION BY city) AS pct FROM visits GROUP BY city, urgent
-- scan visits
-- key city
-- key urgent
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   window window 1 := SUM(n) by [city] order []
--   compute city, urgent, n, pct := ((n * 100.0) / window 1)

SELECT city, AVG(cost) AS m, AVG(cost) - AVG(AVG(cost)) OVER () AS off FROM visits GROUP BY city
-- scan visits
-- key city
-- aggregate m := MEAN(cost)
-- then
--   answer 0
--   window window 1 := MEAN(m) by [] order []
--   compute city, m, off := (m - window 1)

SELECT STDDEV(n) / AVG(n) AS cv FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) t
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   compute city, n
--   group stddev_n := STDDEV(n), avg_n := MEAN(n)
--   compute cv := (stddev_n / avg_n)

SELECT city, COUNT(*) AS n, NTILE(4) OVER (ORDER BY COUNT(*)) AS q FROM visits GROUP BY city
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   window window 1 := NTILE(; 4) by [] order [n]
--   compute city, n, q := window 1

SELECT city, COUNT(*) AS n, ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) AS r, DENSE_RANK() OVER (ORDER BY COUNT(*) DESC) AS d, PERCENT_RANK() OVER (ORDER BY COUNT(*)) AS p FROM visits GROUP BY city
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   window window 1 := ROW_NUMBER() by [] order [n desc]
--   window window 2 := DENSE_RANK() by [] order [n desc]
--   window window 3 := PERCENT_RANK() by [] order [n]
--   compute city, n, r := window 1, d := window 2, p := window 3

SELECT urgent, MAX(n) AS top FROM (SELECT city, urgent, COUNT(*) AS n FROM visits GROUP BY city, urgent) t GROUP BY urgent
-- scan visits
-- key city
-- key urgent
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   compute city, urgent, n
--   group urgent, top := MAX(n)
--   compute urgent, top

SELECT urgent, SUM(n) AS s FROM (SELECT city, urgent, COUNT(*) AS n FROM visits GROUP BY city, urgent) t GROUP BY urgent HAVING SUM(n) > 5 ORDER BY s DESC
-- scan visits
-- key city
-- key urgent
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   compute city, urgent, n
--   group urgent, s := SUM(n)
--   filter (s > 5)
--   sort s desc limit None offset 0
--   compute urgent, s

SELECT a.n AS visits, b.n AS tests FROM (SELECT COUNT(*) AS n FROM visits) a, (SELECT COUNT(*) AS n FROM tests) b
-- scan visits
-- aggregate n := COUNT(*)
-- also
--   scan tests
--   aggregate n := COUNT(*)
-- then
--   answer 0
--   compute n
--   inner join
--     answer 1
--     compute n
--     compute n_2 := n
--   compute visits := n, tests := n_2

SELECT a.n AS visits, b.n AS tests FROM (SELECT COUNT(*) AS n FROM visits) a CROSS JOIN (SELECT COUNT(*) AS n FROM tests) b
-- scan visits
-- aggregate n := COUNT(*)
-- also
--   scan tests
--   aggregate n := COUNT(*)
-- then
--   answer 0
--   compute n
--   inner join
--     answer 1
--     compute n
--     compute n_2 := n
--   compute visits := n, tests := n_2

WITH a AS (SELECT city, AVG(cost) AS m FROM visits GROUP BY city), b AS (SELECT AVG(cost) AS m FROM visits) SELECT a.city, a.m / b.m AS index FROM a, b
-- scan visits
-- key city
-- aggregate m := MEAN(cost)
-- also
--   scan visits
--   aggregate m := MEAN(cost)
-- then
--   answer 0
--   compute city, m
--   inner join
--     answer 1
--     compute m
--     compute m_2 := m
--   compute city, index := (m / m_2)

SELECT 'visits' AS what, COUNT(*) AS n FROM visits UNION ALL SELECT 'tests', COUNT(*) FROM tests
-- scan visits
-- aggregate n := COUNT(*)
-- also
--   scan tests
--   aggregate count := COUNT(*)
-- then
--   answer 0
--   compute what := 'visits', n
--   union all
--     answer 1
--     compute column_1 := 'tests', count

SELECT city, COUNT(*) AS n, COUNT(*) - FIRST_VALUE(COUNT(*)) OVER (ORDER BY city) AS gap FROM visits GROUP BY city
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   window window 1 := FIRST_VALUE(n) by [] order [city]
--   compute city, n, gap := (n - window 1)

SELECT AVG(n) OVER (ORDER BY y ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS moving FROM (SELECT year(day) AS y, COUNT(*) AS n FROM visits GROUP BY 1) t
-- scan visits
-- key y := YEAR(day)
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   compute y, n
--   window window 1 := MEAN(n) by [] order [y] rows -1 to 0
--   compute moving := window 1

SELECT MEDIAN(n) FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) t
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   compute city, n
--   group median_n := QUANTILE(n) at 1/2
--   compute median_n

SELECT -SUM(p * LOG2(p)) AS entropy FROM (SELECT n / SUM(n) OVER () AS p FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) a) b
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   compute city, n
--   window window 1 := SUM(n) by [] order []
--   compute p := (n / window 1)
--   group sum := SUM((p * LOG2(p)))
--   compute entropy := NEGATE(sum)

SELECT DISTINCT n > 10 AS big FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) t
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   compute city, n
--   group big := (n > 10)
--   compute big
