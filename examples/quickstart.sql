-- ppduck in five minutes. Run it: ppduck examples/quickstart.sql

-- 1. A table with something to hide: income and debt of 2,000 customers.
CREATE TABLE customers AS
SELECT i AS id,
       'Customer ' || i AS name,
       20 + (hash(i, 'age') % 50)::INTEGER AS age,
       ['east', 'north', 'south', 'west'][1 + (hash(i, 'region') % 4)::INTEGER] AS region,
       round(900 + 40 * age + 700 * z1, 2) AS income,
       round(5000 - 30 * age + 0.4 * income + 900 * z2, 2) AS debt
FROM (SELECT i, sqrt(-2 * ln((hash(i, 1) % 1000003 + 1) / 1000004)) * cos(6.2831853 * (hash(i, 2) % 1000003) / 1000003) AS z1,
                sqrt(-2 * ln((hash(i, 3) % 1000003 + 1) / 1000004)) * cos(6.2831853 * (hash(i, 4) % 1000003) / 1000003) AS z2
      FROM range(2000) AS rows(i));

FROM customers LIMIT 5;

-- 2. What would a mask do with each column?
FROM mask_explain('egadp_mask', 'customers', conf=['income', 'debt'], key='id', drop=['name']);

-- 3. Mask it. Same rows, same columns, other incomes and debts.
CREATE TABLE release AS
FROM egadp_mask('customers', conf=['income', 'debt'], key='id', drop=['name']);

FROM release LIMIT 5;

-- 4. The certificate: no mean, covariance or correlation has moved.
SELECT statistic, count(*) AS compared, max(abs(difference)) < 1e-9 AS same
FROM moments_check('customers', 'release', key='id')
GROUP BY ALL ORDER BY ALL;

-- 5. So any linear analysis comes out the same ...
SELECT 'original' AS data, regr_slope(debt, income) AS slope, regr_r2(debt, income) AS r2 FROM customers
UNION ALL
SELECT 'release', regr_slope(debt, income), regr_r2(debt, income) FROM release;

-- ... but nobody's income is in it: the masked value tells no more than age and region did.
SELECT corr(c.income, r.income) AS income_and_its_mask, max(abs(c.income - r.income)) AS farthest
FROM customers c JOIN release r USING (id);

-- 6. Nearer to the originals, at a price in protection: sufficiency-based noise, moments exact as well.
CREATE TABLE nearer AS
FROM sufficiency_mask('customers', conf=['income', 'debt'], alpha=0.9, key='id', drop=['name']);

SELECT corr(c.income, n.income) AS income_and_its_mask, max(abs(c.income - n.income)) AS farthest
FROM customers c JOIN nearer n USING (id);

-- 7. Everything ppduck adds to SQL.
SELECT name, description FROM ppduck_functions();
