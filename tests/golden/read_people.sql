--- People as sets, and each person's own history.

SELECT COUNT(*) FROM patients WHERE id IN (SELECT patient_id FROM visits WHERE urgent)
-- scan patients
-- in := same person in
--   scan visits
--   filter urgent
--   project patient_id
--   project in patient_id := patient_id
-- filter in
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*) FROM patients WHERE id NOT IN (SELECT patient_id FROM visits WHERE urgent)
-- scan patients
-- in := same person in
--   scan visits
--   filter urgent
--   project patient_id
--   project in patient_id := patient_id
-- filter NOT(in)
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.id)
-- scan patients
-- exists := same person in
--   scan visits
-- filter exists
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*) FROM patients p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.id AND v.city = 'Haifa')
-- scan patients
-- exists := same person in
--   scan visits
--   filter (city = 'Haifa')
-- filter NOT(exists)
-- aggregate count := COUNT(*)
-- output count

SELECT sex, COUNT(*) FROM patients p WHERE EXISTS (SELECT * FROM tests t WHERE t.patient = p.id AND t.value > 5) GROUP BY sex
-- scan patients
-- exists := same person in
--   scan tests
--   filter (value > 5)
-- filter exists
-- key sex
-- aggregate count := COUNT(*)
-- output sex
-- output count

SELECT city, COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM tests t WHERE t.patient = v.patient_id AND t.visit_id = v.visit_id) GROUP BY city
-- scan visits
-- exists := same person and visit_id = t.visit_id in
--   scan tests
--   project patient, t.visit_id := visit_id, value
-- filter exists
-- key city
-- aggregate count := COUNT(*)
-- output city
-- output count

SELECT city, COUNT(DISTINCT v.patient_id) FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.patient_id = v.patient_id AND w.day > v.day AND w.day <= v.day + INTERVAL 30 DAY) GROUP BY city
-- scan visits
-- exists := same person and ((w.day > day) and (w.day <= (day + 30))) in
--   scan visits
--   project w.visit_id := visit_id, w.patient_id := patient_id, w.city := city, w.age := age, w.cost := cost, w.day := day, w.seen := seen, w.urgent := urgent, w.Note := Note
-- filter exists
-- key city
-- aggregate count_people := COUNT_PEOPLE(*)
-- output city
-- output count_people

SELECT COUNT(*) FROM patients SEMI JOIN visits ON patients.id = visits.patient_id
-- scan patients
-- met := same person in
--   scan visits
-- filter met
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*) FROM patients p SEMI JOIN visits v ON p.id = v.patient_id AND v.urgent
-- scan patients
-- met := same person in
--   scan visits
--   filter urgent
-- filter met
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*) FROM patients p ANTI JOIN visits v ON p.id = v.patient_id AND v.age > 60 AND v.cost > p.income / 100
-- scan patients
-- met := same person and (cost > (income / 100)) in
--   scan visits
--   filter (age > 60)
-- filter NOT(met)
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.id) OR EXISTS (SELECT 1 FROM tests t WHERE t.patient = p.id)
-- scan patients
-- exists := same person in
--   scan visits
-- exists_2 := same person in
--   scan tests
-- filter (exists or exists_2)
-- aggregate count := COUNT(*)
-- output count

SELECT CASE WHEN EXISTS (SELECT 1 FROM tests t WHERE t.patient = p.id) THEN 'tested' ELSE 'not' END AS state, COUNT(*) FROM patients p GROUP BY 1
-- scan patients
-- exists := same person in
--   scan tests
-- key state := case[exists -> 'tested'; else 'not']
-- aggregate count := COUNT(*)
-- output state
-- output count

SELECT COUNT(*) FILTER (WHERE id IN (SELECT patient FROM tests)) AS tested, COUNT(*) AS everyone FROM patients
-- scan patients
-- in := same person in
--   scan tests
--   project patient
--   project in patient := patient
-- aggregate tested := COUNT(*) where in
-- aggregate everyone := COUNT(*)
-- output tested
-- output everyone

