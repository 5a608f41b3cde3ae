--- Expressions of a row.

SELECT COUNT(*)
FROM visits
WHERE age + 1 > 2 * age - 3 AND -age < -1 AND cost / age <> 0.5 AND age % 2 = 1
-- scan visits
-- filter (((age + 1) > ((2 * age) - 3)) and (NEGATE(age) < -1) and ((cost / age) <> 0.5) and ((age % 2) = 1))
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*)
FROM visits
WHERE ABS(age) = 1 OR SIGN(cost) = 1 OR FLOOR(cost) = CEIL(cost) OR ROUND(cost) = 2 OR MOD(age, 3) = 0
-- scan visits
-- filter ((ABS(age) = 1) or (SIGN(cost) = 1) or (FLOOR(cost) = CEIL(cost)) or (ROUND(cost) = 2) or ((age % 3) = 0))
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*)
FROM visits
WHERE SQRT(cost) > EXP(1) AND LN(cost) > 1e3 AND GREATEST(age, 1, NULL) > LEAST(age, 2.5)
-- scan visits
-- filter ((SQRT(cost) > EXP(1)) and (LN(cost) > 1000.0) and (GREATEST(age, 1, None:INTEGER) > LEAST(age, 2.5)))
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*)
FROM visits
WHERE NOT (age = 3 OR urgent) AND urgent IS TRUE AND urgent IS NOT FALSE AND age IS NOT NULL
-- scan visits
-- filter (NOT(((age = 3) or urgent)) and COALESCE(urgent, False) and NOT(COALESCE(NOT(urgent), False)) and NOT(IS_NULL(age)))
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*) FROM visits WHERE age IS DISTINCT FROM 5 AND city IS NOT DISTINCT FROM "Note"
-- scan visits
-- filter (NOT(COALESCE((age = 5), False)) and COALESCE((city = Note), (IS_NULL(city) and IS_NULL(Note))))
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*)
FROM visits
WHERE city IN ('Haifa', 'Austin') AND age NOT IN (1, -2, 3) AND age IN (visit_id, 5)
-- scan visits
-- filter (city in ['Haifa', 'Austin'] and NOT(age in [1, -2, 3]) and ((age = visit_id) or (age = 5)))
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*)
FROM visits
WHERE note LIKE 'a\_%' AND note NOT LIKE '%b!%%' ESCAPE '!' AND note ILIKE '%Flu%' AND note NOT ILIKE 'x'
-- scan visits
-- filter (Note like 'a\\_%' and NOT(Note like '%b!%%' escape '!') and LOWER(Note) like '%flu%' and NOT(LOWER(Note) like 'x'))
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*)
FROM visits
WHERE COALESCE(age, 0) = 0 AND IFNULL(city, 'x') = 'x' AND NULLIF(age, 3) IS NULL
-- scan visits
-- filter ((COALESCE(age, 0) = 0) and (COALESCE(city, 'x') = 'x') and IS_NULL(NULL_IF(age, 3)))
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*)
FROM visits
WHERE CASE city WHEN 'Haifa' THEN 1 WHEN 'Austin' THEN 2 ELSE NULL END = 1
-- scan visits
-- filter (case[(city = 'Haifa') -> 1; (city = 'Austin') -> 2; else None:INTEGER] = 1)
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*)
FROM visits
WHERE CAST(note AS BIGINT) > 3 AND TRY_CAST(note AS DOUBLE) < 2.5 AND age::VARCHAR = '3' AND note::DATE > day AND CAST(seen AS DATE) = day
-- scan visits
-- filter ((Note::INTEGER > 3) and (Note::REAL < 2.5) and (age::TEXT = '3') and (Note::DATE > day) and (seen::DATE = day))
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*)
FROM visits
WHERE day >= '2024-01-01' AND day < DATE '2024-01-01' + INTERVAL 30 DAY AND day - INTERVAL '2 weeks' < day - 3 AND seen > TIMESTAMP '2024-01-31 10:30:00'
-- scan visits
-- filter ((day >= datetime.date(2024, 1, 1)) and (day < (datetime.date(2024, 1, 1) + 30)) and ((day - 14) < (day - 3)) and (seen > datetime.datetime(2024, 1, 31, 10, 30)))
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*)
FROM visits
WHERE day BETWEEN '2024-01-01' AND '2024-12-31' AND seen <> '2024-01-01 00:00:00.5' AND day - DATE '2020-01-01' > 7
-- scan visits
-- filter (((day >= datetime.date(2024, 1, 1)) and (day <= datetime.date(2024, 12, 31))) and (seen <> datetime.datetime(2024, 1, 1, 0, 0, 0, 500000)) and ((day - datetime.date(2020, 1, 1)) > 7))
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*) FROM visits WHERE YEAR(day) = 2024 AND QUARTER(day) = 1 AND EXTRACT(MONTH FROM day) = 2 AND DATE_PART('day', day) = 3 AND HOUR(seen) = 4 AND MINUTE(seen) = 5 AND DAYOFYEAR(day) = 6 AND EXTRACT(ISODOW FROM day) = 7 AND DAYOFWEEK(day) = 0
-- scan visits
-- filter ((YEAR(day) = 2024) and (QUARTER(day) = 1) and (MONTH(day) = 2) and (DAY(day) = 3) and (HOUR(seen) = 4) and (MINUTE(seen) = 5) and (YEARDAY(day) = 6) and (WEEKDAY(day) = 7) and ((WEEKDAY(day) % 7) = 0))
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*)
FROM visits
WHERE DATE_TRUNC('week', seen) = '2024-01-01' AND DATE_TRUNC('year', day) = DATE '2024-01-01'
-- scan visits
-- filter ((week of seen = datetime.datetime(2024, 1, 1, 0, 0)) and (year of day = datetime.date(2024, 1, 1)))
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*)
FROM visits
WHERE LOWER(city) = 'x' AND UPPER(city) = 'X' AND TRIM(city) = city AND LENGTH(city) > 3 AND SUBSTRING(city, 2, 3) = 'ust' AND SUBSTR(city, 2) = 'ustin' AND LEFT(city, 1) = 'A'
-- scan visits
-- filter ((LOWER(city) = 'x') and (UPPER(city) = 'X') and (TRIM(city) = city) and (LENGTH(city) > 3) and (SUBSTRING(city, 2, 3) = 'ust') and (SUBSTRING(city, 2, 2147483645) = 'ustin') and (SUBSTRING(city, 1, 1) = 'A'))
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*)
FROM visits
WHERE city || '/' || note = 'a' AND CONCAT(city, '/', note) = 'a' AND STARTS_WITH(city, 'A')
-- scan visits
-- filter (((city || '/' || Note) = 'a') and ((COALESCE(city, '') || '/' || COALESCE(Note, '')) = 'a') and STARTS_WITH(city, 'A'))
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*) FROM visits WHERE city IS NOT DISTINCT FROM NULL AND DATE(seen) = day AND WEEKDAY(day) = 1 AND COALESCE(CAST(NULL AS BIGINT), age) = .5
-- scan visits
-- filter (IS_NULL(city) and (seen::DATE = day) and ((WEEKDAY(day) % 7) = 1) and (COALESCE(None:INTEGER, age) = 0.5))
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*)
FROM visits
WHERE IF(urgent, 1, 2) = 1 AND IFF(urgent, 'a', NULL) = 'a' AND TRUE AND 9223372036854775807 > visit_id AND -9223372036854775808 < visit_id
-- scan visits
-- filter ((case[urgent -> 1; else 2] = 1) and (case[urgent -> 'a'; else None:TEXT] = 'a') and True and (9223372036854775807 > visit_id) and (-9223372036854775808 < visit_id))
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*)
FROM visits
WHERE age // 2 = 1 AND age ** 2 = 4 AND cost ^ 3 > 8 AND POWER(cost, 0.5) > 1
-- scan visits
-- filter ((QUOTIENT(age, 2) = 1) and ((age * age)::REAL = 4) and (((cost * cost) * cost)::REAL > 8) and (SQRT(cost) > 1))
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*)
FROM visits
WHERE LOG(cost) > 1 AND LOG10(cost) > 1 AND LOG2(cost) < 3 AND LOG(10, cost) > 0
-- scan visits
-- filter ((LOG10(cost) > 1) and (LOG10(cost) > 1) and (LOG2(cost) < 3) and (LOG10(cost) > 0))
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*)
FROM visits
WHERE LTRIM(city) = 'a' AND RTRIM(city) = 'b' AND TRIM(TRAILING FROM city) = 'c' AND RIGHT(city, 2) = 'fa'
-- scan visits
-- filter ((LTRIM(city) = 'a') and (RTRIM(city) = 'b') and (RTRIM(city) = 'c') and (RIGHT(city, 2) = 'fa'))
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*)
FROM visits
WHERE REPLACE(city, 'a', 'b') = 'c' AND STRPOS(city, 'a') > 1 AND POSITION('b' IN city) = 0 AND CONTAINS(city, 'x')
-- scan visits
-- filter ((REPLACE(city, 'a', 'b') = 'c') and (POSITION(city, 'a') > 1) and (POSITION(city, 'b') = 0) and (POSITION(city, 'x') > 0))
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*)
FROM visits
WHERE ENDS_WITH(city, 'a') OR SUFFIX(city, 'b') OR PREFIX(city, 'H')
-- scan visits
-- filter (ENDS_WITH(city, 'a') or ENDS_WITH(city, 'b') or STARTS_WITH(city, 'H'))
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*)
FROM visits
WHERE day + INTERVAL 1 MONTH > seen AND day - INTERVAL '2 years' < seen AND day + INTERVAL (age) QUARTER < seen
-- scan visits
-- filter ((ADD_MONTHS(day, 1) > seen) and (ADD_MONTHS(day, -24) < seen) and (ADD_MONTHS(day, (age * 3)) < seen))
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*)
FROM visits
WHERE seen + INTERVAL 1 DAY > day AND INTERVAL 2 WEEKS + seen > day AND day + INTERVAL (age + 1) DAY > seen
-- scan visits
-- filter (((seen + 1) > day) and ((seen + 14) > day) and ((day + (age + 1)) > seen))
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*)
FROM visits
WHERE seen - INTERVAL 90 MINUTE > day AND day + INTERVAL '36 hours' > seen AND DATE_ADD(seen, INTERVAL 5 SECOND) > day
-- scan visits
-- filter ((ADD_SECONDS(seen, -5400) > day) and (ADD_SECONDS(day::TIMESTAMP, 129600) > seen) and (ADD_SECONDS(seen, 5) > day))
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*)
FROM visits
WHERE DATE_DIFF('day', day, seen) = 1 AND DATEDIFF('month', day, seen) = 2 AND DATE_DIFF('year', day, seen) = 0
-- scan visits
-- filter (((seen::DATE - day::DATE) = 1) and ((((YEAR(seen) - YEAR(day)) * 12) + (MONTH(seen) - MONTH(day))) = 2) and ((YEAR(seen) - YEAR(day)) = 0))
-- aggregate count := COUNT(*)
-- output count

