--- Aggregates and functions that are made of others.

SELECT SUM(urgent) FROM visits
-- scan visits
-- aggregate sum := SUM(urgent::INTEGER)
-- output sum

SELECT AVG(CAST(urgent AS INT)) FROM visits
-- scan visits
-- aggregate avg := MEAN(urgent::INTEGER)
-- output avg

SELECT COUNT_IF(age > 40), COUNTIF(urgent) FROM visits
-- scan visits
-- aggregate count := COUNT(*) where (age > 40)
-- aggregate count_2 := COUNT(*) where urgent
-- output count
-- output count_2

SELECT MEAN(cost) FROM visits
-- scan visits
-- aggregate avg_cost := MEAN(cost)
-- output avg_cost

SELECT MIN(day), MAX(day), MEDIAN(day) FROM visits WHERE day BETWEEN DATE '2020-01-01' AND DATE '2025-12-31'
-- scan visits
-- filter ((day >= datetime.date(2020, 1, 1)) and (day <= datetime.date(2025, 12, 31)))
-- aggregate min := MIN((day - datetime.date(1970, 1, 1)))
-- aggregate max := MAX((day - datetime.date(1970, 1, 1)))
-- aggregate median := QUANTILE((day - datetime.date(1970, 1, 1))) at 1/2
-- output min := (datetime.date(1970, 1, 1) + ROUND(min)::INTEGER)
-- output max := (datetime.date(1970, 1, 1) + ROUND(max)::INTEGER)
-- output median := (datetime.date(1970, 1, 1) + ROUND(median)::INTEGER)

SELECT COUNT(DISTINCT (city, age)) FROM visits
-- scan visits
-- aggregate count_distinct := COUNT_DISTINCT((COALESCE((LENGTH(city)::TEXT || ':' || city), ':') || COALESCE((LENGTH(age::TEXT)::TEXT || ':' || age::TEXT), ':')))
-- output count_distinct

SELECT REGR_SLOPE(cost, age), REGR_INTERCEPT(cost, age), REGR_R2(cost, age) FROM visits
-- scan visits
-- aggregate covar_cost_age := COVARIANCE(cost, age) population where (NOT(IS_NULL(cost)) and NOT(IS_NULL(age)))
-- aggregate variance_age := VARIANCE(age) population where (NOT(IS_NULL(cost)) and NOT(IS_NULL(age)))
-- aggregate avg_cost := MEAN(cost) where (NOT(IS_NULL(cost)) and NOT(IS_NULL(age)))
-- aggregate avg_age := MEAN(age) where (NOT(IS_NULL(cost)) and NOT(IS_NULL(age)))
-- aggregate corr_cost_age := CORRELATION(cost, age)
-- output regr_slope := (covar_cost_age / variance_age)
-- output regr_intercept := (avg_cost - ((covar_cost_age / variance_age) * avg_age))
-- output regr_r2 := (corr_cost_age * corr_cost_age)

SELECT GEOMEAN(cost + 1) FROM visits
-- scan visits
-- aggregate avg := MEAN(LN((cost + 1)))
-- output geomean := EXP(avg)

SELECT EXP(AVG(LN(cost + 1))) FROM visits
-- scan visits
-- aggregate avg := MEAN(LN((cost + 1)))
-- output exp := EXP(avg)

SELECT APPROX_COUNT_DISTINCT(city), APPROX_QUANTILE(cost, 0.5) FROM visits
-- scan visits
-- aggregate count_distinct_city := COUNT_DISTINCT(city)
-- aggregate median_cost := QUANTILE(cost) at 1/2
-- output count_distinct_city
-- output median_cost

SELECT STRFTIME(day, '%Y-%m') AS m, COUNT(*) FROM visits GROUP BY 1
-- scan visits
-- key m := (RIGHT(('000' || YEAR(day)::TEXT), 4) || '-' || RIGHT(('0' || MONTH(day)::TEXT), 2))
-- aggregate count := COUNT(*)
-- output m
-- output count

SELECT STRFTIME('%Y', day) AS m, COUNT(*) FROM visits GROUP BY ALL
-- scan visits
-- key m := RIGHT(('000' || YEAR(day)::TEXT), 4)
-- aggregate count := COUNT(*)
-- output m
-- output count

