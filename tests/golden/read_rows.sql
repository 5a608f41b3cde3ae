--- WHERE, subqueries, WITH, UNION ALL, joins, groups per person.

SELECT COUNT(*) FROM visits WHERE age BETWEEN 18 AND 65 AND city = 'Haifa'
-- scan visits
-- filter (((age >= 18) and (age <= 65)) and (city = 'Haifa'))
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*) FROM (SELECT age * 2 AS a, city FROM visits WHERE urgent) t WHERE t.a > 20
-- scan visits
-- filter urgent
-- project a := (age * 2), city
-- filter (a > 20)
-- aggregate count := COUNT(*)
-- output count

WITH adults AS (SELECT * FROM visits WHERE age >= 18), costly AS (SELECT * FROM adults WHERE cost > 100) SELECT city, COUNT(*) FROM costly GROUP BY city
-- scan visits
-- filter (age >= 18)
-- filter (cost > 100)
-- key city
-- aggregate count := COUNT(*)
-- output city
-- output count

SELECT SUM(x) FROM (SELECT cost FROM visits) AS t(x)
-- scan visits
-- project cost
-- aggregate sum_x := SUM(cost)
-- output sum_x

SELECT AVG(LEAST(n, 50)) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id)
-- scan visits
-- per person patient_id, n := COUNT(*)
-- aggregate avg := MEAN(LEAST(n, 50))
-- output avg

SELECT AVG(LEAST(k, 50)) FROM (SELECT n AS k FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) WHERE n > 2)
-- scan visits
-- per person patient_id, n := COUNT(*)
-- filter (n > 2)
-- project k := n
-- aggregate avg := MEAN(LEAST(k, 50))
-- output avg

WITH p AS (SELECT patient_id, city, MAX(age) AS oldest FROM visits WHERE urgent GROUP BY patient_id, city HAVING COUNT(*) > 2) SELECT city, AVG(oldest), COUNT(DISTINCT patient_id) FROM p GROUP BY city
-- scan visits
-- filter urgent
-- per person patient_id, city, oldest := MAX(age), count := COUNT(*)
-- filter (count > 2)
-- project patient_id, city, oldest
-- key city
-- aggregate avg_oldest := MEAN(oldest)
-- aggregate count_people := COUNT_PEOPLE(*)
-- output city
-- output avg_oldest
-- output count_people

SELECT AVG(oldest - youngest) FROM (SELECT MAX(age) AS oldest, MIN(age) AS youngest FROM visits GROUP BY patient_id)
-- scan visits
-- per person patient_id, oldest := MAX(age), youngest := MIN(age)
-- project oldest, youngest
-- aggregate avg := MEAN((oldest - youngest))
-- output avg

SELECT COUNT(*) FROM (SELECT DISTINCT patient_id, city FROM visits)
-- scan visits
-- per person patient_id, city
-- aggregate count := COUNT(*)
-- output count

SELECT SUM(m) FROM (SELECT buyer, MAX(price) AS m FROM purchases GROUP BY buyer)
-- scan purchases
-- per person buyer, m := MAX(price)
-- aggregate sum_m := SUM(m)
-- output sum_m

SELECT COUNT(*) FROM (SELECT patient_id, city FROM visits UNION ALL SELECT id, sex FROM patients) u WHERE city IN ('f', 'Haifa')
-- scan visits
-- project patient_id, city
-- union all
--   scan patients
--   project id, sex
-- filter city in ['f', 'Haifa']
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(DISTINCT who) FROM (SELECT patient_id AS who FROM visits UNION ALL SELECT patient FROM tests)
-- scan visits
-- project who := patient_id
-- union all
--   scan tests
--   project patient
-- aggregate count_people := COUNT_PEOPLE(*)
-- output count_people

SELECT region, COUNT(*) FROM visits JOIN cities ON city = name GROUP BY region
-- scan visits
-- inner join public cities on city = name giving name := name, region := region, population := population
-- key region
-- aggregate count := COUNT(*)
-- output region
-- output count

SELECT c.region, SUM(v.cost)
FROM visits AS v LEFT JOIN cities AS c ON c.name = v.city
GROUP BY c.region
-- scan visits
-- left join public cities on city = name giving name := name, region := region, population := population
-- key region
-- aggregate sum_cost := SUM(cost)
-- output region
-- output sum_cost

SELECT region, COUNT(*)
FROM cities JOIN visits ON name = lower(city) AND population > age
GROUP BY region
-- scan visits
-- inner join public cities on LOWER(city) = name giving name := name, region := region, population := population
-- filter (population > age)
-- key region
-- aggregate count := COUNT(*)
-- output region
-- output count

SELECT SUM(cost * rate)
FROM visits JOIN rates ON rates.month = MONTH(day) AND YEAR(day) = rates.year
-- scan visits
-- inner join public rates on YEAR(day) = year, MONTH(day) = month giving year := year, month := month, rate := rate
-- aggregate sum := SUM((cost * rate))
-- output sum

