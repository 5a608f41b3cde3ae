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

SELECT * FROM (SELECT city, urgent, COUNT(*) AS n FROM visits GROUP BY city, urgent) PIVOT (SUM(n) FOR urgent IN (TRUE, FALSE))
-- scan visits
-- key city
-- key urgent
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   compute city, urgent, n
--   group city, true := SUM(n) where (urgent = True), false := SUM(n) where (urgent = False)
--   compute city, true, false
--   compute city, true, false

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

SELECT * FROM (SELECT city, age // 5 AS a, COUNT(*) AS n FROM visits GROUP BY 1, 2) PIVOT (SUM(n) AS s, COUNT(*) AS c FOR city IN ('Austin', 'Haifa'))
-- scan visits
-- key city
-- key a := QUOTIENT(age, 5)
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   compute city, a, n
--   group a, Austin_s := SUM(n) where (city = 'Austin'), Austin_c := COUNT(*) where (city = 'Austin'), Haifa_s := SUM(n) where (city = 'Haifa'), Haifa_c := COUNT(*) where (city = 'Haifa')
--   compute a, Austin_s, Austin_c, Haifa_s, Haifa_c
--   compute a, Austin_s, Austin_c, Haifa_s, Haifa_c

SELECT city, COUNT(*) AS n FROM visits GROUP BY city HAVING COUNT(*) > (SELECT AVG(n) FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) t) ORDER BY n
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   left join
--     answer 0
--     compute city, n
--     group avg_n := MEAN(n)
--     compute avg_n
--     compute answer 1 := avg_n
--   filter (n > answer 1)
--   sort n limit None offset 0
--   compute city, n

SELECT a.city, b.n FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) a LEFT JOIN (SELECT city, COUNT(*) AS n FROM visits WHERE age > 5 GROUP BY city) b USING (city)
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- also
--   scan visits
--   filter (age > 5)
--   key city
--   aggregate n := COUNT(*)
-- then
--   answer 0
--   compute city, n
--   left join on (city = city_2)
--     answer 1
--     compute city, n
--     compute city_2 := city, n_2 := n
--   compute city, n := n_2

SELECT a.city AS c, b.city AS d, a.n, b.n AS m FROM (SELECT city, COUNT(*) AS n FROM visits WHERE age < 4 GROUP BY city) a FULL JOIN (SELECT city, COUNT(*) AS n FROM visits WHERE age > 5 GROUP BY city) b ON a.city = b.city
-- scan visits
-- filter (age < 4)
-- key city
-- aggregate n := COUNT(*)
-- also
--   scan visits
--   filter (age > 5)
--   key city
--   aggregate n := COUNT(*)
-- then
--   answer 0
--   compute city, n
--   full join on (city = city_2)
--     answer 1
--     compute city, n
--     compute city_2 := city, n_2 := n
--   compute c := city, d := city_2, n, m := n_2

SELECT b.city, a.n FROM (SELECT city, COUNT(*) AS n FROM visits WHERE age > 7 GROUP BY city) a RIGHT JOIN (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) b ON a.city = b.city
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- also
--   scan visits
--   filter (age > 7)
--   key city
--   aggregate n := COUNT(*)
-- then
--   answer 0
--   compute city, n
--   compute city_2 := city, n_2 := n
--   left join on (city = city_2)
--     answer 1
--     compute city, n
--   compute city := city_2, n

SELECT n, COUNT(*) AS groups FROM (SELECT age, COUNT(*) AS n FROM visits GROUP BY age) t GROUP BY n ORDER BY groups DESC, n
-- scan visits
-- key age
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   compute age, n
--   group n, groups := COUNT(*)
--   sort groups desc, n limit None offset 0
--   compute n, groups

SELECT COUNT(DISTINCT n), SUM(n) FILTER (WHERE n > 3), CORR(age, n), VAR_POP(n) FROM (SELECT age, COUNT(*) AS n FROM visits GROUP BY age) t
-- scan visits
-- key age
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   compute age, n
--   group count_distinct_n := COUNT_DISTINCT(n), sum_n := SUM(n) where (n > 3), corr_age_n := CORRELATION(age, n), variance_n := VARIANCE(n) population
--   compute count_distinct_n, sum_n, corr_age_n, variance_n

