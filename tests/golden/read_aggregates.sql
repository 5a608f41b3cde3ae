--- Aggregates, and arithmetic over them.

SELECT COUNT(*) FROM visits
-- scan visits
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(age), COUNT(DISTINCT city), COUNT(DISTINCT patient_id) FROM visits
-- scan visits
-- aggregate count_age := COUNT(age)
-- aggregate count_distinct_city := COUNT_DISTINCT(city)
-- aggregate count_people := COUNT_PEOPLE(*)
-- output count_age
-- output count_distinct_city
-- output count_people

SELECT COUNT(1), COUNT(ALL age), COUNT() FROM visits
-- scan visits
-- aggregate count := COUNT(*)
-- aggregate count_age := COUNT(age)
-- output count
-- output count_age
-- output count_2 := count

SELECT SUM(cost) / COUNT(*) AS mean, AVG(cost) FROM visits
-- scan visits
-- aggregate sum_cost := SUM(cost)
-- aggregate count := COUNT(*)
-- aggregate avg_cost := MEAN(cost)
-- output mean := (sum_cost / count)
-- output avg_cost

SELECT SUM(cost) AS a, sum(COST) AS b, SUM(cost) + 1 AS c FROM visits
-- scan visits
-- aggregate a := SUM(cost)
-- output a
-- output b := a
-- output c := (a + 1)

SELECT VARIANCE(age), VAR_SAMP(age), VAR_POP(age), STDDEV(age), STDDEV_SAMP(age), STDDEV_POP(age)
FROM visits
-- scan visits
-- aggregate variance_age := VARIANCE(age)
-- aggregate variance_age_3 := VARIANCE(age) population
-- aggregate stddev_age := STDDEV(age)
-- aggregate stddev_age_3 := STDDEV(age) population
-- output variance_age
-- output variance_age_2 := variance_age
-- output variance_age_3
-- output stddev_age
-- output stddev_age_2 := stddev_age
-- output stddev_age_3

SELECT COVAR_SAMP(age, cost), COVAR_POP(age, cost), CORR(age, cost) FROM visits
-- scan visits
-- aggregate covar_age_cost := COVARIANCE(age, cost)
-- aggregate covar_age_cost_2 := COVARIANCE(age, cost) population
-- aggregate corr_age_cost := CORRELATION(age, cost)
-- output covar_age_cost
-- output covar_age_cost_2
-- output corr_age_cost

SELECT MEDIAN(age), QUANTILE(age, 0.5), QUANTILE_CONT(age, 0.9) FROM visits
-- scan visits
-- aggregate median_age := QUANTILE(age) at 1/2
-- aggregate p90_age := QUANTILE(age) at 9/10
-- output median_age
-- output median_age_2 := median_age
-- output p90_age

SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY cost), PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY cost DESC)
FROM visits
-- scan visits
-- aggregate p90_cost := QUANTILE(cost) at 9/10
-- aggregate p10_cost := QUANTILE(cost) at 1/10
-- output p90_cost
-- output p10_cost

SELECT QUANTILE_CONT(age, [0.25, 0.5, 0.999]) AS q FROM visits
-- scan visits
-- aggregate q_25 := QUANTILE(age) at 1/4
-- aggregate q_50 := QUANTILE(age) at 1/2
-- aggregate q_99_9 := QUANTILE(age) at 999/1000
-- output q_25
-- output q_50
-- output q_99_9

SELECT PERCENTILE_CONT([0.1, 0.9]) WITHIN GROUP (ORDER BY age) FROM visits
-- scan visits
-- aggregate p10_age := QUANTILE(age) at 1/10
-- aggregate p90_age := QUANTILE(age) at 9/10
-- output p10_age
-- output p90_age

SELECT MIN(age), MAX(age) FROM visits
-- scan visits
-- aggregate min_age := MIN(age)
-- aggregate max_age := MAX(age)
-- output min_age
-- output max_age

SELECT COUNT(*) % 10 AS digit, CASE WHEN COUNT(*) > 10 THEN COUNT(*) END FROM visits
-- scan visits
-- aggregate count := COUNT(*)
-- output digit := (count % 10)
-- output case := case[(count > 10) -> count; else None:INTEGER]

SELECT COUNT(*) FILTER (WHERE urgent) AS urgent, SUM(cost) FILTER (WHERE age >= 18 AND urgent)
FROM visits
-- scan visits
-- aggregate urgent := COUNT(*) where urgent
-- aggregate sum_cost := SUM(cost) where ((age >= 18) and urgent)
-- output urgent
-- output sum_cost

SELECT COUNT(DISTINCT patient_id) FILTER (WHERE urgent), MEDIAN(age) FILTER (WHERE urgent), COUNT_IF(age > 17)
FROM visits
-- scan visits
-- aggregate count_people := COUNT_PEOPLE(*) where urgent
-- aggregate median_age := QUANTILE(age) at 1/2 where urgent
-- aggregate count := COUNT(*) where (age > 17)
-- output count_people
-- output median_age
-- output count