SELECT sex, AVG(cost) FROM visits v JOIN patients p ON v.patient_id = p.id GROUP BY sex
-- scan visits
-- inner join same person
--   scan patients
-- key sex
-- aggregate avg_cost := MEAN(cost)
-- output sex
-- output avg_cost

SELECT sex, AVG(cost), COUNT(DISTINCT v.patient_id)
FROM patients p LEFT JOIN visits v ON v.patient_id = p.id AND v.urgent
GROUP BY sex
-- scan patients
-- left join same person
--   scan visits
--   filter urgent
-- key sex
-- aggregate avg_cost := MEAN(cost)
-- aggregate count_people := COUNT_PEOPLE(*) where NOT(IS_NULL(patient_id))
-- output sex
-- output avg_cost
-- output count_people

SELECT sex, COUNT(*)
FROM visits v RIGHT JOIN patients p ON v.patient_id = p.id
GROUP BY sex
-- scan patients
-- left join same person
--   scan visits
-- key sex
-- aggregate count := COUNT(*)
-- output sex
-- output count

SELECT AVG(value)
FROM tests t JOIN visits v ON t.patient = v.patient_id AND t.visit_id = v.visit_id AND v.cost > t.value
-- scan tests
-- inner join same person and visit_id = v.visit_id
--   scan visits
--   project v.visit_id := visit_id, patient_id, city, age, cost, day, seen, urgent, Note
-- filter (cost > value)
-- aggregate avg_value := MEAN(value)
-- output avg_value

SELECT AVG(a.cost - b.cost)
FROM visits a JOIN visits b USING (patient_id, city)
WHERE a.day < b.day
-- scan visits
-- inner join same person and city = b.city
--   scan visits
--   project b.visit_id := visit_id, b.patient_id := patient_id, b.city := city, b.age := age, b.cost := cost, b.day := day, b.seen := seen, b.urgent := urgent, b.Note := Note
-- filter (day < b.day)
-- aggregate avg := MEAN((cost - b.cost))
-- output avg

SELECT SUM(price), AVG(size) FROM purchases JOIN families ON buyer = member
-- scan purchases
-- inner join same person and buyer = member
--   scan families
-- aggregate sum_price := SUM(price)
-- aggregate avg_size := MEAN(size)
-- output sum_price
-- output avg_size

SELECT sex, region, COUNT(*)
FROM visits JOIN patients ON patient_id = id JOIN tests ON patient = id LEFT JOIN cities ON city = name
GROUP BY sex, region
-- scan visits
-- inner join same person
--   scan patients
-- inner join same person
--   scan tests
--   project patient, tests.visit_id := visit_id, value
-- left join public cities on city = name giving name := name, region := region, population := population
-- key sex
-- key region
-- aggregate count := COUNT(*)
-- output sex
-- output region
-- output count

SELECT city, n FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) WHERE n > 5 ORDER BY n DESC LIMIT 3
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- having (n > 5)
-- output city
-- output n
-- order n desc
-- limit 3 offset 0

SELECT m AS x FROM (SELECT city, COUNT(*) FROM visits GROUP BY city LIMIT 2) AS t(c, m)
-- scan visits
-- key city
-- aggregate count := COUNT(*)
-- output x := count
-- limit 2 offset 0

SELECT t.c, 2 * m AS twice FROM (SELECT city, COUNT(*) FROM visits GROUP BY city) AS t(c, m) ORDER BY twice, 1, m DESC
-- scan visits
-- key city
-- aggregate count := COUNT(*)
-- output c := city
-- output twice := (2 * count)
-- order (2 * count)
-- order city
-- order count desc

WITH g AS (SELECT city, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY city HAVING COUNT(*) > 1) SELECT *, s / n AS mean FROM g WHERE city <> 'Austin'
-- scan visits
-- key city
-- aggregate n := COUNT(*)
-- aggregate s := SUM(cost)
-- having ((n > 1) and (city <> 'Austin'))
-- output city
-- output n
-- output s
-- output mean := (s / n)

SELECT COUNT(*) AS n FROM (SELECT CAST(city AS TEXT) AS c FROM visits) WHERE c = 'Rome'
-- scan visits
-- project c := city::TEXT
-- filter (c = 'Rome')
-- aggregate n := COUNT(*)
-- output n

SELECT city, SUM(age)
FROM (SELECT * EXCLUDE (visit_id, Cost) REPLACE (age + 1 AS Age) FROM visits)
GROUP BY city
-- scan visits
-- project patient_id, city, Age := (age + 1), day, seen, urgent, Note
-- key city
-- aggregate sum_Age := SUM(Age)
-- output city
-- output sum_Age

SELECT COUNT(*), MAX(age)
FROM (SELECT v.* EXCLUDE (v.city), p.sex AS city FROM visits v JOIN patients p ON p.id = v.patient_id)
WHERE city = 'f'
-- scan visits
-- inner join same person
--   scan patients
-- project visit_id, patient_id, age, cost, day, seen, urgent, Note, city := sex
-- filter (city = 'f')
-- aggregate count := COUNT(*)
-- aggregate max_age := MAX(age)
-- output count
-- output max_age