SELECT SPLIT_PART(note, '-', 1) AS s, COUNT(*) FROM visits GROUP BY 1
-- scan visits
-- key s := SPLIT_PART(Note, '-', 1)
-- aggregate count := COUNT(*)
-- output s
-- output count

SELECT CONCAT(city, '/', CAST(urgent AS VARCHAR)) AS k, COUNT(*) FROM visits GROUP BY k
-- scan visits
-- key k := (COALESCE(city, '') || '/' || COALESCE(urgent::TEXT, ''))
-- aggregate count := COUNT(*)
-- output k
-- output count

SELECT TRUNC(cost), COUNT(*) FROM visits GROUP BY 1
-- scan visits
-- key trunc := case[(cost < 0) -> CEIL(cost); else FLOOR(cost)]
-- aggregate count := COUNT(*)
-- output trunc
-- output count

SELECT COUNT(*) FROM visits WHERE MOD(age, 2) = 0 AND REGEXP_MATCHES(note, '^flu')
-- scan visits
-- filter (((age % 2) = 0) and Note like 'flu%' escape '!')
-- aggregate count := COUNT(*)
-- output count

SELECT COUNT(*) FROM visits WHERE EPOCH(day) > 1600000000
-- scan visits
-- filter (((((day - datetime.date(1970, 1, 1)) * 24) * 60) * 60) > 1600000000)
-- aggregate count := COUNT(*)
-- output count

SELECT DATE_PART('dow', day) AS d, DAYNAME(day), MONTHNAME(day), COUNT(*) FROM visits GROUP BY ALL
-- scan visits
-- key d := (WEEKDAY(day) % 7)
-- key dayname := case[(WEEKDAY(day) = 1) -> 'Monday'; (WEEKDAY(day) = 2) -> 'Tuesday'; (WEEKDAY(day) = 3) -> 'Wednesday'; (WEEKDAY(day) = 4) -> 'Thursday'; (WEEKDAY(day) = 5) -> 'Friday'; (WEEKDAY(day) = 6) -> 'Saturday'; (WEEKDAY(day) = 7) -> 'Sunday'; else None:TEXT]
-- key monthname := case[(MONTH(day) = 1) -> 'January'; (MONTH(day) = 2) -> 'February'; (MONTH(day) = 3) -> 'March'; (MONTH(day) = 4) -> 'April'; (MONTH(day) = 5) -> 'May'; (MONTH(day) = 6) -> 'June'; (MONTH(day) = 7) -> 'July'; (MONTH(day) = 8) -> 'August'; (MONTH(day) = 9) -> 'September'; (MONTH(day) = 10) -> 'October'; (MONTH(day) = 11) -> 'November'; (MONTH(day) = 12) -> 'December'; else None:TEXT]
-- aggregate count := COUNT(*)
-- output d
-- output dayname
-- output monthname
-- output count

SELECT COUNT(*) FROM visits WHERE day < NOW()
-- scan visits
-- filter (day < datetime.datetime(2026, 3, 14, 15, 9, 26))
-- aggregate count := COUNT(*)
-- output count

SELECT IFNULL(city, 'none') AS c, IF(age > 40, 'old', 'young') AS a, COUNT(*) FROM visits GROUP BY ALL
-- scan visits
-- key c := COALESCE(city, 'none')
-- key a := case[(age > 40) -> 'old'; else 'young']
-- aggregate count := COUNT(*)
-- output c
-- output a
-- output count

SELECT age::DOUBLE AS a, COUNT(*) FROM visits GROUP BY ALL
-- scan visits
-- key a := age::REAL
-- aggregate count := COUNT(*)
-- output a
-- output count

SELECT TRUNC(cost, 1) AS c, TRUNC(-age) AS a, COUNT(*) FROM visits GROUP BY ALL
-- scan visits
-- key c := (case[((cost * 10) < 0) -> CEIL((cost * 10)); else FLOOR((cost * 10))] / 10)
-- key a := case[(NEGATE(age) < 0) -> CEIL(NEGATE(age)); else FLOOR(NEGATE(age))]
-- aggregate count := COUNT(*)
-- output c
-- output a
-- output count