SELECT WEEK(day) AS week, EXTRACT(SECOND FROM seen) AS second, COUNT(*)
FROM visits
GROUP BY 1, 2
-- scan visits
-- key week := WEEK(day)
-- key second := SECOND(seen)
-- aggregate count := COUNT(*)
-- output week
-- output second
-- output count

SELECT COUNT(*) FROM visits WHERE seen - day > INTERVAL '2 hours' AND INTERVAL 3 MONTH >= seen - day
-- scan visits
-- filter (COALESCE((seen::TIMESTAMP > ADD_SECONDS(day::TIMESTAMP, 7200)), case[(IS_NULL(seen::TIMESTAMP) or IS_NULL(day::TIMESTAMP)) -> None:BOOLEAN; else (0 > 7200)]) and COALESCE((seen::TIMESTAMP <= ADD_SECONDS(day::TIMESTAMP, 7776000)), case[(IS_NULL(seen::TIMESTAMP) or IS_NULL(day::TIMESTAMP)) -> None:BOOLEAN; else (0 <= 7776000)]))
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*) FROM visits WHERE EXTRACT(YEAR FROM AGE(DATE '2025-01-01', day)) >= 65
-- scan visits
-- filter (QUOTIENT(case[(datetime.date(2025, 1, 1) < day) -> NEGATE(case[((DAY(day) - DAY(datetime.date(2025, 1, 1))) < 0) -> ((((YEAR(day) - YEAR(datetime.date(2025, 1, 1))) * 12) + (MONTH(day) - MONTH(datetime.date(2025, 1, 1)))) - 1); else (((YEAR(day) - YEAR(datetime.date(2025, 1, 1))) * 12) + (MONTH(day) - MONTH(datetime.date(2025, 1, 1))))]); else case[((DAY(datetime.date(2025, 1, 1)) - DAY(day)) < 0) -> ((((YEAR(datetime.date(2025, 1, 1)) - YEAR(day)) * 12) + (MONTH(datetime.date(2025, 1, 1)) - MONTH(day))) - 1); else (((YEAR(datetime.date(2025, 1, 1)) - YEAR(day)) * 12) + (MONTH(datetime.date(2025, 1, 1)) - MONTH(day)))]], 12) >= 65)
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*) FROM visits WHERE DATE_DIFF('minute', day, seen) > 5 AND EPOCH(seen - day) > 7
-- scan visits
-- filter (((((((seen::DATE - day::DATE) * 24) + (HOUR(seen) - HOUR(day))) * 60) + (MINUTE(seen) - MINUTE(day))) > 5) and ((((((((((seen::TIMESTAMP::DATE - datetime.date(1970, 1, 1)) * 24) + HOUR(seen::TIMESTAMP)) * 60) + MINUTE(seen::TIMESTAMP)) * 60) + SECOND(seen::TIMESTAMP)) - (((((((day::TIMESTAMP::DATE - datetime.date(1970, 1, 1)) * 24) + HOUR(day::TIMESTAMP)) * 60) + MINUTE(day::TIMESTAMP)) * 60) + SECOND(day::TIMESTAMP))) + (((MICROSECOND(seen::TIMESTAMP) % 1000000) - (MICROSECOND(day::TIMESTAMP) % 1000000)) / 1000000)) > 7))
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*) FROM visits WHERE REGEXP_MATCHES(city, '^[A-C]\d{2}$')
-- scan visits
-- filter (EXTRACT(city, '^[A-C]\\d{2}$', 0) <> '')
-- aggregate count := COUNT(*)
-- output count