SELECT COUNT(*) FROM (SELECT patient_id FROM visits UNION SELECT patient FROM tests)
-- scan visits
-- project patient_id
-- union all
--   scan tests
--   project patient
-- per person patient_id
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*) FROM (SELECT patient_id FROM visits INTERSECT SELECT patient FROM tests)
-- scan visits
-- project patient_id
-- per person patient_id
-- met := same person in
--   scan tests
--   project patient
--   project other patient := patient
-- filter met
-- project patient_id
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*) FROM (SELECT id FROM patients EXCEPT SELECT patient_id FROM visits)
-- scan patients
-- project id
-- per person id
-- met := same person in
--   scan visits
--   project patient_id
--   project other patient_id := patient_id
-- filter NOT(met)
-- project id
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*) FROM (SELECT patient_id, city FROM visits WHERE urgent EXCEPT SELECT patient_id, city FROM visits WHERE NOT urgent)
-- scan visits
-- filter urgent
-- project patient_id, city
-- per person patient_id, city
-- met := same person and IS_NULL(city) = IS_NULL(other city) and COALESCE(city, '') = COALESCE(other city, '') in
--   scan visits
--   filter NOT(urgent)
--   project patient_id, city
--   project other patient_id := patient_id, other city := city
-- filter NOT(met)
-- project patient_id, city
-- aggregate count := COUNT(*)
-- output count

SELECT sex, COUNT(*) FROM patients WHERE id IN (SELECT patient_id FROM visits UNION SELECT patient FROM tests) GROUP BY sex
-- scan patients
-- in := same person in
--   scan visits
--   project patient_id
--   union all
--     scan tests
--     project patient
--   per person patient_id
--   project in patient_id := patient_id
-- filter in
-- key sex
-- aggregate count := COUNT(*)
-- output sex
-- output count

SELECT COUNT(*) FROM patients p FULL JOIN visits v ON p.id = v.patient_id
-- scan patients
-- left join same person
--   scan visits
-- union all
--   scan visits
--   met := same person in
--     scan patients
--   filter NOT(met)
--   project id := None:INTEGER, sex := None:TEXT, born := None:DATE, income := None:REAL, visit_id, patient_id, city, age, cost, day, seen, urgent, Note
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*) FILTER (WHERE v.patient_id IS NULL) AS never, COUNT(*) FILTER (WHERE p.id IS NULL) AS unknown FROM patients p FULL OUTER JOIN visits v ON p.id = v.patient_id
-- scan patients
-- left join same person
--   scan visits
-- union all
--   scan visits
--   met := same person in
--     scan patients
--   filter NOT(met)
--   project id := None:INTEGER, sex := None:TEXT, born := None:DATE, income := None:REAL, visit_id, patient_id, city, age, cost, day, seen, urgent, Note
-- aggregate never := COUNT(*) where IS_NULL(patient_id)
-- aggregate unknown := COUNT(*) where IS_NULL(id)
-- output never
-- output unknown

SELECT COUNT(*) FROM visits WHERE city IN (SELECT name FROM cities WHERE region = 'north')
-- scan visits
-- in := city = name in public cities where (region = 'north')
-- filter in
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*) FROM visits WHERE city NOT IN (SELECT name FROM cities WHERE population > 100000)
-- scan visits
-- in := city = name in public cities where (population > 100000)
-- any := any in public cities where (population > 100000)
-- filter NOT(case[in -> True; (IS_NULL(city) and any) -> None:BOOLEAN; else False])
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM cities c WHERE c.name = v.city AND c.region = 'south')
-- scan visits
-- exists := city = name in public cities where (region = 'south')
-- filter exists
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*) FROM visits v, patients p WHERE v.patient_id = p.id AND p.sex = 'f'
-- scan visits
-- inner join same person
--   scan patients
-- filter (sex = 'f')
-- aggregate count := COUNT(*)
-- output count

SELECT c.region, COUNT(*) FROM visits v, cities c WHERE v.city = c.name GROUP BY c.region
-- scan visits
-- inner join public cities on city = name giving name := name, region := region, population := population
-- key region
-- aggregate count := COUNT(*)
-- output region
-- output count

SELECT c.region, AVG(p.income) FROM patients p, visits v, cities c WHERE p.id = v.patient_id AND v.city = c.name AND v.urgent GROUP BY c.region
-- scan patients
-- inner join same person
--   scan visits
-- inner join public cities on city = name giving name := name, region := region, population := population
-- filter urgent
-- key region
-- aggregate avg_income := MEAN(income)
-- output region
-- output avg_income

SELECT COUNT(*) FROM patients p LEFT JOIN visits v ON p.id = v.patient_id AND v.urgent AND p.sex = 'f' WHERE v.patient_id IS NULL
-- scan patients
-- left join same person and (sex = 'f')
--   scan visits
--   filter urgent
-- filter IS_NULL(patient_id)
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(v.visit_id) FROM patients p LEFT JOIN visits v ON p.id = v.patient_id AND v.cost > p.income / 50
-- scan patients
-- left join same person and (cost > (income / 50))
--   scan visits
-- aggregate count_visit_id := COUNT(visit_id)
-- output count_visit_id