SELECT STRFTIME(day, '%Y-%m-%d %B %b %A %a %j %u %V %y %-d/%-m') AS s, COUNT(*) FROM visits GROUP BY 1
-- scan visits
-- key s := (RIGHT(('000' || YEAR(day)::TEXT), 4) || '-' || RIGHT(('0' || MONTH(day)::TEXT), 2) || '-' || RIGHT(('0' || DAY(day)::TEXT), 2) || ' ' || case[(MONTH(day) = 1) -> 'January'; (MONTH(day) = 2) -> 'February'; (MONTH(day) = 3) -> 'March'; (MONTH(day) = 4) -> 'April'; (MONTH(day) = 5) -> 'May'; (MONTH(day) = 6) -> 'June'; (MONTH(day) = 7) -> 'July'; (MONTH(day) = 8) -> 'August'; (MONTH(day) = 9) -> 'September'; (MONTH(day) = 10) -> 'October'; (MONTH(day) = 11) -> 'November'; (MONTH(day) = 12) -> 'December'; else None:TEXT] || ' ' || case[(MONTH(day) = 1) -> 'Jan'; (MONTH(day) = 2) -> 'Feb'; (MONTH(day) = 3) -> 'Mar'; (MONTH(day) = 4) -> 'Apr'; (MONTH(day) = 5) -> 'May'; (MONTH(day) = 6) -> 'Jun'; (MONTH(day) = 7) -> 'Jul'; (MONTH(day) = 8) -> 'Aug'; (MONTH(day) = 9) -> 'Sep'; (MONTH(day) = 10) -> 'Oct'; (MONTH(day) = 11) -> 'Nov'; (MONTH(day) = 12) -> 'Dec'; else None:TEXT] || ' ' || case[(WEEKDAY(day) = 1) -> 'Monday'; (WEEKDAY(day) = 2) -> 'Tuesday'; (WEEKDAY(day) = 3) -> 'Wednesday'; (WEEKDAY(day) = 4) -> 'Thursday'; (WEEKDAY(day) = 5) -> 'Friday'; (WEEKDAY(day) = 6) -> 'Saturday'; (WEEKDAY(day) = 7) -> 'Sunday'; else None:TEXT] || ' ' || case[(WEEKDAY(day) = 1) -> 'Mon'; (WEEKDAY(day) = 2) -> 'Tue'; (WEEKDAY(day) = 3) -> 'Wed'; (WEEKDAY(day) = 4) -> 'Thu'; (WEEKDAY(day) = 5) -> 'Fri'; (WEEKDAY(day) = 6) -> 'Sat'; (WEEKDAY(day) = 7) -> 'Sun'; else None:TEXT] || ' ' || RIGHT(('00' || YEARDAY(day)::TEXT), 3) || ' ' || RIGHT(WEEKDAY(day)::TEXT, 1) || ' ' || RIGHT(('0' || WEEK(day)::TEXT), 2) || ' ' || RIGHT(('0' || YEAR(day)::TEXT), 2) || ' ' || DAY(day)::TEXT || '/' || MONTH(day)::TEXT)
-- aggregate count := COUNT(*)
-- output s
-- output count

SELECT STRFTIME(seen, '%H:%M:%S') AS s, EPOCH(seen) AS e, LAST_DAY(day) AS l, COUNT(*) FROM visits GROUP BY ALL
-- scan visits
-- key s := (RIGHT(('0' || HOUR(seen)::TEXT), 2) || ':' || RIGHT(('0' || MINUTE(seen)::TEXT), 2) || ':' || RIGHT(('0' || SECOND(seen)::TEXT), 2))
-- key e := (((((((seen::DATE - datetime.date(1970, 1, 1)) * 24) + HOUR(seen)) * 60) + MINUTE(seen)) * 60) + SECOND(seen))
-- key l := (ADD_MONTHS(month of day::DATE, 1) - 1)
-- aggregate count := COUNT(*)
-- output s
-- output e
-- output l
-- output count

SELECT COUNT(*) FROM visits WHERE REGEXP_MATCHES(city, '^(Ha|Au)') OR REGEXP_FULL_MATCH(city, 'haifa')
-- scan visits
-- filter ((city like 'Ha%' escape '!' or city like 'Au%' escape '!') or city like 'haifa' escape '!')
-- aggregate count := COUNT(*)
-- output count

