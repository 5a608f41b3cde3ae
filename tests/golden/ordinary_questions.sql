-- how many people are there?
SELECT COUNT(*) FROM adult
-- how old are they on average?
SELECT AVG(age) AS average_age FROM adult
-- by sex
SELECT sex, COUNT(*) AS people FROM adult GROUP BY sex
-- average hours by education, longest first
SELECT education, AVG(hours_per_week) AS hours FROM adult GROUP BY education ORDER BY hours DESC
-- median age by income
SELECT income, MEDIAN(age) AS age FROM adult GROUP BY income
-- who earns more than 50K, in percent
SELECT sex, 100.0 * SUM(CASE WHEN income = '>50K' THEN 1 ELSE 0 END) / COUNT(*) AS percent FROM adult GROUP BY sex
-- the same with AVG of a condition
SELECT race, AVG(income = '>50K') AS share FROM adult GROUP BY 1
-- five largest occupations
SELECT occupation, COUNT(*) AS n FROM adult GROUP BY occupation ORDER BY n DESC LIMIT 5
-- the most frequent occupation
SELECT occupation, COUNT(*) AS n FROM adult GROUP BY 1 ORDER BY 2 DESC LIMIT 1
-- ages by decade
SELECT FLOOR(age / 10) * 10 AS decade, COUNT(*) AS n FROM adult GROUP BY decade ORDER BY decade
-- people between 30 and 40 who work over 40 hours
SELECT COUNT(*) AS n FROM adult WHERE age BETWEEN 30 AND 40 AND hours_per_week > 40
-- how do age and hours go together?
SELECT CORR(age, hours_per_week) AS r FROM adult
-- spread of hours
SELECT AVG(hours_per_week) AS mean, STDDEV(hours_per_week) AS sd FROM adult
-- quartiles of age
SELECT QUANTILE_CONT(age, 0.25) AS q1, MEDIAN(age) AS q2, QUANTILE_CONT(age, 0.75) AS q3 FROM adult
-- youngest and oldest
SELECT MIN(age), MAX(age) FROM adult
-- how many countries?
SELECT COUNT(DISTINCT native_country) AS countries FROM adult
-- countries with more than 100 people
SELECT native_country, COUNT(*) AS n FROM adult GROUP BY native_country HAVING COUNT(*) > 100
-- all capital gains, and of those who have one
SELECT SUM(capital_gain) AS total, AVG(capital_gain) FILTER (WHERE capital_gain > 0) AS each FROM adult
-- sex by education, with totals
SELECT education, sex, COUNT(*) AS n FROM adult GROUP BY ROLLUP (education, sex)
-- share of each race
SELECT race, COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM adult GROUP BY race
-- unknown workclass
SELECT COUNT(*) AS unknown FROM adult WHERE workclass IS NULL
-- difference of hours between the sexes
SELECT AVG(hours_per_week) FILTER (WHERE sex = 'Male') - AVG(hours_per_week) FILTER (WHERE sex = 'Female') AS difference FROM adult
-- a table of bands
SELECT CASE WHEN age < 30 THEN 'young' WHEN age < 50 THEN 'middle' ELSE 'older' END AS band, income, COUNT(*) AS n FROM adult GROUP BY ALL ORDER BY band, income
-- weighted share of married people
SELECT SUM(CASE WHEN marital_status = 'Married' THEN fnlwgt ELSE 0 END) / SUM(fnlwgt) AS share FROM adult
-- graduates, the three highest by hours
WITH g AS (SELECT occupation, hours_per_week AS h FROM adult WHERE education IN ('Bachelors', 'Masters', 'Doctorate')) SELECT occupation, AVG(h) AS mean, RANK() OVER (ORDER BY AVG(h) DESC) AS place FROM g GROUP BY occupation ORDER BY place LIMIT 3