SELECT c.region, COUNT(*) FROM visits v LEFT JOIN cities c ON v.city = c.name AND c.population > 5000 GROUP BY c.region
-- scan visits
-- left join public cities on city = name giving name := name, region := region, population := population
-- project visit_id, patient_id, city, age, cost, day, seen, urgent, Note, name := case[(population > 5000) -> name; else None:TEXT], region := case[(population > 5000) -> region; else None:TEXT], population := case[(population > 5000) -> population; else None:INTEGER]
-- key region
-- aggregate count := COUNT(*)
-- output region
-- output count

SELECT c.region, COUNT(*) FROM cities c JOIN visits v ON v.city = c.name GROUP BY c.region
-- scan visits
-- inner join public cities on city = name giving name := name, region := region, population := population
-- key region
-- aggregate count := COUNT(*)
-- output region
-- output count

SELECT city, COUNT(*) FROM (SELECT patient_id, city, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day) AS n FROM visits) WHERE n = 1 GROUP BY city
-- scan visits
-- window window := ROW_NUMBER() order day
-- project patient_id, city, n := window
-- filter (n = 1)
-- key city
-- aggregate count := COUNT(*)
-- output city
-- output count

SELECT city, COUNT(*) FROM (SELECT * FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day DESC) = 1) GROUP BY city
-- scan visits
-- window window := ROW_NUMBER() order day desc
-- filter (window = 1)
-- project visit_id, patient_id, city, age, cost, day, seen, urgent, Note
-- key city
-- aggregate count := COUNT(*)
-- output city
-- output count

SELECT AVG(gap) FROM (SELECT day - LAG(day) OVER (PARTITION BY patient_id ORDER BY day) AS gap FROM visits)
-- scan visits
-- window window := LAG(day, 1) order day
-- project gap := (day - window)
-- aggregate avg_gap := MEAN(gap)
-- output avg_gap

SELECT COUNT(*) FROM (SELECT SUM(cost) OVER (PARTITION BY patient_id ORDER BY day) AS spent FROM visits) WHERE spent > 500
-- scan visits
-- window window := SUM(cost) order day
-- project spent := window
-- filter (spent > 500)
-- aggregate count := COUNT(*)
-- output count

SELECT first_city, COUNT(*) FROM (SELECT DISTINCT patient_id, FIRST_VALUE(city) OVER (PARTITION BY patient_id ORDER BY day) AS first_city FROM visits) GROUP BY first_city
-- scan visits
-- window window := FIRST_VALUE(city) order day
-- per person patient_id, first_city := window
-- key first_city
-- aggregate count := COUNT(*)
-- output first_city
-- output count

SELECT AVG(cost - usual) FROM (SELECT cost, AVG(cost) OVER (PARTITION BY patient_id) AS usual FROM visits)
-- scan visits
-- window window := MEAN(cost)
-- project cost, usual := window
-- aggregate avg := MEAN((cost - usual))
-- output avg

SELECT COUNT(*) FROM (SELECT day, LAG(day, 2) OVER (PARTITION BY patient_id ORDER BY day) AS before FROM visits) WHERE day - before < 30
-- scan visits
-- window window := LAG(day, 2) order day
-- project day, before := window
-- filter ((day - before) < 30)
-- aggregate count := COUNT(*)
-- output count

SELECT city, COUNT(*) FROM (SELECT city, RANK() OVER (PARTITION BY patient_id ORDER BY cost DESC) AS r FROM visits) WHERE r <= 3 GROUP BY city
-- scan visits
-- window window := RANK() order cost desc
-- project city, r := window
-- filter (r <= 3)
-- key city
-- aggregate count := COUNT(*)
-- output city
-- output count

SELECT COUNT(*) FROM (SELECT COUNT(*) OVER (PARTITION BY patient_id, city) AS same FROM visits) WHERE same > 2
-- scan visits
-- window window := COUNT() by city
-- project same := window
-- filter (same > 2)
-- aggregate count := COUNT(*)
-- output count