SELECT REGEXP_EXTRACT(note, 'ref:([A-Z]+)', 1) AS series, COUNT(*) FROM visits GROUP BY 1
-- scan visits
-- key series := EXTRACT(Note, 'ref:([A-Z]+)', 1)
-- aggregate count := COUNT(*)
-- output series
-- output count

SELECT AVG(visit_id), AVG(LENGTH(note)) FROM visits WHERE visit_id BETWEEN 1 AND 500
-- scan visits
-- filter ((visit_id >= 1) and (visit_id <= 500))
-- aggregate avg_visit_id := MEAN(case[IS_NULL(visit_id) -> None:INTEGER; else GREATEST(LEAST(visit_id, 500), 1)])
-- aggregate avg := MEAN(case[IS_NULL(LENGTH(Note)) -> None:INTEGER; else GREATEST(LEAST(LENGTH(Note), 1024), 0)])
-- output avg_visit_id
-- output avg

SELECT YEAR(day) || '-Q' || QUARTER(day) AS quarter, COUNT(*) FROM visits GROUP BY 1
-- scan visits
-- key quarter := (YEAR(day)::TEXT || '-Q' || QUARTER(day)::TEXT)
-- aggregate count := COUNT(*)
-- output quarter
-- output count

SELECT COUNT(*) FROM visits WHERE DATE_DIFF('week', day, seen) = 1
-- scan visits
-- filter (QUOTIENT((seen::DATE - day::DATE), 7) = 1)
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*)
FROM visits
WHERE CAST(cost AS DECIMAL(10, 2)) > 1 AND age::NUMERIC < 3 AND TRY_CAST("Note" AS DECIMAL(5)) = 2
-- scan visits
-- filter (((ROUND((cost::REAL * 100)) / 100) > 1) and (age::REAL < 3) and ((ROUND((Note::REAL * 1)) / 1) = 2))
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*)
FROM visits
WHERE urgent = 1 AND 0 <> (age > 3)
-- scan visits
-- filter ((urgent::INTEGER = 1) and (0 <> (age > 3)::INTEGER))
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*)
FROM visits
WHERE urgent IN (1, 0) AND urgent BETWEEN 0 AND 1 AND urgent IS DISTINCT FROM 1 AND CASE urgent WHEN 1 THEN 2 ELSE 3 END = 2
-- scan visits
-- filter (urgent::INTEGER in [1, 0] and ((urgent::INTEGER >= 0) and (urgent::INTEGER <= 1)) and NOT(COALESCE((urgent::INTEGER = 1), False)) and (case[(urgent::INTEGER = 1) -> 2; else 3] = 2))
-- aggregate count := COUNT(*)
-- output count

