--- Sums over people by their rows, and groups that are made before they are ranked or joined.

SELECT AVG(n), MEDIAN(n), COUNT(*) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id)
-- scan visits
-- per person patient_id, n := COUNT(*)
-- aggregate count := COUNT(*)
-- aggregate median := QUANTILE(case[IS_NULL(n) -> None:REAL; else LN((LEAST(n, 1099511627776) + 1))]) at 1/2
-- also
--   scan visits
--   window all n := COUNT()
--   project patient_id, n := all n, each n := case[True -> 1; else 0]
--   aggregate total 1 := SUM(each n)
-- then
--   answer 0
--   left join
--     answer 1
--   compute avg := case[(count = 0) -> None:REAL; else (GREATEST(total 1, 0) / GREATEST(count, 1))], median := ROUND((EXP(median) - 1.0)), count

SELECT AVG(n * 1.0), SUM(CASE WHEN n > 2 THEN t ELSE 0 END) FROM (SELECT patient_id, COUNT(*) AS n, SUM(cost) AS t FROM visits GROUP BY patient_id)
-- scan visits
-- per person patient_id, n := COUNT(*), t := SUM(cost)
-- aggregate count := COUNT(*)
-- also
--   scan visits
--   window all n := COUNT()
--   window all t := SUM(cost)
--   project patient_id, n := all n, each n := case[True -> 1; else 0], t := all t, each t := case[NOT(IS_NULL(cost)) -> cost; else None:REAL]
--   aggregate total 1 := SUM((each n * 1.0))
--   aggregate total 2 := SUM(case[(n > 2) -> each t; else 0])
-- then
--   answer 0
--   left join
--     answer 1
--   compute avg := case[(count = 0) -> None:REAL; else (total 1 / GREATEST(count, 1))], sum := total 2

SELECT AVG(m) FROM (SELECT patient_id, SUM(cost) / COUNT(*) AS m FROM visits GROUP BY patient_id)
-- scan visits
-- per person patient_id, sum_cost := SUM(cost), count := COUNT(*)
-- project patient_id, m := (sum_cost / count)
-- aggregate count_m := COUNT(m)
-- also
--   scan visits
--   window all sum_cost := SUM(cost)
--   window all count := COUNT()
--   project patient_id, sum_cost := all sum_cost, each sum_cost := case[NOT(IS_NULL(cost)) -> cost; else None:REAL], count := all count, each count := case[True -> 1; else 0]
--   project patient_id, m := (sum_cost / count), each m := (each sum_cost / count)
--   aggregate total 1 := SUM(each m)
-- then
--   answer 0
--   left join
--     answer 1
--   compute avg := case[(count_m = 0) -> None:REAL; else (total 1 / GREATEST(count_m, 1))]

SELECT AVG(d) FROM (SELECT patient_id, COUNT(DISTINCT city) FILTER (WHERE urgent) AS d FROM visits GROUP BY patient_id)
-- scan visits
-- per person patient_id, d := COUNT_DISTINCT(city) where urgent
-- aggregate count := COUNT(*)
-- also
--   scan visits
--   window all d := ROW_NUMBER() by city by (COALESCE(urgent, False) and NOT(IS_NULL(city)))
--   project patient_id, each d := case[((COALESCE(urgent, False) and NOT(IS_NULL(city))) and (all d = 1)) -> 1; else 0]
--   aggregate total 1 := SUM(each d)
-- then
--   answer 0
--   left join
--     answer 1
--   compute avg := case[(count = 0) -> None:REAL; else (GREATEST(total 1, 0) / GREATEST(count, 1))]

SELECT sex, AVG(COALESCE(v.n, 0)) AS m, AVG(income) FROM patients p LEFT JOIN (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) v ON v.patient_id = p.id GROUP BY sex
-- scan patients
-- left join same person
--   scan visits
--   per person patient_id, n := COUNT(*)
-- key sex
-- aggregate count := COUNT(*)
-- aggregate avg_income := MEAN(income)
-- also
--   scan patients
--   left join same person
--     scan visits
--     window all n := COUNT()
--     project patient_id, n := all n, each n := case[True -> 1; else 0]
--   key sex 1 := sex
--   aggregate total 1 := SUM(COALESCE(each n, 0))
-- then
--   answer 0
--   left join on COALESCE((sex = sex 1), (IS_NULL(sex) and IS_NULL(sex 1)))
--     answer 1
--   compute sex, m := case[(count = 0) -> None:REAL; else (total 1 / GREATEST(count, 1))], avg_income