SELECT AVG(m) FROM (SELECT AVG(cost) OVER (PARTITION BY patient_id ORDER BY day ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS m FROM visits)
-- scan visits
-- window window := MEAN(cost) order day rows (-2, 0)
-- project m := window
-- aggregate avg_m := MEAN(m)
-- output avg_m

SELECT AVG(LEAST(total, 300)) FROM (SELECT patient_id, SUM(cost) AS total FROM visits GROUP BY patient_id)
-- scan visits
-- per person patient_id, total := SUM(cost)
-- aggregate avg := MEAN(LEAST(total, 300))
-- output avg

SELECT MEDIAN(m) FROM (SELECT patient_id, MEDIAN(cost) AS m FROM visits GROUP BY patient_id)
-- scan visits
-- per person patient_id, m := MEDIAN(cost)
-- aggregate median_m := QUANTILE(m) at 1/2
-- output median_m

SELECT AVG(s) FROM (SELECT patient_id, STDDEV(cost) AS s FROM visits GROUP BY patient_id)
-- scan visits
-- per person patient_id, variance_cost := VARIANCE(cost)
-- project patient_id, s := SQRT(variance_cost)
-- aggregate avg_s := MEAN(s)
-- output avg_s

SELECT AVG(s) FROM (SELECT patient_id, VAR_POP(age) AS s FROM visits GROUP BY patient_id)
-- scan visits
-- per person patient_id, s := VARIANCE_POP(age)
-- aggregate avg_s := MEAN(s)
-- output avg_s

SELECT COUNT(*) FROM (SELECT patient_id, BOOL_OR(urgent) AS u FROM visits GROUP BY patient_id) WHERE u
-- scan visits
-- per person patient_id, u := MAX(urgent)
-- filter u
-- aggregate count := COUNT(*)
-- output count

SELECT c, COUNT(*) FROM (SELECT patient_id, ARG_MIN(city, day) AS c FROM visits GROUP BY patient_id) GROUP BY c
-- scan visits
-- per person patient_id, c := FIRST(city) order day where (NOT(IS_NULL(city)) and NOT(IS_NULL(day)))
-- key c
-- aggregate count := COUNT(*)
-- output c
-- output count

SELECT c, COUNT(*) FROM (SELECT patient_id, FIRST(city ORDER BY day) AS c FROM visits GROUP BY patient_id) GROUP BY c
-- scan visits
-- per person patient_id, c := FIRST(city) order day
-- key c
-- aggregate count := COUNT(*)
-- output c
-- output count

SELECT c, COUNT(*) FROM (SELECT patient_id, LAST(city ORDER BY day) AS c FROM visits GROUP BY patient_id) GROUP BY c
-- scan visits
-- per person patient_id, c := FIRST(city) order day desc nulls first
-- key c
-- aggregate count := COUNT(*)
-- output c
-- output count

SELECT AVG(k) FROM (SELECT patient_id, COUNT(DISTINCT urgent) AS k FROM visits GROUP BY patient_id)
-- scan visits
-- per person patient_id, k := COUNT_DISTINCT(urgent)
-- aggregate avg_k := MEAN(k)
-- output avg_k

SELECT c, COUNT(*) FROM (SELECT patient_id, ANY_VALUE(city) AS c FROM visits GROUP BY patient_id) GROUP BY c
-- scan visits
-- per person patient_id, c := MIN(city)
-- key c
-- aggregate count := COUNT(*)
-- output c
-- output count

SELECT AVG(v.cost) FROM visits v WHERE v.patient_id IN (SELECT patient_id FROM visits GROUP BY patient_id HAVING COUNT(*) >= 3)
-- scan visits
-- in := same person in
--   scan visits
--   per person patient_id, count := COUNT(*)
--   filter (count >= 3)
--   project patient_id
--   project in patient_id := patient_id
-- filter in
-- aggregate avg_cost := MEAN(cost)
-- output avg_cost

WITH heavy AS (SELECT patient_id FROM visits GROUP BY patient_id HAVING COUNT(*) > 5) SELECT sex, AVG(income) FROM patients WHERE id IN (SELECT patient_id FROM heavy) GROUP BY sex
-- scan patients
-- in := same person in
--   scan visits
--   per person patient_id, count := COUNT(*)
--   filter (count > 5)
--   project patient_id
--   project in patient_id := patient_id
-- filter in
-- key sex
-- aggregate avg_income := MEAN(income)
-- output sex
-- output avg_income

SELECT COUNT(id) FROM patients p FULL JOIN (SELECT patient_id AS id, age FROM visits) v USING (id)
-- scan patients
-- left join same person
--   scan visits
--   project id := patient_id, age
--   project v.id := id, age
-- union all
--   scan visits
--   project id := patient_id, age
--   project v.id := id, age
--   met := same person in
--     scan patients
--   filter NOT(met)
--   project id := None:INTEGER, sex := None:TEXT, born := None:DATE, income := None:REAL, v.id, age
-- project id, sex, born, income, v.id, age, id_2 := COALESCE(id, v.id)
-- aggregate count_id := COUNT(id_2)
-- output count_id

SELECT COUNT(*) FROM (SELECT age, SUM(age) FILTER (WHERE urgent) OVER w AS s, LEAD(city, 2, 'none') OVER w AS c FROM visits WINDOW w AS (PARTITION BY patient_id, city ORDER BY day DESC NULLS FIRST)) WHERE s > 9
-- scan visits
-- window window := SUM(age) where urgent by city order day desc nulls first
-- window window_2 := LEAD(city, 2, 'none') by city order day desc nulls first
-- project age, s := window, c := window_2
-- filter (s > 9)
-- aggregate count := COUNT(*)
-- output count

SELECT r.rate, COUNT(*) FROM cities c, rates r, visits v WHERE v.city = c.name AND YEAR(v.day) = r.year AND MONTH(v.day) = r.month AND c.population > 5 GROUP BY r.rate
-- scan visits
-- inner join public cities on city = name giving name := name, region := region, population := population
-- inner join public rates on YEAR(day) = year, MONTH(day) = month giving year := year, month := month, rate := rate
-- filter (population > 5)
-- key rate
-- aggregate count := COUNT(*)
-- output rate
-- output count

SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.id AND v.patient_id IN (SELECT patient FROM tests)) OR p.sex = 'f'
-- scan patients
-- exists := same person in
--   scan visits
--   in := same person in
--     scan tests
--     project patient
--     project in patient := patient
--   filter in
-- filter (exists or (sex = 'f'))
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*) AS n FROM visits v WHERE cost > (SELECT AVG(w.cost) FROM visits w WHERE w.patient_id = v.patient_id)
-- scan visits
-- left join same person
--   scan visits
--   per person key 0 := patient_id, value := MEAN(cost)
--   project key 0, value
-- filter (cost > value)
-- aggregate n := COUNT(*)
-- output n

