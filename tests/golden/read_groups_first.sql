--- Sums over people by their rows, and groups that are made before they are ranked or joined.

SELECT AVG(n), MEDIAN(n), COUNT(*) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id)
-- scan visits
-- per person patient_id, n := COUNT(*)
-- aggregate count := COUNT(*)
-- aggregate median := QUANTILE(case[IS_NULL(n) -> None:REAL; else LN((LEAST(n, 1099511627776) + 1))]) at 1/2
-- also
--   scan visits
--   window all n := COUNT()
--   project patient_id, n := all n, n counts := True
--   aggregate total 1 := SUM(case[n counts -> 1; else None:INTEGER])
-- then
--   answer 0
--   left join
--     answer 1
--   compute avg := (GREATEST(total 1, 0) / GREATEST(count, 1)), median := ROUND((EXP(median) - 1.0)), count

SELECT AVG(n * 1.0), SUM(CASE WHEN n > 2 THEN t ELSE 0 END) FROM (SELECT patient_id, COUNT(*) AS n, SUM(cost) AS t FROM visits GROUP BY patient_id)
-- scan visits
-- window all n := COUNT()
-- window all t := SUM(cost)
-- project patient_id, n := all n, n counts := True, t := all t, t counts := NOT(IS_NULL(cost)), each t := cost
-- aggregate sum_2 := SUM((case[n counts -> 1; else None:INTEGER] * 1.0)) where NOT(IS_NULL((case[n counts -> 1; else None:INTEGER] * 1.0)))
-- aggregate count_people := COUNT_PEOPLE(*) where NOT(IS_NULL((case[n counts -> 1; else None:INTEGER] * 1.0)))
-- aggregate sum := SUM(case[(n > 2) -> case[t counts -> each t; else None:REAL]; else 0]) where NOT(IS_NULL(case[(n > 2) -> case[t counts -> each t; else None:REAL]; else 0]))
-- output avg := (sum_2 / GREATEST(count_people, 1))
-- output sum

SELECT AVG(m) FROM (SELECT patient_id, SUM(cost) / COUNT(*) AS m FROM visits GROUP BY patient_id)
-- scan visits
-- window all sum_cost := SUM(cost)
-- window all count := COUNT()
-- project patient_id, sum_cost := all sum_cost, sum_cost counts := NOT(IS_NULL(cost)), each sum_cost := cost, count := all count, count counts := True
-- project patient_id, m := (sum_cost / count), m counts := NOT(IS_NULL((case[sum_cost counts -> each sum_cost; else None:REAL] / count))), each m := (case[sum_cost counts -> each sum_cost; else None:REAL] / count)
-- aggregate sum_each m := SUM(each m) where m counts
-- aggregate count_people := COUNT_PEOPLE(*) where m counts
-- output avg := (sum_each m / GREATEST(count_people, 1))

SELECT AVG(d) FROM (SELECT patient_id, COUNT(DISTINCT city) FILTER (WHERE urgent) AS d FROM visits GROUP BY patient_id)
-- scan visits
-- per person patient_id, d := COUNT_DISTINCT(city) where urgent
-- aggregate count := COUNT(*)
-- also
--   scan visits
--   window all d := ROW_NUMBER() by city by (COALESCE(urgent, False) and NOT(IS_NULL(city)))
--   project patient_id, d counts := ((COALESCE(urgent, False) and NOT(IS_NULL(city))) and (all d = 1))
--   aggregate total 1 := SUM(case[d counts -> 1; else None:INTEGER])
-- then
--   answer 0
--   left join
--     answer 1
--   compute avg := (GREATEST(total 1, 0) / GREATEST(count, 1))

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
--     project patient_id, n := all n, n counts := True
--   key sex 1 := sex
--   aggregate total 1 := SUM(COALESCE(case[n counts -> 1; else None:INTEGER], 0))
-- then
--   answer 0
--   left join on COALESCE((sex = sex 1), (IS_NULL(sex) and IS_NULL(sex 1)))
--     answer 1
--   compute sex, m := (total 1 / GREATEST(count, 1)), avg_income

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

PIVOT visits ON city USING COUNT(*) GROUP BY urgent
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
