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