SELECT AVG(LEAST((SELECT COUNT(*) FROM visits v WHERE v.patient_id = p.id), 20)) AS n FROM patients p
-- scan patients
-- left join same person
--   scan visits
--   per person key 0 := patient_id, value := COUNT(*)
--   project key 0, value
-- aggregate n := MEAN(LEAST(COALESCE(value, 0), 20))
-- output n

SELECT COUNT(*) AS n FROM visits WHERE (patient_id, visit_id) IN (SELECT patient, visit_id FROM tests)
-- scan visits
-- in := same person and visit_id = in visit_id in
--   scan tests
--   project patient, visit_id
--   project in patient := patient, in visit_id := visit_id
-- filter in
-- aggregate n := COUNT(*)
-- output n

SELECT COUNT(*) AS n FROM visits WHERE (city, age) IN (('Haifa', 3), ('Austin', 4))
-- scan visits
-- filter (((city = 'Haifa') and (age = 3)) or ((city = 'Austin') and (age = 4)))
-- aggregate n := COUNT(*)
-- output n

SELECT AVG(q) AS q FROM (SELECT patient_id, QUANTILE_CONT(cost, 0.9) AS q FROM visits GROUP BY patient_id)
-- scan visits
-- per person patient_id, q := MEDIAN(cost) at 9/10
-- aggregate q := MEAN(q)
-- output q

SELECT half, COUNT(*) AS n FROM (SELECT NTILE(2) OVER (PARTITION BY patient_id ORDER BY day) AS half FROM visits) GROUP BY half
-- scan visits
-- window window := ROW_NUMBER() order day
-- window window_2 := COUNT()
-- project half := LEAST(GREATEST((case[((LEAST(window, 1099511627776) - 1) < ((LEAST(window_2, 1099511627776) % 2) * (QUOTIENT(LEAST(window_2, 1099511627776), 2) + 1))) -> QUOTIENT((LEAST(window, 1099511627776) - 1), (QUOTIENT(LEAST(window_2, 1099511627776), 2) + 1)); else ((LEAST(window_2, 1099511627776) % 2) + QUOTIENT(((LEAST(window, 1099511627776) - 1) - ((LEAST(window_2, 1099511627776) % 2) * (QUOTIENT(LEAST(window_2, 1099511627776), 2) + 1))), QUOTIENT(LEAST(window_2, 1099511627776), 2)))] + 1), 1), 2)
-- key half
-- aggregate n := COUNT(*)
-- output half
-- output n