SELECT DATEPART(quarter, day) AS q, COUNT(*)
FROM visits
WHERE day >= DATEADD(month, -3, DATE '2024-05-31') AND day < DATE_SUB(DATE '2024-05-31', INTERVAL 2 DAY) AND DATEDIFF(day, day, TO_DATE('2024-06-01')) < 30 AND TIMESTAMP_TRUNC(seen, HOUR) = seen
GROUP BY q
-- scan visits
-- filter ((day >= ADD_MONTHS(datetime.date(2024, 5, 31), -3)) and (day < (datetime.date(2024, 5, 31) - 2)) and ((datetime.date(2024, 6, 1)::DATE - day::DATE) < 30) and (hour of seen = seen))
-- key q := QUARTER(day)
-- aggregate count := COUNT(*)
-- output q
-- output count

SELECT ISNULL(city, 'none') AS c, ROUND(AVG(cost)::numeric, 2) AS m
FROM visits
GROUP BY 1
-- scan visits
-- key c := COALESCE(city, 'none')
-- aggregate avg_cost := MEAN(cost)
-- output c
-- output m := (ROUND((avg_cost::REAL * 100)) / 100)

SELECT TOP 2 [city], DIV0(SUM(age), COUNT(urgent)) AS [a b] FROM visits v WHERE v.[city] <> 'Haifa' GROUP BY [city] ORDER BY [a b] DESC
-- scan visits
-- filter (city <> 'Haifa')
-- key city
-- aggregate count_urgent := COUNT(urgent)
-- aggregate sum_age := SUM(age)
-- output city
-- output a b := case[((count_urgent = 0) and NOT(IS_NULL(sum_age))) -> 0; else (sum_age / count_urgent)]
-- order case[((count_urgent = 0) and NOT(IS_NULL(sum_age))) -> 0; else (sum_age / count_urgent)] desc
-- limit 2 offset 0

SELECT TOP (3) EOMONTH(day) AS month, RATIO_TO_REPORT(COUNT(*)) OVER () AS share FROM visits GROUP BY EOMONTH(day)
-- scan visits
-- key month := (ADD_MONTHS(month of day::DATE, 1) - 1)
-- aggregate count := COUNT(*)
-- then
--   answer 0
--   window window 1 := SUM(count) by [] order []
--   sort - limit 3 offset 0
--   compute month, share := (count / window 1)
