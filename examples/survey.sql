-- A survey is published, its answers randomized. Run it: ppduck examples/survey.sql

-- 1. 20,000 answers that nobody should be tied to.
CREATE TABLE survey AS
SELECT i AS id, ['female', 'male'][1 + (hash(i * 10) % 2)::INTEGER] AS gender,
       CASE WHEN u < 0.15 + 0.1 * (gender = 'male')::INTEGER THEN 'anemia' WHEN u < 0.35 THEN 'cancer' ELSE 'flu' END AS disease
FROM (SELECT i, (hash(i * 10 + 1) % 1000003) / 1000003 AS u FROM range(20000) AS rows(i));

-- 2. Which p? What one answer gives away, per column and in all; epsilon is that of local differential privacy.
SELECT attribute, measure, round(value, 3) AS value
FROM rr_privacy(p={'gender': 0.9, 'disease': 0.8}, levels={'gender': 2, 'disease': 3})
WHERE measure IN ('epsilon', 'posterior_upper', 'reconstruction');

-- 3. The view that the public reads: a value is kept with probability p, else another one is drawn. Reading it again
--    shows the same rows. (The seed makes this example repeatable; leave it out when you mean it.)
CREATE VIEW survey_rr AS FROM rr_mask('survey', p={'gender': 0.9, 'disease': 0.8}, key='id', seed=7);

FROM survey_rr ORDER BY id LIMIT 5;

SELECT count(*) FILTER (s.disease <> r.disease) AS changed_answers, count(*) AS answers
FROM survey s JOIN survey_rr r USING (id);

-- 4. An analyst sees only the view, and gets the table back, with what is known about its errors.
CREATE TABLE truth AS SELECT gender, disease, count(*) / 20000 AS share FROM survey GROUP BY ALL;

SELECT gender, disease, round(observed, 4) AS observed, round(estimate, 4) AS estimate, round(std_error, 4) AS std_error,
       round(share, 4) AS truth, abs(estimate - share) < 4 * std_error AS within_4_errors
FROM rr_reconstruct('survey_rr', ['gender', 'disease']) JOIN truth USING (gender, disease)
ORDER BY ALL;

-- 5. How strongly do the two depend on each other? As published (naive) the association looks weaker than it is.
SELECT r.measure, round(m.value, 4) AS truth, round(r.naive, 4) AS naive, round(r.estimate, 4) AS estimate,
       round(r.lower, 4) AS lower, round(r.upper, 4) AS upper
FROM rr_association('survey_rr', 'gender', 'disease') r
JOIN association_measures('survey', 'gender', 'disease') m USING (measure);

-- 6. Rules of shopping baskets, found in randomized baskets: what is frequent for sure, and what only perhaps.
CREATE TABLE baskets AS
SELECT i AS id, (hash(i * 9) % 10 < 6)::INTEGER AS bread, (hash(i * 9 + 1) % 10 < 2 + 7 * bread)::INTEGER AS butter,
       (hash(i * 9 + 2) % 10 < 1 + 8 * butter)::INTEGER AS jam, (hash(i * 9 + 3) % 10 < 3)::INTEGER AS fish
FROM range(20000) AS rows(i);

CREATE VIEW baskets_rr AS FROM rr_mask('baskets', conf=['bread', 'butter', 'jam', 'fish'], p=0.9, key='id', seed=7);

SELECT antecedent, consequent, round(support, 3) AS support, round(support_lower, 3) AS support_lower, round(support_upper, 3) AS support_upper,
       round(confidence, 3) AS confidence, round(confidence_lower, 3) AS confidence_lower,
       round(confidence_upper, 3) AS confidence_upper, verdict
FROM rr_rules('baskets_rr', ['bread', 'butter', 'jam', 'fish'], min_support=0.25, min_confidence=0.65);

-- 7. Or randomize so that the expected shares stay as they are: invariant PRAM.
SELECT disease, round(count(*) / 20000, 3) AS published, round(any_value(share), 3) AS truth,
       abs(published - truth) < 0.02 AS unchanged
FROM pram_mask('survey', conf=['disease'], p=0.8, invariant=true, key='id', seed=7)
JOIN (SELECT disease, sum(share) AS share FROM truth GROUP BY ALL) USING (disease)
GROUP BY ALL ORDER BY ALL;
