-- What curators are asked, by name; several questions are asked one by one.

-- count
SELECT COUNT(*) AS n FROM visits;
-- total
SELECT COUNT(*) AS n, SUM(value) AS total FROM visits;
-- by kind
SELECT value % 2 AS k, COUNT(*) AS n FROM visits GROUP BY 1;
-- by value
SELECT value, COUNT(*) AS n FROM visits GROUP BY 1;
-- by turn
SELECT turn, COUNT(*) AS n, SUM(value) AS s FROM visits GROUP BY 1;
-- of nobody but one
SELECT turn, COUNT(*) AS n, SUM(value) AS s FROM visits WHERE value = 10 GROUP BY 1;
-- people by turn
SELECT turn, COUNT(DISTINCT person) AS n FROM visits GROUP BY 1;
-- people by value
SELECT value, COUNT(DISTINCT person) AS n FROM visits GROUP BY 1;
-- sets
SELECT turn, COUNT(*) AS n FROM visits GROUP BY ROLLUP(turn);
-- three together
SELECT COUNT(*) AS n, COUNT(value) AS m, AVG(value) AS mean FROM visits;
-- grouped
SELECT value % 4 AS k, COUNT(*) AS n, COUNT(DISTINCT person) AS m FROM visits GROUP BY 1;

-- measured together
SELECT COUNT(*) AS n, SUM(value) AS total, AVG(value) AS mean FROM visits;
SELECT COUNT(value) AS n, SUM(value) AS total FROM visits;

-- found
SELECT word, COUNT(*) AS n FROM visits GROUP BY 1;
SELECT word, COUNT(DISTINCT person) AS n FROM visits GROUP BY 1;
-- found quantiles
SELECT word, MEDIAN(value) AS m FROM visits GROUP BY 1;

-- aggregates
SELECT COUNT(DISTINCT serial) AS n FROM visits;
SELECT turn, COUNT(DISTINCT serial) AS n FROM visits GROUP BY 1;
SELECT SUM(DISTINCT 999 - serial) AS n FROM visits;
SELECT VAR_POP(value) AS n FROM visits;
SELECT STDDEV_POP(value) AS n FROM visits;
SELECT COVAR_POP(value, 5 - value) AS n FROM visits;
SELECT CORR(value, value) AS n FROM visits;

-- shapes
SELECT turn, COUNT(DISTINCT value) AS n, SUM(value) AS s
FROM (SELECT * FROM visits UNION ALL SELECT * FROM bills) AS u
WHERE value BETWEEN 3 AND 8 GROUP BY 1;
SELECT b.turn, SUM(v.value) AS s
FROM visits v JOIN bills b ON v.person = b.person AND v.value = b.value
WHERE EXISTS (SELECT 1 FROM bills c WHERE c.person = v.person AND c.value > 6) GROUP BY 1;
SELECT turn, COUNT(*) AS n FROM visits v
WHERE EXISTS (SELECT 1 FROM bills b WHERE b.person = v.person AND b.value = v.value + 1) GROUP BY 1;
SELECT place, COUNT(*) AS n
FROM (SELECT LEAST(ROW_NUMBER() OVER (PARTITION BY person ORDER BY day), 3) AS place FROM visits) AS w
WHERE place IN (1, 2, 3) GROUP BY 1;
SELECT AVG(LEAST(n, 5)) AS mean, COUNT(*) AS people
FROM (SELECT person, COUNT(*) AS n FROM visits GROUP BY person) AS p;

-- quantiles
SELECT MEDIAN(value) AS m, MODE(value) AS n, MAX(value) AS o FROM visits;
SELECT QUANTILE_CONT(value, [0, 0.1, 0.2, 0.4, 0.5, 0.6, 0.8, 0.9, 1]) AS n FROM visits;

-- shares of people
SELECT turn, AVG(value) AS mean, VAR_POP(value) AS v FROM visits GROUP BY 1;
SELECT COUNT(DISTINCT person) AS m, SUM(value) AS s FROM visits WHERE value > 2;

-- join
SELECT COUNT(*) AS n, SUM(b.value) AS total FROM visits v JOIN bills b ON v.person = b.person;

-- answers
SELECT a.value % 2 AS odd, MAX(n) AS top, SUM(n * 1.0 / m) AS share
FROM (SELECT value % 4 AS value, COUNT(*) AS n FROM visits GROUP BY 1) a
JOIN (SELECT value % 4 AS value, COUNT(*) AS m FROM bills GROUP BY 1) b ON a.value = b.value
GROUP BY 1 ORDER BY top DESC;
SELECT v.turn, COUNT(*) * 1.0 / t.n AS share
FROM visits v JOIN (SELECT turn, COUNT(*) AS n FROM bills GROUP BY 1) t ON t.turn = v.turn
WHERE t.n > 5 AND v.turn IN (SELECT turn FROM visits GROUP BY 1 ORDER BY COUNT(*) DESC LIMIT 2)
GROUP BY v.turn, t.n;
SELECT AVG(n) AS mean, SUM(CASE WHEN n < 41 THEN t - n ELSE 0 END) AS s
FROM (SELECT person, COUNT(*) AS n, SUM(value) AS t FROM visits GROUP BY person) v
JOIN (SELECT person FROM bills GROUP BY person) b ON v.person = b.person;