SELECT SPLIT_PART(city, 'i', 2) AS s, COUNT(*) FROM visits GROUP BY s
-- scan visits
-- key s := SPLIT_PART(city, 'i', 2)
-- aggregate count := COUNT(*)
-- output s
-- output count

SELECT MEDIAN(LEAST(GREATEST(seen, TIMESTAMP '2020-01-01 00:00:00'), TIMESTAMP '2029-01-01 00:00:00')), MIN(day), AVG(day) FROM visits WHERE seen IS NOT NULL
-- scan visits
-- filter NOT(IS_NULL(seen))
-- aggregate median := QUANTILE((((((((LEAST(GREATEST(seen, datetime.datetime(2020, 1, 1, 0, 0)), datetime.datetime(2029, 1, 1, 0, 0))::DATE - datetime.date(1970, 1, 1)) * 24) + HOUR(LEAST(GREATEST(seen, datetime.datetime(2020, 1, 1, 0, 0)), datetime.datetime(2029, 1, 1, 0, 0)))) * 60) + MINUTE(LEAST(GREATEST(seen, datetime.datetime(2020, 1, 1, 0, 0)), datetime.datetime(2029, 1, 1, 0, 0)))) * 60) + SECOND(LEAST(GREATEST(seen, datetime.datetime(2020, 1, 1, 0, 0)), datetime.datetime(2029, 1, 1, 0, 0))))) at 1/2
-- aggregate min := MIN((day - datetime.date(1970, 1, 1)))
-- aggregate avg := MEAN((day - datetime.date(1970, 1, 1)))
-- output median := ADD_SECONDS(datetime.datetime(1970, 1, 1, 0, 0), ROUND(median)::INTEGER)
-- output min := (datetime.date(1970, 1, 1) + ROUND(min)::INTEGER)
-- output avg := ADD_SECONDS(datetime.datetime(1970, 1, 1, 0, 0), ROUND((avg * 86400))::INTEGER)

SELECT REGR_SLOPE(cost, age), REGR_COUNT(cost, age), REGR_AVGX(cost, age), REGR_AVGY(cost, age), REGR_SXX(cost, age), REGR_SXY(cost, age), REGR_SYY(cost, age) FROM visits
-- scan visits
-- aggregate covar_cost_age := COVARIANCE(cost, age) population where (NOT(IS_NULL(cost)) and NOT(IS_NULL(age)))
-- aggregate variance_age := VARIANCE(age) population where (NOT(IS_NULL(cost)) and NOT(IS_NULL(age)))
-- aggregate regr_count := COUNT(*) where (NOT(IS_NULL(cost)) and NOT(IS_NULL(age)))
-- aggregate regr_avgx := MEAN(age) where (NOT(IS_NULL(cost)) and NOT(IS_NULL(age)))
-- aggregate regr_avgy := MEAN(cost) where (NOT(IS_NULL(cost)) and NOT(IS_NULL(age)))
-- aggregate variance_cost := VARIANCE(cost) population where (NOT(IS_NULL(cost)) and NOT(IS_NULL(age)))
-- output regr_slope := (covar_cost_age / variance_age)
-- output regr_count
-- output regr_avgx
-- output regr_avgy
-- output regr_sxx := (regr_count * variance_age)
-- output regr_sxy := (regr_count * covar_cost_age)
-- output regr_syy := (regr_count * variance_cost)

SELECT city, SKEWNESS(cost), SEM(cost) FROM visits GROUP BY city
-- scan visits
-- key city
-- aggregate count_cost := COUNT(cost)
-- aggregate avg_cost := MEAN(cost)
-- aggregate variance_cost := VARIANCE(cost) population
-- aggregate avg := MEAN((((cost - 500.0) * (cost - 500.0)) * (cost - 500.0)))
-- aggregate stddev_cost := STDDEV(cost) population
-- output city
-- output skewness := case[(count_cost >= 3) -> ((SQRT((count_cost * (count_cost - 1))) * ((avg - ((3 * (avg_cost - 500.0)) * variance_cost)) - (((avg_cost - 500.0) * (avg_cost - 500.0)) * (avg_cost - 500.0)))) / ((count_cost - 2) * (variance_cost * SQRT(variance_cost)))); else None:REAL]
-- output sem := (stddev_cost / SQRT(count_cost))