SELECT ROUND(AVG(cost), 2), ROUND(SUM(cost), -3), CASE WHEN AVG(age) > 30 THEN 'old' WHEN AVG(age) > 12 THEN 'young' END AS who
FROM visits
-- scan visits
-- aggregate avg_cost := MEAN(cost)
-- aggregate sum_cost := SUM(cost)
-- aggregate avg_age := MEAN(age)
-- output round := (ROUND((avg_cost * 100)) / 100)
-- output round_2 := (ROUND((sum_cost / 1000)) * 1000)
-- output who := case[(avg_age > 30) -> 'old'; (avg_age > 12) -> 'young'; else None:TEXT]

SELECT SUM(cost * age), SUM(CASE WHEN urgent THEN cost END), SUM(IF(urgent, 1, 0)), SUM(GREATEST(LEAST(visit_id, 10), 0))
FROM visits
-- scan visits
-- aggregate sum := SUM((cost * age))
-- aggregate sum_2 := SUM(case[urgent -> cost; else None:REAL])
-- aggregate sum_3 := SUM(case[urgent -> 1; else 0])
-- aggregate sum_4 := SUM(GREATEST(LEAST(visit_id, 10), 0))
-- output sum
-- output sum_2
-- output sum_3
-- output sum_4

SELECT COUNT(DISTINCT patient) AS people FROM tests
-- scan tests
-- aggregate people := COUNT_PEOPLE(*)
-- output people

SELECT COUNT(DISTINCT buyer) AS members, AVG(price) FROM purchases
-- scan purchases
-- aggregate members := COUNT_DISTINCT(buyer)
-- aggregate avg_price := MEAN(price)
-- output members
-- output avg_price

SELECT APPROX_COUNT_DISTINCT(city), APPROX_QUANTILE(age, 0.25)
FROM visits
-- scan visits
-- aggregate count_distinct_city := COUNT_DISTINCT(city)
-- aggregate p25_age := QUANTILE(age) at 1/4
-- output count_distinct_city
-- output p25_age

SELECT MODE(age) AS a, MODE(city) AS c, SUM(DISTINCT age) AS s, AVG(DISTINCT age) AS m FROM visits
-- scan visits
-- aggregate mode_age := MODE(age)
-- aggregate mode := MODE(case[(city = 'Austin') -> 0; (city = 'Haifa') -> 1; else None:INTEGER])
-- aggregate s := SUM_DISTINCT(age)
-- aggregate count_distinct_age := COUNT_DISTINCT(age)
-- output a := ROUND(mode_age)::INTEGER
-- output c := case[(ROUND(mode)::INTEGER = 0) -> 'Austin'; (ROUND(mode)::INTEGER = 1) -> 'Haifa'; else None:TEXT]
-- output s
-- output m := LEAST(GREATEST((s / GREATEST(count_distinct_age, 1)), 0.0), 120.0)

SELECT city, MODE() WITHIN GROUP (ORDER BY "Note") AS common, COUNT(*) AS n FROM visits GROUP BY city
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- also
--   scan visits
--   key city 1 := city
--   key Note 1 := Note
--   aggregate count of each := COUNT(Note)
-- then
--   answer 0
--   left join on COALESCE((city = city 1), (IS_NULL(city) and IS_NULL(city 1)))
--     answer 1
--     window place of each := ROW_NUMBER() by [city 1] order [count of each desc, Note 1]
--     group city 1, value 1 := MAX(Note 1) where ((place of each = 1) and (count of each > 0))
--     compute city 1, value 1
--   compute city, common := value 1, n

SELECT ENTROPY(city) AS e FROM visits
-- scan visits
-- key city 1 := city
-- aggregate count of each := COUNT(city)
-- then
--   answer 0
--   window least of all := MIN(count of each) by [] order []
--   group sum of all := SUM(count of each) where (count of each > GREATEST(NEGATE(least of all), 0)), bits of all := SUM((count of each * LOG2(count of each))) where (count of each > GREATEST(NEGATE(least of all), 0))
--   compute value 1 := case[(sum of all > 0) -> (LOG2(sum of all) - (bits of all / sum of all)); else 0.0]
--   compute value 1
--   compute e := value 1

SELECT HISTOGRAM(city) FILTER (WHERE urgent) AS h FROM visits
-- scan visits
-- key city 1 := city
-- aggregate count of each := COUNT(city) where urgent
-- then
--   answer 0
--   group value 1 := SUM(count of each) where (city 1 = 'Austin'), value 1_2 := SUM(count of each) where (city 1 = 'Haifa')
--   compute value 1, value 1_2
--   compute value 1, value 1_2
--   compute h_Austin := value 1, h_Haifa := value 1_2

SELECT AVG(n) AS visits, COUNT(*) AS people FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) WHERE n > 1
-- scan visits
-- per person patient_id, n := COUNT(*)
-- filter (n > 1)
-- aggregate people := COUNT(*)
-- also
--   scan visits
--   window all n := COUNT()
--   project patient_id, n := all n, each n := case[True -> 1; else 0]
--   filter (n > 1)
--   aggregate total 1 := SUM(each n)
-- then
--   answer 0
--   left join
--     answer 1
--   compute visits := case[(people = 0) -> None:REAL; else (GREATEST(total 1, 0) / GREATEST(people, 1))], people

SELECT MEDIAN(n) AS m FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id)
-- scan visits
-- per person patient_id, n := COUNT(*)
-- aggregate median := QUANTILE(case[IS_NULL(n) -> None:REAL; else LN((LEAST(n, 1099511627776) + 1))]) at 1/2
-- output m := ROUND((EXP(median) - 1.0))
