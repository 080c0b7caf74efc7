-- A table as a shop has it, made up: names, addresses, dates, codes, categories and incomes of 200,000 customers.
CREATE OR REPLACE MACRO chance(i, what) AS (hash(i, what) % 1000003) / 1000003;
CREATE OR REPLACE MACRO bell(i, what) AS
  sqrt(-2 * ln((hash(i, what) % 1000003 + 1) / 1000004)) * cos(2 * pi() * chance(i, what || ' angle'));

CREATE OR REPLACE TABLE customers AS
WITH people AS (
  SELECT i, DATE '1941-01-01' + CAST(floor(24000 * chance(i, 'birth')) AS INTEGER) AS birth_date,
         ['home', 'office', 'school', 'travel'][1 + CAST(floor(4 * chance(i, 'segment') ** 1.5) AS INTEGER)] AS segment,
         ['Ada', 'Ben', 'Cleo', 'Dan', 'Eva', 'Finn', 'Gina', 'Hugo'][1 + CAST(hash(i, 'first') % 8 AS INTEGER)] AS first,
         ['Abel', 'Baker', 'Cole', 'Diaz', 'Engel', 'Fox', 'Gray'][1 + CAST(hash(i, 'last') % 7 AS INTEGER)] AS last,
         -- twelve towns, each with codes of its own, and a few hamlets that share the codes of the first
         CASE WHEN chance(i, 'town') < 0.002 THEN 100 + CAST(hash(i, 'hamlet') % 40 AS INTEGER)
              ELSE CAST(floor(12 * chance(i, 'town') ** 1.3) AS INTEGER) END AS town
  FROM range(200000) AS r(i)
), grown AS (
  SELECT *, date_diff('year', birth_date, DATE '2026-01-01') AS age FROM people
)
SELECT CAST(100000 + i AS BIGINT) AS customer_id,
       first || ' ' || last AS full_name,
       lower(first) || '.' || lower(last) || i || '@' || ['example.com', 'example.net', 'example.org'][1 + CAST(hash(i, 'mail') % 3 AS INTEGER)] AS email,
       '+49 ' || (30 + hash(i, 'area') % 60) || ' ' || lpad(CAST(hash(i, 'phone') % 10000000 AS VARCHAR), 7, '0') AS phone,
       birth_date,
       TIMESTAMP '2015-01-01' + to_seconds(CAST(floor(3.4e8 * chance(i, 'signup')) AS BIGINT)) AS signup_ts,
       lpad(CAST(CASE WHEN town < 100 THEN 10100 + town * 700 + hash(i, 'zip') % 90 ELSE 10100 + hash(i, 'zip') % 90 END AS VARCHAR), 5, '0') AS zip,
       CASE WHEN town < 100 THEN 'Town ' || chr(CAST(65 + town AS INTEGER)) ELSE 'Hamlet ' || (town - 99) END AS city,
       CASE WHEN chance(i, 'gender') < 0.49 THEN 'male' WHEN chance(i, 'gender') < 0.98 THEN 'female' ELSE 'other' END AS gender,
       segment,
       CASE WHEN age < 35 THEN 'young' WHEN age < 60 THEN 'middle' ELSE 'older' END AS age_band,
       CASE WHEN chance(i, 'silent') < 0.03 THEN NULL
            ELSE CAST(38000 + 90 * age + 6000 * bell(i, 'income') AS DECIMAL(12, 2)) END AS income,
       CAST(14000 + 60 * age + 2000 * bell(i, 'debt') + 1500 * bell(i, 'income') AS DECIMAL(12, 2)) AS debt,
       CAST(floor(-9 * ln(chance(i, 'orders') + 0.0001)) AS INTEGER) AS n_orders,
       chance(i, 'churn') < 0.2 AS churned
FROM grown;