SELECT city, sum(n) OVER (PARTITION BY city ORDER BY age) AS r, avg(n) OVER (ORDER BY age, city ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS m, lead(n, 1, 0) OVER (ORDER BY age, city) AS l, cume_dist() OVER (ORDER BY n) AS d, max(n) FILTER (WHERE age > 4) OVER () AS x FROM (SELECT city, age, COUNT(*) AS n FROM visits GROUP BY city, age) t
-- scan visits
-- key city
-- key age
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   compute city, age, n
--   window window 1 := SUM(n) by [city] order [age]
--   window window 2 := MEAN(n) by [] order [age, city] rows -1 to 1
--   window window 3 := LEAD(n, 0; 1) by [] order [age, city]
--   window window 4 := CUME_DIST() by [] order [n]
--   window window 5 := MAX(case[(age > 4) -> n; else None:INTEGER]) by [] order []
--   compute city, r := window 1, m := window 2, l := window 3, d := window 4, x := window 5

SELECT city, COUNT(*) FILTER (WHERE urgent) * 1.0 / COUNT(*) AS share, RANK() OVER (ORDER BY COUNT(*) FILTER (WHERE urgent) * 1.0 / COUNT(*)) AS r FROM visits GROUP BY city
-- scan visits
-- key city
-- aggregate count := COUNT(*) where urgent
-- aggregate count_2 := COUNT(*)
-- then
--   answer 0
--   window window 1 := RANK() by [] order [((count * 1.0) / count_2)]
--   compute city, share := ((count * 1.0) / count_2), r := window 1

SELECT city, age, COUNT(*) AS n, COUNT(*) - AVG(COUNT(*)) OVER (PARTITION BY city) AS d FROM visits GROUP BY city, age QUALIFY ROW_NUMBER() OVER (PARTITION BY city ORDER BY COUNT(*) DESC, age) <= 2 ORDER BY city, n DESC
-- scan visits
-- key city
-- key age
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   window window 1 := MEAN(n) by [city] order []
--   window window 2 := ROW_NUMBER() by [city] order [n desc, age]
--   filter (window 2 <= 2)
--   sort city, n desc limit None offset 0
--   compute city, age, n, d := (n - window 1)

SELECT city, COUNT(*) AS n, GROUPING(city) AS g, COUNT(*) * 1.0 / MAX(COUNT(*)) OVER () AS s FROM visits GROUP BY ROLLUP (city)
-- scan visits
-- key city
-- sets (city), ()
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   window window 1 := MAX(n) by [] order []
--   compute city, n, g := grouping(city), s := ((n * 1.0) / window 1)

WITH a AS (SELECT city, COUNT(*) AS n FROM visits GROUP BY city), b AS (SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex) SELECT (SELECT MAX(n) FROM a) AS x, (SELECT MIN(n) FROM b) AS y, (SELECT SUM(n) FROM a) + 1 AS z
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- also
--   scan patients
--   key sex
--   aggregate n := COUNT(*)
-- then
--   answer 0
--   compute city, n
--   group max_n := MAX(n)
--   compute max_n
--   compute answer 1 := max_n
--   left join
--     answer 1
--     compute sex, n
--     group min_n := MIN(n)
--     compute min_n
--     compute answer 2 := min_n
--   left join
--     answer 0
--     compute city, n
--     group sum_n := SUM(n)
--     compute sum_n
--     compute answer 3 := sum_n
--   compute x := answer 1, y := answer 2, z := (answer 3 + 1)

SELECT city FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) a UNION SELECT sex FROM (SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex) b
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- also
--   scan patients
--   key sex
--   aggregate n := COUNT(*)
-- then
--   answer 0
--   compute city
--   union all
--     answer 1
--     compute sex
--   group city

SELECT MAX(share) - MIN(share) AS gap FROM (SELECT city, AVG(CAST(urgent AS INT)) AS share FROM visits GROUP BY city) t
-- scan visits
-- key city
-- aggregate share := MEAN(urgent::INTEGER)
-- then
--   answer 0
--   compute city, share
--   group max_share := MAX(share), min_share := MIN(share)
--   compute gap := (max_share - min_share)

SELECT x.city, x.m - y.m AS d FROM (SELECT city, AVG(cost) AS m FROM visits GROUP BY city) x, (SELECT AVG(cost) AS m FROM visits) y WHERE x.m > y.m
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
--   filter (m > m_2)
--   compute city, d := (m - m_2)