SELECT city, COUNT(*) FROM (SELECT patient_id, city, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY COUNT(*) DESC, city) AS turn FROM visits GROUP BY patient_id, city HAVING COUNT(*) > 1) WHERE turn = 1 GROUP BY city
-- scan visits
-- per person patient_id, city, value 0 := COUNT(*)
-- filter (value 0 > 1)
-- project patient_id, city, value 0, value 1 := value 0
-- window window := ROW_NUMBER() order value 0 desc, city
-- project patient_id, city, turn := window
-- filter (turn = 1)
-- key city
-- aggregate count := COUNT(*)
-- output city
-- output count

SELECT v.city, v.urgent, COUNT(*) / t.n AS share FROM visits v JOIN (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) t ON t.city = v.city WHERE t.n > 9 AND v.age > 30 GROUP BY 1, 2, t.n
-- scan visits
-- filter (age > 30)
-- key city
-- key urgent
-- aggregate value 0 := COUNT(*)
-- also
--   scan visits
--   key city
--   aggregate n := COUNT(*)
-- then
--   answer 0
--   compute city, urgent, value 0
--   inner join on (city_2 = city)
--     answer 1
--     compute city, n
--     compute city_2 := city, n
--   filter (n > 9)
--   compute city, urgent, share := (value 0 / n)

SELECT city, AVG(age) FROM visits WHERE urgent AND city IN (SELECT city FROM visits GROUP BY city ORDER BY COUNT(*) DESC LIMIT 1) GROUP BY city
-- scan visits
-- filter urgent
-- key city
-- aggregate avg_age := MEAN(age)
-- also
--   scan visits
--   key city
--   aggregate count := COUNT(*)
-- then
--   answer 0
--   left join on (city = answer 1)
--     answer 1
--     sort count desc limit 1 offset 0
--     compute city
--     group answer 1 := city
--   left join
--     answer 1
--     sort count desc limit 1 offset 0
--     compute city
--     group answer 2 := COUNT(*), answer 2_2 := COUNT(city)
--   filter case[NOT(IS_NULL(answer 1)) -> True; (answer 2 = 0) -> False; (IS_NULL(city) or (answer 2 > answer 2_2)) -> None:BOOLEAN; else False]
--   compute city, avg_age

SELECT * FROM (PIVOT visits ON city USING COUNT(*) GROUP BY urgent)
-- scan visits
-- key urgent
-- aggregate Austin := COUNT(*) where (city = 'Austin')
-- aggregate Haifa := COUNT(*) where (city = 'Haifa')
-- output urgent
-- output Austin
-- output Haifa

SELECT city, urgent, AVG(cost) FROM visits GROUP BY ALL ORDER BY ALL DESC
-- scan visits
-- key city
-- key urgent
-- aggregate avg_cost := MEAN(cost)
-- output city
-- output urgent
-- output avg_cost
-- order city desc
-- order urgent desc
-- order avg_cost desc

SELECT year(day) AS y, COUNT(*) FROM visits WHERE y = 2024 GROUP BY y
-- scan visits
-- filter (YEAR(day) = 2024)
-- key y := YEAR(day)
-- aggregate count := COUNT(*)
-- output y
-- output count

SELECT city, AVG(age) FROM visits WHERE urgent AND city NOT IN (SELECT city FROM visits GROUP BY city ORDER BY COUNT(*) DESC LIMIT 1) GROUP BY city
-- scan visits
-- filter urgent
-- key city
-- aggregate avg_age := MEAN(age)
-- also
--   scan visits
--   key city
--   aggregate count := COUNT(*)
-- then
--   answer 0
--   left join on (city = answer 1)
--     answer 1
--     sort count desc limit 1 offset 0
--     compute city
--     group answer 1 := city
--   left join
--     answer 1
--     sort count desc limit 1 offset 0
--     compute city
--     group answer 2 := COUNT(*), answer 2_2 := COUNT(city)
--   filter NOT(case[NOT(IS_NULL(answer 1)) -> True; (answer 2 = 0) -> False; (IS_NULL(city) or (answer 2 > answer 2_2)) -> None:BOOLEAN; else False])
--   compute city, avg_age
