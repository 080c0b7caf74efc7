-- Three masks on two real data sets: is the release safe, is it useful? The Census data of the CASC project
-- (1,080 rows of 13 numbers) and the complete rows of UCI Adult come with the sources; run it at their top:
-- ppduck examples/assess.sql

CREATE TABLE census AS SELECT row_number() OVER () AS id, * FROM 'tests/data/census.parquet';
CREATE TABLE adult AS SELECT row_number() OVER () AS id, * FROM 'tests/data/adult.parquet';

-- Seeds make it print the same everywhere; a real release has none. Other incomes, which tell of wages or of whom they
-- are, stay behind.
CREATE TABLE census_egadp AS
FROM egadp_mask('census', conf=['AGI','TAXINC','WSALVAL'], nonconf=['AFNLWGT','EMCONTRB','INTVAL'], key='id', seed=1,
    drop=['PTOTVAL','PEARNVAL','ERNVAL']);
CREATE TABLE census_shuffle AS
FROM shuffle_mask('census', conf=['AGI','TAXINC','WSALVAL'], nonconf=['AFNLWGT','EMCONTRB','INTVAL'], key='id', seed=1,
    drop=['PTOTVAL','PEARNVAL','ERNVAL']);
CREATE TABLE census_noise AS
FROM noise_mask('census', conf=['AGI','TAXINC','WSALVAL'], level=0.01, key='id', seed=1,
    drop=['PTOTVAL','PEARNVAL','ERNVAL']);

CREATE TABLE adult_egadp AS
FROM egadp_mask('adult', conf=['fnlwgt','age','hours_per_week'], nonconf=['education_num','sex','salary'], key='id', seed=1);
CREATE TABLE adult_shuffle AS
FROM shuffle_mask('adult', conf=['fnlwgt','age','hours_per_week'], nonconf=['education_num','sex','salary'], key='id', seed=1);
CREATE TABLE adult_noise AS
FROM noise_mask('adult', conf=['fnlwgt','age','hours_per_week'], level=0.01, key='id', seed=1);

-- The gate, and what it measures: of persons (linkage, interval), of values (r2_gain), of what the analyst gets (covariance).
CREATE TABLE verdicts AS
SELECT 'census' AS data, 'egadp_mask' AS mask, * FROM release_check('census', 'census_egadp', conf=['AGI','TAXINC','WSALVAL'],
    nonconf=['AFNLWGT','EMCONTRB','INTVAL'], key='id', limits={'covariance': 0.1})
UNION ALL
SELECT 'census', 'shuffle_mask', * FROM release_check('census', 'census_shuffle', conf=['AGI','TAXINC','WSALVAL'],
    nonconf=['AFNLWGT','EMCONTRB','INTVAL'], key='id', limits={'covariance': 0.1})
UNION ALL
SELECT 'census', 'noise_mask', * FROM release_check('census', 'census_noise', conf=['AGI','TAXINC','WSALVAL'],
    nonconf=['AFNLWGT','EMCONTRB','INTVAL'], key='id', limits={'covariance': 0.1})
UNION ALL
SELECT 'adult', 'egadp_mask', * FROM release_check('adult', 'adult_egadp', conf=['fnlwgt','age','hours_per_week'],
    nonconf=['education_num','sex','salary'], key='id', limits={'covariance': 0.1})
UNION ALL
SELECT 'adult', 'shuffle_mask', * FROM release_check('adult', 'adult_shuffle', conf=['fnlwgt','age','hours_per_week'],
    nonconf=['education_num','sex','salary'], key='id', limits={'covariance': 0.1})
UNION ALL
SELECT 'adult', 'noise_mask', * FROM release_check('adult', 'adult_noise', conf=['fnlwgt','age','hours_per_week'],
    nonconf=['education_num','sex','salary'], key='id', limits={'covariance': 0.1});

CREATE TABLE scores AS
SELECT 'census' AS data, 'egadp_mask' AS mask, * FROM protection_score('census', 'census_egadp', conf=['AGI','TAXINC','WSALVAL'], key='id')
UNION ALL
SELECT 'census', 'shuffle_mask', * FROM protection_score('census', 'census_shuffle', conf=['AGI','TAXINC','WSALVAL'], key='id')
UNION ALL
SELECT 'census', 'noise_mask', * FROM protection_score('census', 'census_noise', conf=['AGI','TAXINC','WSALVAL'], key='id')
UNION ALL
SELECT 'adult', 'egadp_mask', * FROM protection_score('adult', 'adult_egadp', conf=['fnlwgt','age','hours_per_week'], key='id')
UNION ALL
SELECT 'adult', 'shuffle_mask', * FROM protection_score('adult', 'adult_shuffle', conf=['fnlwgt','age','hours_per_week'], key='id')
UNION ALL
SELECT 'adult', 'noise_mask', * FROM protection_score('adult', 'adult_noise', conf=['fnlwgt','age','hours_per_week'], key='id');

SELECT data, mask, round(max(value) FILTER (rule = 'linkage'), 4) AS linkage, round(max(value) FILTER (rule = 'interval'), 2) AS "interval",
       round(max(value) FILTER (rule = 'r2_gain'), 3) AS r2_gain, round(max(value) FILTER (rule = 'covariance'), 3) AS covariance,
       round(any_value(score), 1) AS score, bool_and(passed) AS passed
FROM verdicts JOIN (SELECT data, mask, value AS score FROM scores WHERE measure = 'score_simplified') USING (data, mask)
GROUP BY data, mask ORDER BY data DESC, passed DESC, mask;