SELECT a.n FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) a, (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) b WHERE a.city = b.city
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   compute city, n
--   inner join
--     answer 0
--     compute city, n
--     compute city_2 := city, n_2 := n
--   filter (city = city_2)
--   compute n

SELECT city, n FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) a WHERE city IN (SELECT city FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) b WHERE n > 9)
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   compute city, n
--   left join on (city = answer 1)
--     answer 0
--     filter (n > 9)
--     compute city
--     group answer 1 := city
--   left join
--     answer 0
--     filter (n > 9)
--     compute city
--     group answer 2 := COUNT(*), answer 2_2 := COUNT(city)
--   filter case[NOT(IS_NULL(answer 1)) -> True; (answer 2 = 0) -> False; (IS_NULL(city) or (answer 2 > answer 2_2)) -> None:BOOLEAN; else False]
--   compute city, n

SELECT city, n FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) a WHERE city NOT IN (SELECT city FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) b WHERE n > 9 AND city IS NOT NULL)
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   compute city, n
--   left join on (city = answer 1)
--     answer 0
--     filter ((n > 9) and NOT(IS_NULL(city)))
--     compute city
--     group answer 1 := city
--   left join
--     answer 0
--     filter ((n > 9) and NOT(IS_NULL(city)))
--     compute city
--     group answer 2 := COUNT(*), answer 2_2 := COUNT(city)
--   filter NOT(case[NOT(IS_NULL(answer 1)) -> True; (answer 2 = 0) -> False; (IS_NULL(city) or (answer 2 > answer 2_2)) -> None:BOOLEAN; else False])
--   compute city, n

SELECT city, n FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) a WHERE city NOT IN (SELECT city FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) b WHERE n > 2)
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   compute city, n
--   left join on (city = answer 1)
--     answer 0
--     filter (n > 2)
--     compute city
--     group answer 1 := city
--   left join
--     answer 0
--     filter (n > 2)
--     compute city
--     group answer 2 := COUNT(*), answer 2_2 := COUNT(city)
--   filter NOT(case[NOT(IS_NULL(answer 1)) -> True; (answer 2 = 0) -> False; (IS_NULL(city) or (answer 2 > answer 2_2)) -> None:BOOLEAN; else False])
--   compute city, n

SELECT city, n, city IN (SELECT city FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) b WHERE n > 900) AS there FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) a
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   compute city, n
--   left join on (city = answer 1)
--     answer 0
--     filter (n > 900)
--     compute city
--     group answer 1 := city
--   left join
--     answer 0
--     filter (n > 900)
--     compute city
--     group answer 2 := COUNT(*), answer 2_2 := COUNT(city)
--   compute city, n, there := case[NOT(IS_NULL(answer 1)) -> True; (answer 2 = 0) -> False; (IS_NULL(city) or (answer 2 > answer 2_2)) -> None:BOOLEAN; else False]

SELECT city, COUNT(*) AS n FROM visits GROUP BY city HAVING COUNT(*) IN (SELECT MAX(n) FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) t)
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   left join on (n = answer 1)
--     answer 0
--     compute city, n
--     group max_n := MAX(n)
--     compute max_n
--     group answer 1 := max_n
--   left join
--     answer 0
--     compute city, n
--     group max_n := MAX(n)
--     compute max_n
--     group answer 2 := COUNT(*), answer 2_2 := COUNT(max_n)
--   filter case[NOT(IS_NULL(answer 1)) -> True; (answer 2 = 0) -> False; (IS_NULL(n) or (answer 2 > answer 2_2)) -> None:BOOLEAN; else False]
--   compute city, n

SELECT 'a' AS s, COUNT(*) AS n FROM visits UNION ALL SELECT 'b', COUNT(*) FROM tests ORDER BY n DESC, 1
-- scan visits
-- aggregate n := COUNT(*)
-- also
--   scan tests
--   aggregate count := COUNT(*)
-- then
--   answer 0
--   compute s := 'a', n
--   union all
--     answer 1
--     compute column_1 := 'b', count
--   sort n desc, s limit None offset 0

WITH m AS (SELECT year(day) AS y, COUNT(*) AS n FROM visits GROUP BY 1) SELECT y, n, LAG(n) OVER w AS before, SUM(n) OVER (w ROWS 2 PRECEDING) AS recent FROM m WINDOW w AS (ORDER BY y)
-- scan visits
-- key y := YEAR(day)
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   compute y, n
--   window window 1 := LAG(n; 1) by [] order [y]
--   window window 2 := SUM(n) by [] order [y] rows -2 to 0
--   compute y, n, before := window 1, recent := window 2

