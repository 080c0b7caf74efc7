-- Three banks pool their customers without showing them. Run it: ppduck examples/three_banks.sql
-- After Al-Ahmadi (2008), "Privacy-preserving data mining for horizontally distributed datasets using EGADP".

CREATE TABLE bank AS
WITH normal AS (
    SELECT i, n[1] AS z1, n[2] AS z2, n[3] AS z3, n[4] AS z4, n[5] AS z5
    FROM (SELECT i, list_transform(range(5), lambda k: sqrt(-2 * ln((hash(i, k, 'radius') % 1000003 + 1) / 1000004))
                                                       * cos(2 * pi() * (hash(i, k, 'angle') % 1000003) / 1000003)) AS n
          FROM range(50000) AS rows(i))
), correlated AS (
    SELECT i, z1 AS a, 0.7 * z1 + 0.7141 * z2 AS b, z3, z4, z5 FROM normal
)
SELECT i + 1 AS customer_no, 'Customer ' || (i + 1) AS name,
       CASE WHEN i % 25 < 9 THEN 1 WHEN i % 25 < 19 THEN 2 ELSE 3 END AS bank_no,
       (hash(i) % 2)::INTEGER AS s1, 100 + 20 * a AS s2, 50 + 10 * b AS s3,
       80 + 20 * (0.54 * a + 0.37 * b + 0.52 * z3) AS x1,
       20 + 5 * (0.43 * a + 0.1 * b + 0.86 * z4) AS x2,
       50 + 10 * (0.31 * a - 0.02 * b + 0.45 * z4 + 0.8 * z5) AS x3
FROM correlated;

-- Every bank masks its own rows: one call, three groups, nothing shared but the SQL.
CREATE TABLE release AS
FROM egadp_mask('bank', conf := ['x1', 'x2', 'x3'], strata := ['bank_no'], key := 'customer_no', drop := ['name']);

-- Each bank's means, and the union's, are what they were.
SELECT coalesce(b.bank_no::VARCHAR, 'all') AS bank, b.customers, b.x1, b.x3, r.x1 AS masked_x1, r.x3 AS masked_x3
FROM (SELECT bank_no, count(*) AS customers, avg(x1) AS x1, avg(x3) AS x3 FROM bank GROUP BY ROLLUP (bank_no)) b
JOIN (SELECT bank_no, avg(x1) AS x1, avg(x3) AS x3 FROM release GROUP BY ROLLUP (bank_no)) r
  ON b.bank_no IS NOT DISTINCT FROM r.bank_no
ORDER BY bank;

-- And so is every covariance and correlation of the pooled table.
SELECT statistic, count(*) AS compared, max(abs(difference)) < 1e-9 AS same
FROM moments_check('bank', 'release', key := 'customer_no')
GROUP BY ALL ORDER BY ALL;

-- A regression that no bank could run alone, from masked rows only.
SELECT 'original' AS data, regr_slope(x3, x2) AS slope, regr_intercept(x3, x2) AS intercept, regr_r2(x3, x2) AS r2 FROM bank
UNION ALL
SELECT 'release', regr_slope(x3, x2), regr_intercept(x3, x2), regr_r2(x3, x2) FROM release;
