-- Who could learn what from a release of categories, and what may be concluded from it.
-- Run it: ppduck examples/disclosure.sql

-- 1. 20,000 patients. Age, sex and region are known to neighbours; the disease is nobody's business.
CREATE TABLE patients AS
SELECT i AS id, ['20-39', '40-59', '60+'][1 + (hash(i * 10) % 3)::INTEGER] AS age,
       ['female', 'male'][1 + (hash(i * 10 + 1) % 2)::INTEGER] AS sex,
       ['east', 'north', 'south', 'west'][1 + least(hash(i * 10 + 2) % 6, 3)::INTEGER] AS region,
       CASE WHEN u < 0.1 + 0.15 * (age = '60+')::INTEGER THEN 'cancer' WHEN u < 0.45 THEN 'flu'
            WHEN u < 0.8 - 0.2 * (sex = 'male')::INTEGER THEN 'anemia' ELSE 'asthma' END AS disease
FROM (SELECT i, (hash(i * 10 + 3) % 1000003) / 1000003 AS u FROM range(20000) AS rows(i));

-- 2. As it is: how many share their quasi-identifiers, and how sure can one be of a disease?
SELECT k, unique_rows FROM k_anonymity('patients', ['age', 'sex', 'region']);
SELECT distinct_l, round(entropy_l, 2) AS entropy_l, round(frequency_l, 2) AS frequency_l
FROM l_diversity('patients', ['age', 'sex', 'region'], 'disease');
SELECT round(t, 3) AS t FROM t_closeness('patients', ['age', 'sex', 'region'], 'disease');

-- 3. The best keep probabilities for a risk of at most 1/3, and the risk that they really leave.
CREATE TABLE design AS
FROM rr_optimize('patients', qi=['age', 'sex', 'region'], sensitive='disease', l=3);

SELECT column_name, levels, round(p, 3) AS p, round(max_risk, 4) AS max_risk, max_risk < 1 / 3 + 1e-6 AS within FROM design;

-- 4. The view that the public reads, with the p of step 3 rounded down, and its risk. (The seed makes this example
--    repeatable; leave it out when you mean it.)
CREATE VIEW patients_rr AS FROM rr_mask('patients', p={'age': 0.935, 'sex': 0.965}, key='id', seed=7);

SELECT round(max_risk, 3) AS max_risk, round(unmasked, 3) AS unmasked, max_risk <= 1 / 3 AS within
FROM attribute_disclosure('patients', qi=['age', 'sex', 'region'], sensitive='disease', p={'age': 0.935, 'sex': 0.965},
                          per='maximum');

-- 5. An analyst asks in SQL, and gets what the original would have answered, with what is known about the errors.
CREATE TABLE answer AS
FROM rr_query('SELECT sex, disease, count(*) AS n FROM patients_rr WHERE age <> ''20-39'' GROUP BY CUBE (sex, disease)');
CREATE TABLE truth AS
SELECT sex, disease, count(*) AS truth FROM patients WHERE age <> '20-39' GROUP BY CUBE (sex, disease);

SELECT a.sex, a.disease, round(n) AS n, round(n_std_error, 1) AS n_std_error, truth,
       abs(n - truth) <= 4 * n_std_error + 1e-6 AS within_4_errors
FROM answer a JOIN truth t ON a.sex IS NOT DISTINCT FROM t.sex AND a.disease IS NOT DISTINCT FROM t.disease
ORDER BY ALL;

-- 6. Is there a relation at all? The test is valid on the published rows, without p; it has less power.
SELECT round(chi2, 1) AS chi2, df, p_value < 0.001 AS related, valid, round(efficiency, 3) AS efficiency, round(power_lost, 3) AS power_lost
FROM independence_test('patients_rr', 'age', 'disease');

-- 7. What measures on published rows say of the original, whatever p was.
SELECT measure, round(value, 4) AS value, says, condition
FROM rr_conclusions('patients_rr', 'age', 'disease') WHERE measure IN ('chi2', 'cramers_v', 'uncertainty');

-- 8. Which model fits the table before randomization?
SELECT model, round(g2, 1) AS g2, df, round(p_value, 3) AS p_value, best
FROM loglinear_models('patients_rr', ['age', 'sex', 'disease'], reconstruct='mle') WHERE best;

-- 9. Two other ways to a limit of 1/2: pairs of different diseases, or values that five rows share.
SELECT 'anatomy' AS way, count(*) AS groups, max(share) <= 1 / 2 AS within
FROM (SELECT group_id, max("count") / sum("count") AS share
      FROM anatomy_mask('patients', qi=['age', 'sex', 'region'], sensitive='disease', l=2, part='st', key='id', seed=7)
      GROUP BY group_id);

CREATE TABLE ranges AS FROM generalize_mask('patients', qi=['age', 'sex', 'region'], sensitive='disease', k=5, l=2, drop='id');
SELECT 'generalisation' AS way, groups, frequency_l >= 2 AS within FROM l_diversity('ranges', ['age', 'sex', 'region'], 'disease');