SELECT ARG_MAX(city, n) AS busiest FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY city)
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   compute city, n
--   window turn := ROW_NUMBER() by [] order [NOT(COALESCE((NOT(IS_NULL(city)) and NOT(IS_NULL(n))), False)), n desc]
--   group busiest := MAX(city) where ((NOT(IS_NULL(city)) and NOT(IS_NULL(n))) and (turn = 1))
--   compute busiest

SELECT urgent, SUM(n) AS n FROM (SELECT city, urgent, COUNT(*) AS n FROM visits GROUP BY 1, 2) GROUP BY ROLLUP (urgent)
-- scan visits
-- key city
-- key urgent
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   compute city, urgent, n
--   group urgent, n := SUM(n)
--   compute urgent, grouping(urgent) := 0, n
--   union all
--     answer 0
--     compute city, urgent, n
--     group n := SUM(n)
--     compute urgent := None:BOOLEAN, grouping(urgent) := 1, n
--   compute urgent, n

SELECT city, a, b FROM (SELECT city, COUNT(*) AS a FROM visits GROUP BY city) FULL JOIN (SELECT city, AVG(cost) AS b FROM visits GROUP BY city) USING (city)
-- scan visits
-- key city
-- aggregate a := COUNT(*)
-- also
--   scan visits
--   key city
--   aggregate b := MEAN(cost)
-- then
--   answer 0
--   compute city, a
--   full join on (city = city_2)
--     answer 1
--     compute city, b
--     compute city_2 := city, b
--   compute city, a, city_2, b, city_3 := COALESCE(city, city_2)
--   compute city := city_3, a, b

SELECT c.name, COALESCE(t.n, 0) AS n, t.n * 1000.0 / c.population AS rate FROM cities c LEFT JOIN (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) t ON t.city = c.name
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- then
--   public cities
--   left join on (city = name)
--     answer 0
--     compute city, n
--   compute name, n := COALESCE(n, 0), rate := ((n * 1000.0) / population)

SELECT COUNT(*) * 1.0 / (SELECT SUM(population) FROM cities) AS rate FROM visits
-- scan visits
-- aggregate count := COUNT(*)
-- then
--   answer 0
--   left join
--     public cities
--     group sum_population := SUM(population)
--     compute sum_population
--     compute answer 1 := sum_population
--   compute rate := ((count * 1.0) / answer 1)

SELECT city, COUNT(*) AS n FROM visits GROUP BY city ORDER BY n DESC FETCH FIRST 1 ROW ONLY
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- output city
-- output n
-- order n desc
-- limit 1 offset 0

SELECT SUM(DISTINCT n) AS s FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY city)
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   compute city, n
--   group s := SUM_DISTINCT(n)
--   compute s

SELECT (SELECT c.region FROM cities c WHERE c.name = v.city) AS region, COUNT(*) AS n
FROM visits v
WHERE v.cost > (SELECT population FROM cities WHERE name = 'Haifa')
GROUP BY 1
-- scan visits
-- left join public cities on 'Haifa' = name giving name := name, region := region, population := population
-- filter (cost > population)
-- left join public cities on city = name giving c.name := name, c.region := region, c.population := population
-- key region := c.region
-- aggregate n := COUNT(*)
-- output region
-- output n

SELECT (SELECT t.value FROM tests t WHERE t.patient = p.id ORDER BY t.visit_id DESC LIMIT 1) > 3 AS high, COUNT(*) AS n
FROM patients p
GROUP BY 1
-- scan patients
-- left join same person
--   scan tests
--   per person key 0 := patient, value := FIRST(value) order visit_id desc
--   project key 0, value
-- key high := (value > 3)
-- aggregate n := COUNT(*)
-- output high
-- output n

SELECT DISTINCT ON (city) city, urgent, n FROM (SELECT city, urgent, COUNT(*) AS n FROM visits GROUP BY 1, 2) t ORDER BY city, n DESC, urgent
-- scan visits
-- key city
-- key urgent
-- aggregate n := COUNT(*)
-- then
--   answer 0
--   compute city, urgent, n
--   window window 1 := ROW_NUMBER() by [city] order [city, n desc, urgent]
--   filter (window 1 = 1)
--   sort city, n desc, urgent limit None offset 0
--   compute city, urgent, n
