-- Tables of counts, anonymity of groups, randomized response and its privacy, masks of numbers and pseudonyms in plain
-- DuckDB SQL, without Python.
-- In the DuckDB shell: .read sql/ppduck.sql
--   FROM association_measures('survey', 'smokes', 'drinks')
--   FROM chi2_independence('survey.csv', ['smokes', 'drinks', 'region'])
--   FROM rr_reconstruct('(SELECT * FROM survey WHERE wave = 2)', ['smokes', 'drinks'], 0.9)
--   FROM rr_privacy(0.9, 2)
--   FROM k_anonymity('patients', ['zip', 'age'], k := 5)
--   FROM l_diversity('patients', ['zip', 'age'], 'disease', l := 3, c := 2)
--   FROM t_closeness('patients', ['zip', 'age'], 'salary', ordered := true)
--   FROM egadp_plain('customers', ['x1', 'x2'], secret := getenv('PPDUCK_SECRET'), key := 'id', nonconf := ['s1', 's2'])
--   FROM rr_plain('survey', 'smokes', 0.8, ['no', 'yes'], secret := getenv('PPDUCK_SECRET'), key := 'id')
--   FROM noise_plain('customers', ['x1', 'x2'], 0.1, secret := getenv('PPDUCK_SECRET'), key := 'id')
--   FROM pseudonym_plain('customers', 'id', 'customer', secret := getenv('PPDUCK_SECRET'))
-- tbl is a table name, a SELECT in parentheses or a file name, and columns are named by strings. Arguments are
-- positional or named by :=, as in rr_privacy(p := 0.9, levels := 2): a macro cannot take p = 0.9.

CREATE OR REPLACE MACRO _pp_ident(label) AS
  '"' || replace(label, '"', '""') || '"';

CREATE OR REPLACE MACRO _pp_literal(body) AS
  '''' || replace(body, '''', '''''') || '''';

CREATE OR REPLACE MACRO _pp_source(origin) AS
  -- The line break ends a comment that the caller's text may end with.
  CASE WHEN regexp_matches(ltrim(origin), '^[^(''"].*\.(csv|tsv|parquet|json|jsonl|ndjson)(\.gz|\.zst)?\s*$', 'is')
       THEN _pp_literal(trim(origin))
       ELSE origin END || chr(10);

CREATE OR REPLACE MACRO _pp_source_problem(origin) AS
  CASE WHEN origin IS NULL OR trim(origin) = ''
       THEN 'tbl is missing. Give a table name, a SELECT in parentheses or a file name.' END;

CREATE OR REPLACE MACRO _pp_names(columns) AS
  -- A string that is no list becomes NULL, so that it is refused in words and not by a binder error.
  TRY_CAST(columns AS VARCHAR[]);

CREATE OR REPLACE MACRO _pp_names_problem(names, parameter := 'columns') AS
  CASE WHEN names IS NULL
       THEN parameter || ' must be a list of column names. Write it as [''first'', ''second''].'
       WHEN len(list_filter(names, lambda nm: nm IS NULL OR nm = '')) > 0
       THEN parameter || ' holds a NULL or an empty name. Name every column.'
       WHEN list_unique(list_transform(names, lambda nm: lower(nm))) < len(names)
       THEN parameter || ' names a column twice. Name each column once.' END;

CREATE OR REPLACE MACRO _pp_sql(caller, problem, body) AS
  -- Outermost in the argument of query: further in, an error of type NULL is folded away before it can raise.
  CASE WHEN problem IS NULL THEN body ELSE error(caller || ': ' || problem) END;

CREATE OR REPLACE MACRO _pp_counts(origin, names, condition) AS
  'SELECT ' || array_to_string(list_transform(names, lambda nm, k: _pp_ident(nm) || ' AS x' || k), ', ')
  || ', count(*) AS cell FROM ' || _pp_source(origin) || condition || ' GROUP BY ALL';

CREATE OR REPLACE MACRO _pp_cells(origin, names) AS
  _pp_counts(origin, names,
    'WHERE ' || array_to_string(list_transform(names, lambda nm: _pp_ident(nm) || ' IS NOT NULL'), ' AND '));

CREATE OR REPLACE MACRO _pp_ratio(above, below) AS
  -- Independent of the setting that decides between infinity, NaN and NULL.
  CASE WHEN below <> 0 THEN above / below
       WHEN above <> 0 THEN sign(above) * CAST('infinity' AS DOUBLE) END;

CREATE OR REPLACE MACRO _pp_xlnx(share, expected) AS
  -- 0 ln 0 = 0, and some versions raise on ln(0), even in a branch that is not taken.
  coalesce(share * ln(nullif(share, 0) / nullif(expected, 0)), 0);

CREATE OR REPLACE MACRO _pp_horner(coefficients, k) AS
  list_reduce(coefficients, lambda total, coefficient: total * k + coefficient);

CREATE OR REPLACE MACRO _pp_normal_quantile(x) AS
  -- Wichura's rational approximations (AS 241, Applied Statistics 37, 1988), highest power first.
  CASE WHEN CAST(x AS DOUBLE) = 0 THEN CAST('-infinity' AS DOUBLE)
       WHEN CAST(x AS DOUBLE) = 1 THEN CAST('infinity' AS DOUBLE)
       WHEN CAST(x AS DOUBLE) < 0 OR CAST(x AS DOUBLE) > 1 THEN NULL
       WHEN abs(CAST(x AS DOUBLE) - 0.5e0) <= 0.425e0
       THEN (CAST(x AS DOUBLE) - 0.5e0)
            * _pp_horner([2509.0809287301226727e0, 33430.575583588128105e0, 67265.770927008700853e0,
                          45921.953931549871457e0, 13731.693765509461125e0, 1971.5909503065514427e0,
                          133.14166789178437745e0, 3.3871328727963666080e0],
                         0.180625e0 - pow(CAST(x AS DOUBLE) - 0.5e0, 2))
            / _pp_horner([5226.4952788528545610e0, 28729.085735721942674e0, 39307.895800092710610e0,
                          21213.794301586595867e0, 5394.1960214247511077e0, 687.18700749205790830e0,
                          42.313330701600911252e0, 1e0],
                         0.180625e0 - pow(CAST(x AS DOUBLE) - 0.5e0, 2))
       WHEN least(CAST(x AS DOUBLE), 1 - CAST(x AS DOUBLE)) >= exp(-25e0)
       THEN sign(CAST(x AS DOUBLE) - 0.5e0)
            * _pp_horner([7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
                          1.27045825245236838258e0, 3.64784832476320460504e0, 5.76949722146069140550e0,
                          4.63033784615654529590e0, 1.42343711074968357734e0],
                         sqrt(-ln(nullif(least(CAST(x AS DOUBLE), 1 - CAST(x AS DOUBLE)), 0))) - 1.6e0)
            / _pp_horner([1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2,
                          1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940e0,
                          2.05319162663775882187e0, 1e0],
                         sqrt(-ln(nullif(least(CAST(x AS DOUBLE), 1 - CAST(x AS DOUBLE)), 0))) - 1.6e0)
       ELSE sign(CAST(x AS DOUBLE) - 0.5e0)
            * _pp_horner([2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3,
                          2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580e0,
                          5.46378491116411436990e0, 6.65790464350110377720e0],
                         sqrt(-ln(nullif(least(CAST(x AS DOUBLE), 1 - CAST(x AS DOUBLE)), 0))) - 5)
            / _pp_horner([2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5,
                          7.86869131145613259100e-4, 1.48753612908506148525e-2, 1.36929880922735805310e-1,
                          5.99832206555887937690e-1, 1e0],
                         sqrt(-ln(nullif(least(CAST(x AS DOUBLE), 1 - CAST(x AS DOUBLE)), 0))) - 5) END;

CREATE OR REPLACE MACRO association_measures(tbl, a, b) AS TABLE
  WITH seen AS (
    FROM query(_pp_sql('association_measures',
      coalesce(_pp_source_problem(CAST(tbl AS VARCHAR)),
               CASE WHEN coalesce(CAST(a AS VARCHAR), '') = '' OR coalesce(CAST(b AS VARCHAR), '') = ''
                    THEN 'a and b must both be column names. Name the column of the rows and that of the columns.' END),
      _pp_cells(CAST(tbl AS VARCHAR), [CAST(a AS VARCHAR), CAST(b AS VARCHAR)])))
  ),
  placed AS (
    SELECT dense_rank() OVER (ORDER BY x1 ASC) AS i, dense_rank() OVER (ORDER BY x2 ASC) AS j,
           CAST(cell AS DOUBLE) AS nij, CAST(sum(cell) OVER () AS DOUBLE) AS n,
           CAST(sum(cell) OVER (PARTITION BY x1) AS DOUBLE) AS ni,
           CAST(sum(cell) OVER (PARTITION BY x2) AS DOUBLE) AS nj
    FROM seen
  ),
  summed AS (
    -- A cell that never occurs adds its expected share to chi2 and nothing to the other sums.
    SELECT coalesce(max(n), 0) AS n, coalesce(max(i), 0) AS r, coalesce(max(j), 0) AS c,
           fsum(pow(nij / n - ni * nj / n / n, 2) / (ni * nj / n / n)) AS met,
           CASE WHEN count(*) < max(i) * max(j) THEN greatest(1 - fsum(ni * nj / n / n), 0) ELSE 0 END AS unmet,
           fsum(_pp_xlnx(nij / n, ni * nj / n / n)) AS information,
           -fsum(nij / n * ln(ni / n)) AS row_entropy, -fsum(nij / n * ln(nj / n)) AS column_entropy,
           fsum(nij * nij / ni / n) AS explained, fsum(nij * nj / n / n) AS concentrated,
           coalesce(max(nij) FILTER (i = 1 AND j = 1), 0) AS n00, coalesce(max(nij) FILTER (i = 1 AND j = 2), 0) AS n01,
           coalesce(max(nij) FILTER (i = 2 AND j = 1), 0) AS n10, coalesce(max(nij) FILTER (i = 2 AND j = 2), 0) AS n11
    FROM placed
  ),
  scaled AS (
    SELECT *, n00 / n AS p00, n01 / n AS p01, n10 / n AS p10, n11 / n AS p11,
           (n00 + n01) / n AS r0, (n10 + n11) / n AS r1, (n00 + n10) / n AS c0, (n01 + n11) / n AS c1
    FROM summed
  ),
  listed AS (
    SELECT unnest(
      CASE WHEN n = 0
           THEN error('association_measures: there are no rows in which both columns have a value. Check tbl and its filter.')
           WHEN r < 2 OR c < 2
           THEN error('association_measures: column ' || _pp_ident(CASE WHEN r < 2 THEN CAST(a AS VARCHAR) ELSE CAST(b AS VARCHAR) END)
                      || ' has a single level, and association needs two or more. Choose another column or widen the filter.')
           ELSE [
             {measure: 'chi2', value: n * (met + unmet)},
             {measure: 'g2', value: 2 * n * information},
             {measure: 'mutual_information', value: information / row_entropy},
             {measure: 'concentration', value: (explained - concentrated) / (1 - concentrated)},
             {measure: 'uncertainty', value: information / column_entropy},
             {measure: 'cramers_v', value: sqrt((met + unmet) / (least(r, c) - 1))}
           ] || CASE WHEN r = 2 AND c = 2 THEN [
             {measure: 'phi', value: (p11 * p00 - p01 * p10) / sqrt(r1 * c1 * r0 * c0)},
             {measure: 'odds_ratio', value: _pp_ratio(n11 * n00, n10 * n01)},
             {measure: 'jaccard', value: _pp_ratio(n11, n11 + n10 + n01)},
             {measure: 'j_measure', value: _pp_xlnx(p11, r1 * c1) + _pp_xlnx(p10, r1 * c0)},
             {measure: 'standardized_residual', value: sqrt(n) * (p11 - r1 * c1) / sqrt(r1 * c1)},
             {measure: 'risk_difference', value: p00 / c0 - p01 / c1},
             {measure: 'kappa', value: (p11 + p00 - r1 * c1 - r0 * c0) / (1 - r1 * c1 - r0 * c0)},
             {measure: 'collective_strength',
              value: _pp_ratio((p11 + p00) / (r1 * c1 + r0 * c0) * (1 - r1 * c1 - r0 * c0), p01 + p10)},
             {measure: 'cosine', value: p11 / sqrt(r1 * c1)},
             {measure: 'interest', value: p11 / (r1 * c1)},
             {measure: 'piatetsky_shapiro', value: p11 - r1 * c1},
             {measure: 'conviction', value: _pp_ratio(r1 * c0, p10)},
             {measure: 'certainty', value: (p11 / r1 - c1) / c0},
             {measure: 'added_value', value: p11 / r1 - c1},
             {measure: 'laplace', value: (n11 + 1) / (n11 + n10 + 2)}
           ] ELSE [] END END) AS line
    FROM scaled
  )
  SELECT line.measure AS measure, CAST(line.value AS DOUBLE) AS value FROM listed;

CREATE OR REPLACE MACRO _pp_independence(origin, names) AS
  'WITH _pp_seen AS (' || _pp_cells(origin, names) || '), _pp_placed AS (SELECT '
  || array_to_string(list_transform(names, lambda nm, k: 'x' || k), ', ')
  || ', cell / CAST(sum(cell) OVER () AS DOUBLE) AS share, CAST(sum(cell) OVER () AS DOUBLE) AS n, '
  || array_to_string(list_transform(names, lambda nm, k:
       'sum(cell) OVER (PARTITION BY x' || k || ') / CAST(sum(cell) OVER () AS DOUBLE)'), ' * ')
  || ' AS expected FROM _pp_seen) SELECT coalesce(max(n), 0) AS n, CAST(count(*) AS DOUBLE) AS met, ['
  || array_to_string(list_transform(names, lambda nm, k: 'CAST(count(DISTINCT x' || k || ') AS DOUBLE)'), ', ')
  || '] AS sizes, fsum(pow(share - expected, 2) / expected) AS observed, fsum(expected) AS covered,'
  || ' fsum(share * ln(share / expected)) AS information FROM _pp_placed';

CREATE OR REPLACE MACRO chi2_independence(tbl, columns) AS TABLE
  WITH summed AS (
    FROM query(_pp_sql('chi2_independence',
      coalesce(_pp_source_problem(CAST(tbl AS VARCHAR)), _pp_names_problem(_pp_names(columns)),
               CASE WHEN len(_pp_names(columns)) < 2
                    THEN 'columns names ' || len(_pp_names(columns)) || ' column(s), and independence needs two or more. Name two or more columns.' END),
      _pp_independence(CAST(tbl AS VARCHAR), _pp_names(columns))))
  ),
  listed AS (
    -- A cell that never occurs adds its expected share, so the full cross of levels is never built.
    SELECT unnest(
      CASE WHEN n = 0
           THEN error('chi2_independence: there are no rows in which every column has a value. Check tbl and its filter.')
           WHEN list_min(sizes) < 2
           THEN error('chi2_independence: column ' || _pp_ident(_pp_names(columns)[list_position(sizes, 1)])
                      || ' has a single level, and independence needs two or more. Leave the column out or widen the filter.')
           ELSE [
             {measure: 'rows', value: n},
             {measure: 'chi2', value: n * (observed + CASE WHEN met < list_product(sizes) THEN greatest(1 - covered, 0) ELSE 0 END)},
             {measure: 'g2', value: 2 * n * information},
             {measure: 'df', value: list_product(sizes) - 1 - list_sum(sizes) + len(sizes)}
           ] END) AS line
    FROM summed
  )
  SELECT line.measure AS measure, CAST(line.value AS DOUBLE) AS value FROM listed;

CREATE OR REPLACE MACRO _pp_keep(p, size) AS
  -- Read from its text, because one expression cannot take a number and a list alike.
  CASE WHEN starts_with(CAST(p AS VARCHAR), '[')
       THEN list_transform(string_split(trim(CAST(p AS VARCHAR), '[]'), ','), lambda part: TRY_CAST(trim(part) AS DOUBLE))
       ELSE list_transform(range(size), lambda part: TRY_CAST(CAST(p AS VARCHAR) AS DOUBLE)) END;

CREATE OR REPLACE MACRO _pp_reconstruct_problem(origin, names, keep, confidence) AS
  coalesce(
    _pp_source_problem(origin),
    _pp_names_problem(names),
    CASE WHEN len(names) NOT BETWEEN 1 AND 4
         THEN 'columns names ' || len(names) || ' columns, and one to four can be reconstructed together. Name one to four columns.'
         WHEN list_has_any(list_transform(names, lambda nm: lower(nm)), ['observed', 'estimate', 'std_error', 'lower', 'upper', 'count'])
         THEN 'a column is called like a column of the result (observed, estimate, std_error, lower, upper, count).'
              || ' Rename it by giving tbl as (SELECT old AS new FROM ...).'
         WHEN len(keep) <> len(names)
         THEN 'p holds ' || len(keep) || ' numbers for ' || len(names)
              || ' columns. Give one number for all columns, or a list with one number per column.'
         WHEN len(list_filter(keep, lambda part: part IS NULL OR NOT (part > 0 AND part <= 1))) > 0
         THEN 'p must be greater than 0 and at most 1. Give the probability with which a value was kept, 1 for a column that was not randomized.'
         WHEN confidence IS NULL OR NOT (confidence > 0 AND confidence < 1)
         THEN 'confidence must lie strictly between 0 and 1. Give it as a share, such as 0.95.' END);

CREATE OR REPLACE MACRO _pp_axes(size, prefix) AS
  -- No lambda here, because it is used inside one: a lambda in a lambda loses sight of the outer variable.
  substr(replace('?1, ?2, ?3, ?4', '?', prefix), 1, 4 * size - 2);

CREATE OR REPLACE MACRO _pp_refusals(names) AS
  -- These rules need the levels, so they become part of the query instead of being checked before it.
  'CASE WHEN n = 0 THEN error(''rr_reconstruct: there are no rows in which every column has a value. Check tbl and its filter.'')'
  || array_to_string(list_transform(names, lambda nm, k:
       ' WHEN keep[' || k || '] < 1 AND len(l' || k || ') = 1 THEN error(''rr_reconstruct: column '' || '
       || _pp_literal(_pp_ident(nm))
       || ' || '' has a single level, which leaves nothing to randomize into. Use p = 1 for it or leave it out.'')'
       || ' WHEN keep[' || k || '] < 1 AND abs(keep[' || k || '] - 1e0 / len(l' || k || ')) < 1e-9 THEN error(''rr_reconstruct: p = '' || keep['
       || k || '] || '' is 1 / the number of levels of column '' || ' || _pp_literal(_pp_ident(nm))
       || ' || '', so the published values carry no information. Publish with another p.'')'), '')
  || ' ELSE l1 END';

CREATE OR REPLACE MACRO _pp_unfold(size) AS
  -- One unnest inside the other: the cross of the levels grows from a single row, which no plan can skip.
  array_to_string(list_transform(range(size, 0, -1), lambda k: '(SELECT *, unnest(l' || k || ') AS x' || k || ' FROM '), '')
  || '_pp_checked' || repeat(')', size);

CREATE OR REPLACE MACRO _pp_step(k, size) AS
  -- One factor of the inverse along one axis, and the elementwise square of that factor.
  -- The sums are ordered, so that the last digits do not change from run to run.
  replace(', _pp_step# AS (SELECT * REPLACE ((v - q# * sum(v) OVER axis) / a# AS v,'
          || ' ((1 - 2 * q#) * w + q# * q# * sum(w) OVER axis) / (a# * a#) AS w) FROM _pp_step', '#', CAST(k AS VARCHAR))
  || (k - 1) || ' WINDOW axis AS (PARTITION BY ' || replace(_pp_axes(size, 'x'), 'x' || k, 'NULL')
  || ' ORDER BY x' || k || ' ASC ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING))';

CREATE OR REPLACE MACRO _pp_reconstruct(origin, names, keep, z) AS
  'WITH _pp_seen AS (' || _pp_cells(origin, names) || '), _pp_levels AS (SELECT CAST(coalesce(sum(cell), 0) AS DOUBLE) AS n, '
  || array_to_string(list_transform(names, lambda nm, k: 'list(DISTINCT x' || k || ') AS l' || k), ', ')
  || ', CAST(''' || CAST(keep AS VARCHAR) || ''' AS DOUBLE[]) AS keep, CAST(''' || z || ''' AS DOUBLE) AS z FROM _pp_seen), '
  || '_pp_checked AS (SELECT * REPLACE (' || _pp_refusals(names) || ' AS l1), '
  || array_to_string(list_transform(names, lambda nm, k: replace(
       'CASE WHEN keep[#] < 1 THEN (1 - keep[#]) / (len(l#) - 1) ELSE 0 END AS q#, keep[#] - q# AS a#', '#', CAST(k AS VARCHAR))), ', ')
  || ' FROM _pp_levels), _pp_step0 AS (SELECT ' || _pp_axes(len(names), 'x') || ', n, z, '
  || _pp_axes(len(names), 'q') || ', ' || _pp_axes(len(names), 'a')
  || ', coalesce(cell, 0) / n AS observed, observed AS v, observed AS w FROM '
  || _pp_unfold(len(names)) || ' LEFT JOIN _pp_seen USING (' || _pp_axes(len(names), 'x') || '))'
  || array_to_string(list_transform(names, lambda nm, k: _pp_step(k, len(names))), '')
  || ', _pp_done AS (SELECT *, sqrt(greatest(w - v * v, 0) / nullif(n - 1, 0)) AS se FROM _pp_step' || len(names)
  || ') SELECT ' || array_to_string(list_transform(names, lambda nm, k: 'x' || k || ' AS ' || _pp_ident(nm)), ', ')
  || ', v AS estimate, se AS std_error, v - z * se AS lower, v + z * se AS upper, observed, n * v AS count FROM _pp_done ORDER BY '
  -- Qualified, because ORDER BY would take a user's column called x1 for the internal one.
  || array_to_string(list_transform(names, lambda nm, k: '_pp_done.x' || k || ' ASC'), ', ');

CREATE OR REPLACE MACRO rr_reconstruct(tbl, columns, p, confidence := 0.95) AS TABLE
  FROM query(_pp_sql('rr_reconstruct',
    _pp_reconstruct_problem(CAST(tbl AS VARCHAR), _pp_names(columns), _pp_keep(p, len(_pp_names(columns))), CAST(confidence AS DOUBLE)),
    _pp_reconstruct(CAST(tbl AS VARCHAR), _pp_names(columns),
                    _pp_keep(p, len(_pp_names(columns))), _pp_normal_quantile((1 + CAST(confidence AS DOUBLE)) / 2))));

CREATE OR REPLACE MACRO rr_privacy(p, levels, rho1 := 0.05) AS TABLE
  WITH given AS (
    SELECT TRY_CAST(p AS DOUBLE) AS kept, TRY_CAST(levels AS DOUBLE) AS d, TRY_CAST(rho1 AS DOUBLE) AS prior
  ),
  spread AS (SELECT *, (1 - kept) / nullif(d - 1, 0) AS moved FROM given),
  amplified AS (SELECT *, greatest(_pp_ratio(kept, moved), _pp_ratio(moved, kept)) AS gamma FROM spread),
  listed AS (
    SELECT unnest(
      CASE WHEN kept IS NULL OR NOT (kept > 0 AND kept <= 1)
           THEN error('rr_privacy: p must be greater than 0 and at most 1. Give the probability with which a value is kept.')
           WHEN d IS NULL OR NOT (d >= 2) OR isinf(d) OR d <> floor(d)
           THEN error('rr_privacy: levels must be a whole number of at least 2. Give the number of values the attribute can take.')
           WHEN prior IS NULL OR NOT (prior > 0 AND prior < 1)
           THEN error('rr_privacy: rho1 must lie strictly between 0 and 1. Give the prior probability from which belief may rise.')
           ELSE [
             {measure: 'keep', value: kept,
              meaning: 'The largest probability with which a level is published unchanged: high is bad for privacy.'},
             {measure: 'gamma', value: gamma,
              meaning: 'The most that one published value can shift the odds between two true values: high is bad for privacy, 1 is best.'},
             {measure: 'epsilon', value: CASE WHEN isinf(gamma) THEN gamma ELSE ln(gamma) END,
              meaning: 'The local differential privacy budget, the logarithm of gamma: high is bad for privacy, 0 is best.'},
             {measure: 'jeopardy', value: gamma,
              meaning: 'The largest ratio of the chances of an answer from holders and from others: high is bad for the respondent, 1 is best.'},
             {measure: 'posterior_upper', value: CASE WHEN isinf(gamma) THEN 1 ELSE gamma * prior / (1 + (gamma - 1) * prior) END,
              meaning: 'The most that a belief of rho1 can rise to after publication: far above rho1 is bad for privacy.'},
             {measure: 'posterior_lower', value: CASE WHEN isinf(gamma) THEN 0 ELSE prior / (prior + gamma * (1 - prior)) END,
              meaning: 'The least that a belief of rho1 can fall to after publication: far below rho1 is bad for privacy.'},
             {measure: 'reconstruction', value: kept * kept + (d - 1) * moved * moved,
              meaning: 'The chance of drawing the true value back from the published one, levels equally common: high is bad for privacy.'},
             {measure: 'mask_privacy', value: 1 - kept * kept - (d - 1) * moved * moved,
              meaning: 'The share of values that are not reconstructed so: high is good for privacy.'},
             {measure: 'condition', value: CASE WHEN abs(kept - 1 / d) < 1e-9 THEN CAST('infinity' AS DOUBLE) ELSE 1 / abs(kept - moved) END,
              meaning: 'How much estimates from the release magnify sampling error: high is bad for accuracy, 1 is best.'}
           ] END) AS line
    FROM amplified
  )
  SELECT '1' AS attribute, line.measure AS measure, CAST(line.value AS DOUBLE) AS value, line.meaning AS meaning FROM listed;

CREATE OR REPLACE MACRO _pp_number(given) AS
  -- Read from its text, so that whatever is no number becomes NULL and is refused in words.
  TRY_CAST(CAST(given AS VARCHAR) AS DOUBLE);

CREATE OR REPLACE MACRO _pp_quoted_number(given) AS
  'CAST(' || coalesce(_pp_literal(CAST(given AS VARCHAR)), 'NULL') || ' AS DOUBLE)';

CREATE OR REPLACE MACRO _pp_is_whole(given) AS
  coalesce(_pp_number(given) >= 1 AND isfinite(_pp_number(given))
           AND _pp_number(given) = floor(_pp_number(given)), false);

CREATE OR REPLACE MACRO _pp_quasi_problem(origin, names) AS
  coalesce(_pp_source_problem(origin), _pp_names_problem(names, parameter := 'qi'),
           CASE WHEN len(names) = 0
                THEN 'qi names no column. Name the columns by which somebody could be recognized.' END);

CREATE OR REPLACE MACRO _pp_sensitive_problem(sensitive, kind, names) AS
  CASE WHEN sensitive IS NULL OR sensitive = '' OR kind <> 'VARCHAR'
       THEN 'sensitive must be the name of one column. Name the column that must not be learned.'
       WHEN list_contains(list_transform(names, lambda nm: lower(nm)), lower(sensitive))
       THEN 'sensitive is also in qi, so every group has a single value of it.'
            || ' Leave it out of qi or choose another column.' END;

CREATE OR REPLACE MACRO _pp_one_row(caller, line, origin) AS
  -- One row in a list, because an error beside columns that nobody selects would be left out with them.
  'SELECT unnest(CASE WHEN groups = 0 THEN error('
  || _pp_literal(caller || ': tbl has no rows. Check tbl and its filter.')
  || ') ELSE [{' || line || '}] END, max_depth := 2) FROM ' || origin;

CREATE OR REPLACE MACRO _pp_k_anonymity(origin, names, wanted) AS
  'WITH _pp_seen AS (' || _pp_counts(origin, names, '') || '), _pp_summed AS (SELECT min(cell) AS smallest,'
  || ' CAST(sum(cell) AS BIGINT) AS n, count(*) AS groups, count(*) FILTER (cell = 1) AS single, '
  || CASE WHEN wanted IS NULL THEN 'CAST(NULL AS BIGINT)'
          ELSE 'CAST(coalesce(sum(cell) FILTER (cell < ' || _pp_quoted_number(wanted) || '), 0) AS BIGINT)' END
  || ' AS below FROM _pp_seen) '
  || _pp_one_row('k_anonymity',
       'k: smallest, passed: below = 0, "rows": n, groups: groups, mean_size: n / CAST(groups AS DOUBLE), unique_rows: single,'
       || ' highest_risk: 1e0 / smallest, mean_risk: groups / CAST(n AS DOUBLE),'
       || ' rows_below: below, direction: ''higher is safer''', '_pp_summed');

CREATE OR REPLACE MACRO k_anonymity(tbl, qi, k := NULL) AS TABLE
  -- Rows that are equal in all of qi form a group, and NULL is a value like others.
  FROM query(_pp_sql('k_anonymity',
    coalesce(_pp_quasi_problem(CAST(tbl AS VARCHAR), _pp_names(qi)),
             CASE WHEN k IS NOT NULL AND NOT _pp_is_whole(k)
                  THEN 'k must be a whole number of at least 1.'
                       || ' Give the size that no group may fall below, or leave k out.' END),
    _pp_k_anonymity(CAST(tbl AS VARCHAR), _pp_names(qi), CAST(k AS VARCHAR))));

CREATE OR REPLACE MACRO _pp_keys(size) AS
  array_to_string(list_transform(range(1, size + 1), lambda axis: 'x' || axis), ', ');

CREATE OR REPLACE MACRO _pp_rarest(wanted) AS
  -- The rows of a group without those of its wanted - 1 most frequent values.
  CASE WHEN wanted = 1 THEN 'sum(cell)'
       WHEN wanted = 2 THEN 'sum(cell) - max(cell)'
       ELSE 'coalesce(list_sum(list_reverse_sort(list(cell))[' || CAST(least(wanted, 1e15) AS BIGINT) || ':]), 0)' END;

CREATE OR REPLACE MACRO _pp_l_diversity(origin, names, sensitive, wanted, factor) AS
  'WITH _pp_seen AS (' || _pp_counts(origin, list_concat(names, [sensitive]), '') || '), _pp_groups AS ('
  || 'SELECT CAST(sum(cell) AS DOUBLE) AS n, count(*) AS levels, CAST(max(cell) AS DOUBLE) AS most, '
  || _pp_rarest(wanted) || ' AS rest, exp(ln(sum(cell)) - fsum(cell * ln(cell)) / sum(cell)) AS spread'
  || ' FROM _pp_seen GROUP BY ' || _pp_keys(len(names))
  || '), _pp_summed AS (SELECT CAST(sum(n) AS BIGINT) AS n, count(*) AS groups, min(levels) AS fewest,'
  || ' min(spread) AS spread, min(n / most) AS frequency,'
  || ' max(CASE WHEN rest > 0 THEN most / rest ELSE CAST(''infinity'' AS DOUBLE) END) AS skew,'
  || ' CAST(coalesce(sum(n) FILTER (levels = 1), 0) AS BIGINT) AS alike FROM _pp_groups), '
  -- A rounding error must not keep equally frequent values from being as diverse as they are many.
  || '_pp_rounded AS (SELECT * REPLACE (CASE WHEN abs(spread - round(spread)) <= 1e-9 * spread THEN round(spread)'
  || ' ELSE spread END AS spread), ' || _pp_quoted_number(wanted) || ' AS wanted, ' || _pp_quoted_number(factor)
  || ' AS factor FROM _pp_summed) '
  || _pp_one_row('l_diversity',
       'passed_distinct: fewest >= wanted, distinct_l: fewest, passed_entropy: spread >= wanted, entropy_l: spread,'
       || ' passed_frequency: frequency >= wanted - 1e-9, frequency_l: frequency,'
       || ' passed_recursive: skew < factor, recursive_c: skew,'
       || ' "rows": n, groups: groups, homogeneous_rows: alike', '_pp_rounded');

CREATE OR REPLACE MACRO l_diversity(tbl, qi, sensitive, l := 2, c := NULL) AS TABLE
  -- recursive_c is the smallest c of r1 <= c (rl + ... + rm) in every group. The definition has < in place of <=,
  -- so recursive (c, l)-diversity needs a c above it. It is infinite where a group has fewer than l values.
  FROM query(_pp_sql('l_diversity',
    coalesce(_pp_quasi_problem(CAST(tbl AS VARCHAR), _pp_names(qi)),
             _pp_sensitive_problem(CAST(sensitive AS VARCHAR), typeof(sensitive), _pp_names(qi)),
             CASE WHEN NOT _pp_is_whole(l)
                  THEN 'l must be a whole number of at least 1. Give the number of values that every group should have.'
                  WHEN c IS NOT NULL AND NOT coalesce(_pp_number(c) > 0 AND isfinite(_pp_number(c)), false)
                  THEN 'c must be a number above 0.'
                       || ' Give the factor of recursive (c, l)-diversity, or leave c out.' END),
    _pp_l_diversity(CAST(tbl AS VARCHAR), _pp_names(qi), CAST(sensitive AS VARCHAR), _pp_number(l), _pp_number(c))));

CREATE OR REPLACE MACRO _pp_unordered(keys, sensitive) AS
  -- Half the sum of |p - q| is the sum of p - q where p is larger, so the levels that a group lacks are never met.
  '_pp_ranked AS (SELECT level, q, sum(q) OVER () AS total FROM _pp_levels), _pp_placed AS (SELECT ' || keys
  || ', cell, CAST(sum(cell) OVER (PARTITION BY ' || keys || ') AS DOUBLE) AS n, q, total'
  || ' FROM _pp_seen JOIN _pp_ranked ON ' || sensitive || ' IS NOT DISTINCT FROM level),'
  || ' _pp_groups AS (SELECT any_value(n) AS n, fsum(greatest(cell / n - q / total, 0)) AS distance'
  || ' FROM _pp_placed GROUP BY ' || keys || '), ';

CREATE OR REPLACE MACRO _pp_ordered(keys, sensitive) AS
  -- From a level that a group has to the next one, p stays as it is, and only q moves on along the levels between:
  -- upto adds up q, and area adds up upto. Where upto passes p the difference changes its sign, so that level is
  -- looked up, and groups x levels are never built.
  -- NULL has no place in the order and comes last.
  '_pp_ranks AS (SELECT level, CAST(row_number() OVER upwards AS DOUBLE) AS i, sum(q) OVER upwards AS upto,'
  || ' sum(q) OVER () AS total, CAST(count(*) OVER () AS DOUBLE) AS m FROM _pp_levels'
  || ' WINDOW upwards AS (ORDER BY level ASC NULLS LAST ROWS UNBOUNDED PRECEDING)),'
  || ' _pp_areas AS (SELECT *, sum(upto) OVER (ORDER BY i ASC ROWS UNBOUNDED PRECEDING) AS area FROM _pp_ranks),'
  || ' _pp_ranked AS (SELECT *, area - upto AS before, max(area) OVER () AS whole, upto / total AS share'
  || ' FROM _pp_areas), '
  || replace(
       '_pp_cumulated AS (SELECT #, i, before, total, m, CAST(sum(cell) OVER (PARTITION BY #) AS DOUBLE) AS n,'
       || ' sum(cell) OVER upwards AS p, lag(i) OVER upwards IS NULL AS first,'
       || ' coalesce(lead(i) OVER upwards - 1, m) AS last, coalesce(lead(before) OVER upwards, whole) AS after'
       || ' FROM _pp_seen JOIN _pp_ranked ON ' || sensitive || ' IS NOT DISTINCT FROM level'
       || ' WINDOW upwards AS (PARTITION BY # ORDER BY i ASC ROWS UNBOUNDED PRECEDING)),'
       || ' _pp_shares AS (SELECT * REPLACE (p / n AS p) FROM _pp_cumulated),'
       || ' _pp_placed AS (SELECT s.*, greatest(least(coalesce(r.i, 0), last), s.i - 1) AS turn,'
       || ' greatest(least(coalesce(r.area, 0), after), s.before) AS turned FROM _pp_shares AS s'
       || ' ASOF LEFT JOIN _pp_ranked AS r ON s.p >= r.share),'
       || ' _pp_groups AS (SELECT any_value(n) AS n, CASE WHEN any_value(m) > 1 THEN'
       || ' greatest(fsum(p * (2 * turn - i + 1 - last) - (2 * turned - before - after) / total'
       || ' + CASE WHEN first THEN before / total ELSE 0 END), 0) / (any_value(m) - 1) ELSE 0 END AS distance'
       || ' FROM _pp_placed GROUP BY #), ', '#', keys);

CREATE OR REPLACE MACRO _pp_t_closeness(origin, names, sensitive, in_order) AS
  'WITH _pp_seen AS (' || _pp_counts(origin, list_concat(names, [sensitive]), '') || '), _pp_levels AS (SELECT x'
  || (len(names) + 1) || ' AS level, CAST(sum(cell) AS DOUBLE) AS q FROM _pp_seen GROUP BY ALL), '
  || CASE WHEN in_order THEN _pp_ordered(_pp_keys(len(names)), 'x' || (len(names) + 1))
          ELSE _pp_unordered(_pp_keys(len(names)), 'x' || (len(names) + 1)) END
  || '_pp_summed AS (SELECT max(distance) AS farthest, fsum(distance * n) / sum(n) AS mean,'
  || ' CAST(sum(n) AS BIGINT) AS n, count(*) AS groups FROM _pp_groups) '
  || _pp_one_row('t_closeness', 't: farthest, mean_t: mean, "rows": n, groups: groups, measure: '
       || CASE WHEN in_order THEN '''ordered''' ELSE '''variational''' END || ', direction: ''lower is safer''', '_pp_summed');

CREATE OR REPLACE MACRO t_closeness(tbl, qi, sensitive, ordered := false) AS TABLE
  FROM query(_pp_sql('t_closeness',
    coalesce(_pp_quasi_problem(CAST(tbl AS VARCHAR), _pp_names(qi)),
             _pp_sensitive_problem(CAST(sensitive AS VARCHAR), typeof(sensitive), _pp_names(qi)),
             CASE WHEN TRY_CAST(CAST(ordered AS VARCHAR) AS BOOLEAN) IS NULL
                  THEN 'ordered must be true or false. Say whether the levels of sensitive have an order.' END),
    _pp_t_closeness(CAST(tbl AS VARCHAR), _pp_names(qi), CAST(sensitive AS VARCHAR),
                    TRY_CAST(CAST(ordered AS VARCHAR) AS BOOLEAN))));

-- Exact masking, egadp_plain: means and covariances of conf and nonconf stay as they are, and given nonconf the masked
-- values tell nothing about conf by any linear prediction (EGADP, by Muralidhar & Sarathy 2005). conf and nonconf are up
-- to five numeric columns each, and nonconf is none by default. The other columns come out as they are.
-- The secret keys the noise: with it the noise can be computed, and from that the original values. Written into a query
-- it stands in its text, and so in histories, logs and error messages. getenv('PPDUCK_SECRET') of DuckDB's shell, or
-- getvariable('secret') after SET VARIABLE, keeps it out of the query.

CREATE OR REPLACE MACRO _pp_names_or_one(columns) AS
  CASE WHEN typeof(columns) = 'VARCHAR' THEN [CAST(columns AS VARCHAR)] ELSE TRY_CAST(columns AS VARCHAR[]) END;

CREATE OR REPLACE MACRO _pp_sorted(columns) AS
  -- Two ways to write one release must not have noise of their own: neither the order nor the case of the names counts,
  -- nor does a setting for sorting, which bytes in a given order do not follow.
  list_transform(list_sort(list_transform(_pp_names_or_one(columns), lambda nm: encode(lower(nm) || chr(0) || nm)), 'ASC', 'NULLS LAST'),
                 lambda folded: string_split(decode(folded), chr(0))[2]);

CREATE OR REPLACE MACRO _pp_joined(texts) AS
  -- With their lengths, so that no two lists of texts give the same text.
  array_to_string(list_transform(texts, lambda part: length(part) || ':' || part), ',');

CREATE OR REPLACE MACRO _pp_repeat(pattern, size) AS
  -- The pattern once for each of 1, 2, ..., size, which takes the place of #.
  array_to_string(list_transform(range(1, size + 1), lambda place: replace(pattern, '#', CAST(place AS VARCHAR))), ', ');

CREATE OR REPLACE MACRO _pp_key_problem(keys) AS
  coalesce(
    CASE WHEN keys IS NULL OR len(keys) = 0
         THEN 'key is missing. Name the column or columns that identify a row, or ''rowid'' for a table without.' END,
    _pp_names_problem(keys, parameter := 'key'));

CREATE OR REPLACE MACRO _pp_secret_problem(secret, kind) AS
  CASE WHEN coalesce(trim(secret), '') = '' OR kind <> 'VARCHAR'
       THEN 'secret is missing. Give a text of 16 characters or more that nobody can guess, and keep it.'
       WHEN length(trim(secret)) < 16
       THEN 'secret has only ' || length(trim(secret)) || ' characters. Give 16 or more that nobody can guess, and keep them.' END;

CREATE OR REPLACE MACRO _pp_text_of(nm) AS
  -- The text of a point in time, but not its number, depends on the time zone of the reader.
  replace('CASE typeof(#) WHEN ''TIMESTAMP WITH TIME ZONE'''
          || ' THEN CAST(epoch_us(TRY_CAST(CAST(# AS VARCHAR) AS TIMESTAMPTZ)) AS VARCHAR) ELSE CAST(# AS VARCHAR) END',
          '#', '_pp_given.' || _pp_ident(nm));

CREATE OR REPLACE MACRO _pp_key_of(keys) AS
  array_to_string(list_transform(keys, lambda nm: 'length(' || _pp_text_of(nm) || ') || '':'' || ' || _pp_text_of(nm)), ' || '','' || ');

CREATE OR REPLACE MACRO _pp_key_refusals(caller) AS
  ' WHEN keyed < n THEN error(''' || caller || ': key is NULL in '' || (n - keyed) || '' of '' || n || '' rows. Every row needs a key.'')'
  || ' WHEN keys < n THEN error(''' || caller || ': key is not unique: '' || n || '' rows have '' || keys'
  || ' || '' keys, and rows of one key would share their noise. Name columns that identify a row.'')';

CREATE OR REPLACE MACRO _pp_egadp_problem(origin, conf, open, keys, secret, kind) AS
  coalesce(
    _pp_source_problem(origin),
    _pp_names_problem(conf, parameter := 'conf'),
    _pp_names_problem(open, parameter := 'nonconf'),
    CASE WHEN len(conf) NOT BETWEEN 1 AND 5
         THEN 'conf names ' || len(conf) || ' columns, and one to five can be masked here. Name one to five, or use egadp_mask of ppduck.'
         WHEN len(open) > 5
         THEN 'nonconf names ' || len(open) || ' columns, and five at most can be used here. Name fewer, or use egadp_mask of ppduck.'
         WHEN list_has_any(list_transform(conf, lambda nm: lower(nm)), list_transform(open, lambda nm: lower(nm)))
         THEN 'a column is in conf and in nonconf. Leave it out of one of them.' END,
    _pp_key_problem(keys),
    _pp_secret_problem(secret, kind));

CREATE OR REPLACE MACRO _pp_egadp_rows(origin, names, keys) AS
  -- Internal columns come first: a column of the user's that is called like one is renamed, and not taken for it.
  'SELECT ' || _pp_key_of(keys) || ' AS _pp_key, '
  -- A cast that fails would print the value.
  || array_to_string(list_transform(names, lambda nm, k: 'TRY_CAST(_pp_given.' || _pp_ident(nm) || ' AS DOUBLE) AS _pp_x' || k), ', ')
  || ', _pp_given.* FROM ' || _pp_source(origin) || ' AS _pp_given';

CREATE OR REPLACE MACRO _pp_egadp_first(names) AS
  'SELECT count(*) AS n, count(_pp_key) AS keyed, count(DISTINCT _pp_key) AS keys, ['
  || array_to_string(list_transform(names, lambda nm: 'any_value(typeof(' || _pp_ident(nm) || '))'), ', ') || '] AS kinds, ['
  || array_to_string(list_transform(names, lambda nm: 'count(' || _pp_ident(nm) || ')'), ', ') || '] AS present, ['
  || _pp_repeat('count(*) FILTER (isfinite(_pp_x#))', len(names)) || '] AS finite, ['
  || _pp_repeat('avg(_pp_x#) FILTER (isfinite(_pp_x#))', len(names)) || '] AS centre, ['
  || _pp_repeat('stddev_samp(_pp_x#) FILTER (isfinite(_pp_x#))', len(names)) || '] AS spread, bit_xor(hash(_pp_key, '
  || _pp_repeat('_pp_x#', len(names)) || ')) AS digest FROM _pp_rows';

CREATE OR REPLACE MACRO _pp_egadp_refusals(names, fewest, p) AS
  'WHEN n < ' || fewest || ' THEN error(''egadp_plain: '' || n || '' rows are too few. With these columns at least '
  || fewest || ' are needed.'')'
  || array_to_string(list_transform(names, lambda nm, k: replace(replace(
       ' WHEN NOT regexp_matches(kinds[#], ''^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*)$'')'
       || ' THEN error(''egadp_plain: column '' || ~ || '' is of type '' || kinds[#] || '', and only numbers can be used. Leave it out.'')'
       || ' WHEN present[#] < n THEN error(''egadp_plain: column '' || ~ || '' is NULL in '' || (n - present[#]) || '' of '' || n'
       || ' || '' rows. Leave these rows out by giving tbl as (SELECT * FROM ... WHERE ... IS NOT NULL).'')'
       || ' WHEN finite[#] < n THEN error(''egadp_plain: column '' || ~ || '' holds NaN or infinity. Leave these rows out.'')'
       || ' WHEN NOT spread[#] > 0 THEN error(''egadp_plain: column '' || ~ || '' is constant. Leave it out.'')'
       -- Doubles lie so far apart at the mean that rounding, at five standard errors, moves a variance by more than 1e-9.
       || CASE WHEN k <= p THEN ''
               ELSE ' WHEN 10e0 * pow(2e0, floor(log2(abs(centre[#]) + 6 * spread[#])) - 52) > 1e-9 * sqrt(12e0 * n) * spread[#]'
                    || ' THEN error(''egadp_plain: conf column '' || ~ || '' lies so far from 0 beside its spread that numbers of type DOUBLE'
                    || ' cannot keep its moments to 1e-9. Subtract an offset first, a round number near its mean, in a SELECT.'')' END,
       '#', CAST(k AS VARCHAR)), '~', _pp_literal(_pp_ident(nm)))), '')
  || _pp_key_refusals('egadp_plain');

CREATE OR REPLACE MACRO _pp_egadp_noisy(p, q) AS
  -- Numbers in units of their standard deviation. A hash gives two numbers of 52 bits inside (0, 1), and these two
  -- normals by Box and Muller's transform: one for each of two columns.
  'SELECT ' || _pp_repeat('(_pp_x# - _pp_m#) / _pp_d# AS _pp_z#', p + q) || ', '
  || array_to_string(list_transform(range(1, q + 1), lambda place: replace(
       'sqrt(-2 * ln((CAST(''0x'' || substr(#, 1, 13) AS BIGINT) + 0.5e0) / 4503599627370496)) * '
       || CASE WHEN place % 2 = 1 THEN 'cos(' ELSE 'sin(' END
       || '2 * pi() * (CAST(''0x'' || substr(#, 14, 13) AS BIGINT) + 0.5e0) / 4503599627370496) AS _pp_z' || (p + q + place),
       '#', '_pp_h' || (place + 1) // 2)), ', ')
  || ', * EXCLUDE (_pp_tweak, _pp_n, _pp_key, ' || _pp_repeat('_pp_x#, _pp_m#, _pp_d#', p + q) || ', '
  || _pp_repeat('_pp_h#', (q + 1) // 2) || ') FROM (SELECT '
  || _pp_repeat('sha256(_pp_tweak || ''#:'' || _pp_key) AS _pp_h#', (q + 1) // 2) || ', * FROM _pp_checked, _pp_rows)';

CREATE OR REPLACE MACRO _pp_egadp_moments(size) AS
  -- The covariances of all columns, row by row, and behind each row one of the identity.
  'SELECT [' || _pp_repeat('avg(_pp_z#)', size) || '] AS means, [' || _pp_repeat('max(abs(_pp_z#))', size) || '] AS peaks, ['
  || array_to_string(list_transform(range(2 * size * size), lambda place:
       CASE WHEN place % (2 * size) < size
            THEN 'covar_samp(_pp_z' || (1 + least(place // (2 * size), place % (2 * size)))
                 || ', _pp_z' || (1 + greatest(place // (2 * size), place % (2 * size))) || ')'
            WHEN place % (2 * size) - size = place // (2 * size) THEN '1e0' ELSE '0e0' END), ', ')
  || '] AS a FROM _pp_noisy';

CREATE OR REPLACE MACRO _pp_egadp_solve(p, q) AS
  -- Elimination takes the columns [S, X, V] apart into orthogonal directions, one for each column: in a, the row of a
  -- direction says how much of it every column has and, behind that, of which columns it is made. A masked column has
  -- the directions of S as X has them and, where X has its own, those of V, stretched to the same length.
  -- (It is the Cholesky factor of the covariance with the part of X in the place of that of V.)
  replace(replace(replace(replace(
    '_pp_eliminated(k, a) AS (SELECT 0, a FROM _pp_moments UNION ALL SELECT k + 1, list_transform(range(@size * @width), lambda c:'
    || ' a[c + 1] - CASE WHEN c // @width > k'
    || ' THEN a[c // @width * @width + k + 1] / a[k * @width + k + 1] * a[k * @width + c % @width + 1] ELSE 0 END)'
    || ' FROM _pp_eliminated WHERE k < @size - 1), '
    || '_pp_factor AS (SELECT a, list_transform(range(@size), lambda c: a[c * @width + c + 1]) AS pivots'
    || ' FROM _pp_eliminated WHERE k = @size - 1), '
    || '_pp_terms AS (SELECT j, t, sum(a[i * @width + @p + j + 1] / pivots[i + 1] * CASE WHEN i < @p THEN a[i * @width + @size + t + 1]'
    || ' ELSE sqrt(greatest(pivots[i + 1] / pivots[i + @q + 1], 0)) * a[(i + @q) * @width + @size + t + 1] END) AS weight'
    || ' FROM _pp_factor, range(@q) AS of_conf(j), range(@size) AS of_columns(t), range(@p + @q) AS of_directions(i)'
    || ' WHERE i <= @p + j GROUP BY j, t), _pp_weights AS (SELECT list(weight ORDER BY j ASC, t ASC) AS b FROM _pp_terms)',
    '@size', CAST(p + 2 * q AS VARCHAR)), '@width', CAST(2 * (p + 2 * q) AS VARCHAR)), '@p', CAST(p AS VARCHAR)), '@q', CAST(q AS VARCHAR));

CREATE OR REPLACE MACRO _pp_egadp_axes(p, size) AS
  -- The directions of [S, X], p columns, in units in which squares are shares of leverage.
  CASE WHEN p < 2 THEN 'SELECT 1'
       ELSE 'SELECT ' || array_to_string(list_transform(range(p * p), lambda place: replace(replace(replace(
              '_pp_factor.a[@] / sqrt(greatest(pivots[#], 0) * (_pp_n - 1)) AS _pp_l~',
              '@', CAST(place // p * 2 * size + size + place % p + 1 AS VARCHAR)), '#', CAST(place // p + 1 AS VARCHAR)),
              '~', CAST(place + 1 AS VARCHAR))), ', ')
            || ', ' || _pp_repeat('means[#] AS _pp_e#', p) || ' FROM _pp_checked, _pp_moments, _pp_factor' END;

CREATE OR REPLACE MACRO _pp_egadp_apart(p) AS
  -- The largest leverage in the first column, in the first two, and so on: 1/n and the squares along their directions.
  CASE WHEN p < 2 THEN 'SELECT CAST([] AS DOUBLE[]) AS reach'
       ELSE 'SELECT [' || array_to_string(list_transform(range(1, p + 1), lambda k: 'max('
              || replace(array_to_string(string_split(_pp_repeat('_pp_o# * _pp_o#', p), ', ')[:k], ', '), ',', ' +') || ')'), ', ')
            || '] AS reach FROM (SELECT '
            || array_to_string(list_transform(range(p * p), lambda place:
                 CASE WHEN place % p > place // p THEN '' ELSE CASE WHEN place % p > 0 THEN ' + ' ELSE '' END
                   || '_pp_l' || (place + 1) || replace(' * (_pp_z# - _pp_e#)', '#', CAST(place % p + 1 AS VARCHAR)) END
                 || CASE WHEN place % p < p - 1 THEN '' ELSE ' AS _pp_o' || (place // p + 1) || CASE WHEN place < p * p - 1 THEN ', ' ELSE '' END END), '')
            || ' FROM _pp_noisy, _pp_axes)' END;

CREATE OR REPLACE MACRO _pp_egadp_unsolvable(names, p) AS
  -- A row is refused that makes up four fifths of a variance, or in several columns is four fifths of the way from three
  -- times the average leverage, (columns + 1)/n, to 1: the variance tells its size, and what is regressed on nonconf comes
  -- out near the original (as it does from 0.95 on however few rows there are).
  array_to_string(list_transform(names, lambda nm, k: replace(replace(
    'WHEN peaks[#] * peaks[#] / (_pp_n - 1) > 0.8e0 THEN error(''egadp_plain: '
    || CASE WHEN k <= p
            THEN 'a row lies so far out in nonconf column '' || ~ || '' that its masked values would be near its originals.'
                 || ' Leave the row or the column out.'') '
            ELSE 'a single row makes up more than 80 % of the variance of conf column '' || ~ || '', so that the release would tell'
                 || ' its size to about a tenth. Cut extreme values in a SELECT (top coding), or leave the row out.'') ' END
    || 'WHEN NOT coalesce(isfinite(pivots[#]) AND pivots[#] > 1e-6, false) THEN error(''egadp_plain: column '' || ~'
    || ' || '' is nearly a linear function of other columns that are named. Leave it or them out.'') ',
    '#', CAST(k AS VARCHAR)), '~', _pp_literal(_pp_ident(nm)))), '')
  || coalesce(array_to_string(list_transform(range(2, len(names) + 1), lambda k: replace(replace(
       'WHEN 1e0 / _pp_n + reach[#] > ' || replace(CASE WHEN k <= p THEN 'least(0.95e0, @)' ELSE 'CASE WHEN @ > 0.95e0 THEN 1e9 ELSE @ END' END,
              '@', '(0.8e0 + 0.2e0 * least(1, ' || 3 * (len(names) + 1) || ' / _pp_n))')
       || ' THEN error(''egadp_plain: a row stands apart ' || CASE WHEN k <= p THEN 'in nonconf ' ELSE '' END || 'by columns '' || ~'
       || ' || '' taken together, so that the release would tell its originals. Leave the row or one of the columns out.'') ',
       '#', CAST(k AS VARCHAR)), '~', _pp_literal(array_to_string(list_transform(names, lambda nm: _pp_ident(nm))[:k], ', ')))), ''), '')
  || 'WHEN NOT coalesce(list_min(pivots) > 1e-6, false) THEN error(''egadp_plain: '' || _pp_n'
  || ' || '' rows are too few for noise of their own. Give more rows or name fewer columns.'')';

CREATE OR REPLACE MACRO _pp_egadp_masked(conf, p, size) AS
  -- Column by column, term by term, one lambda for both, because one in the other loses sight of the outer variable.
  array_to_string(list_transform(range(len(conf) * size), lambda place:
    CASE WHEN place % size > 0 THEN ' + '
         ELSE replace('_pp_m# + _pp_d# * (_pp_e# + ', '#', CAST(p + 1 + place // size AS VARCHAR)) END
    || '_pp_b' || (place + 1) || replace(' * (_pp_z# - _pp_e#)', '#', CAST(place % size + 1 AS VARCHAR))
    || CASE WHEN place % size < size - 1 THEN ''
            ELSE ') AS ' || _pp_ident(conf[place // size + 1]) || CASE WHEN place < len(conf) * size - 1 THEN ', ' ELSE '' END END), '');

CREATE OR REPLACE MACRO _pp_egadp(origin, conf, open, keys, release, p, q) AS
  -- The source is read once, so that all that follows sees the same rows. The noise depends on them: from two releases
  -- that share noise it could be removed.
  'WITH RECURSIVE _pp_rows AS MATERIALIZED (' || _pp_egadp_rows(origin, list_concat(open, conf), keys)
  || '), _pp_first AS (' || _pp_egadp_first(list_concat(open, conf))
  || '), _pp_checked AS (SELECT CASE ' || _pp_egadp_refusals(list_concat(open, conf), p + 2 * q + 2, p)
  || ' ELSE sha256(' || _pp_literal(release) || ' || digest) END AS _pp_tweak, n AS _pp_n, '
  || _pp_repeat('centre[#] AS _pp_m#, spread[#] AS _pp_d#', p + q)
  || ' FROM _pp_first), _pp_noisy AS MATERIALIZED (' || _pp_egadp_noisy(p, q)
  || '), _pp_moments AS (' || _pp_egadp_moments(p + 2 * q) || '), ' || _pp_egadp_solve(p, q)
  || ', _pp_axes AS MATERIALIZED (' || _pp_egadp_axes(p + q, p + 2 * q) || '), _pp_apart AS (' || _pp_egadp_apart(p + q)
  || '), _pp_form AS (SELECT CASE ' || _pp_egadp_unsolvable(list_concat(open, conf), p) || ' ELSE true END AS _pp_solvable, _pp_tweak, '
  || _pp_repeat('_pp_m#, _pp_d#', p + q) || ', ' || _pp_repeat('means[#] AS _pp_e#', p + 2 * q) || ', '
  || _pp_repeat('b[#] AS _pp_b#', q * (p + 2 * q)) || ' FROM _pp_checked, _pp_moments, _pp_factor, _pp_weights, _pp_apart)'
  -- The first part has no rows, but the names of the columns as the source spells them.
  || ' SELECT _pp_noisy.* EXCLUDE (' || _pp_repeat('_pp_z#', p + 2 * q) || ') FROM _pp_noisy WHERE false'
  || ' UNION ALL SELECT _pp_noisy.* EXCLUDE (' || _pp_repeat('_pp_z#', p + 2 * q) || ') REPLACE (' || _pp_egadp_masked(conf, p, p + 2 * q)
  -- Conditions, because what nobody selects would be left out, and its errors with it.
  || ') FROM _pp_noisy, _pp_form WHERE length(_pp_tweak) = 64 AND _pp_solvable';

CREATE OR REPLACE MACRO _pp_egadp_release(origin, conf, open, keys, release, p, q) AS TABLE
  FROM query(_pp_egadp(origin, conf, open, keys, release, p, q));

CREATE OR REPLACE MACRO _pp_literals(texts) AS
  'CAST([' || array_to_string(list_transform(texts, lambda part: _pp_literal(part)), ', ') || '] AS VARCHAR[])';

CREATE OR REPLACE MACRO egadp_plain(tbl, conf, secret := NULL, key := NULL, nonconf := NULL) AS TABLE
  -- secret and key must be given, and NULL is there so that their absence is refused in words.
  -- The arguments go on as literals: as expressions they would be copied, and bound, wherever they are used.
  FROM query(_pp_sql('egadp_plain',
    _pp_egadp_problem(CAST(tbl AS VARCHAR), _pp_names_or_one(conf), CASE WHEN nonconf IS NULL THEN [] ELSE _pp_names_or_one(nonconf) END,
                      _pp_names_or_one(key), CAST(secret AS VARCHAR), typeof(secret)),
    'FROM _pp_egadp_release(' || _pp_literal(CAST(tbl AS VARCHAR)) || ', ' || _pp_literals(_pp_sorted(conf)) || ', '
    || coalesce(_pp_literals(_pp_sorted(nonconf)), 'CAST([] AS VARCHAR[])') || ', ' || _pp_literals(_pp_sorted(key)) || ', '''
    || sha256(_pp_joined([CAST(secret AS VARCHAR), lower(_pp_joined(_pp_sorted(conf))),
                          lower(coalesce(_pp_joined(_pp_sorted(nonconf)), ''))]))
    || ''', ' || coalesce(len(_pp_names_or_one(nonconf)), 0) || ', ' || len(_pp_names_or_one(conf)) || ')'));

-- Masks of single values. What is drawn for a value hangs on the secret, the column, the key of the row and, of
-- categories, on the value and the design, by HMAC-SHA-256, so that it is the same however often a view is read.

CREATE OR REPLACE MACRO _pp_padded(digits, pad) AS
  -- A key of 32 bytes as HMAC wants it: filled with zeros to a block of 64, and every byte XORed.
  lower(hex(CAST(xor(CAST(unhex(digits) AS BIT), CAST(unhex(repeat(pad, 32)) AS BIT)) AS BLOB))) || repeat(pad, 32);

CREATE OR REPLACE MACRO _pp_hmac(digits, message) AS
  -- HMAC-SHA-256 (RFC 2104) of an SQL expression, as SQL. The key stands on lines of its own, because an error repeats
  -- the line that it is about.
  'sha256(' || chr(10) || 'unhex(''' || _pp_padded(digits, '5c') || ''')' || chr(10) || '|| unhex(sha256('
  || chr(10) || 'unhex(''' || _pp_padded(digits, '36') || ''')' || chr(10) || '|| encode(' || message || '))))';

CREATE OR REPLACE MACRO _pp_complaint(condition, caller, nm, words) AS
  ' WHEN ' || condition || ' THEN error(''' || caller || ': column '' || ' || _pp_literal(_pp_ident(nm)) || ' || '' ' || words || ''')';

CREATE OR REPLACE MACRO _pp_released(listed, figures, refusals, handed, drawn, hidden, replaced, strange) AS
  -- The source is read once, so that all rows are looked at before one comes out. The first part of the answer has no
  -- rows, but the names of the columns as the source spells them. What is refused is a condition, because what nobody
  -- selects would be left out, and its errors with it.
  'WITH _pp_rows AS MATERIALIZED (' || listed || '), _pp_first AS (SELECT count(*) AS n, count(_pp_key) AS keyed,'
  || ' count(DISTINCT encode(_pp_key)) AS keys, ' || figures || ' FROM _pp_rows), _pp_checked AS (SELECT CASE' || refusals
  || ' ELSE true END AS _pp_sound' || handed || ' FROM _pp_first), _pp_drawn AS NOT MATERIALIZED (' || drawn
  || ') SELECT * EXCLUDE (_pp_key, _pp_sound, ' || hidden || ') FROM _pp_drawn WHERE false'
  || ' UNION ALL SELECT * EXCLUDE (_pp_key, _pp_sound, ' || hidden || ') REPLACE (' || replaced || ') FROM _pp_drawn WHERE _pp_sound' || strange;

CREATE OR REPLACE MACRO _pp_levels(levels) AS
  -- A list for each column, each in the order of its bytes: how levels are listed must not change what is drawn.
  list_transform(CASE WHEN ends_with(typeof(levels), '[][]') THEN TRY_CAST(CAST(levels AS VARCHAR) AS VARCHAR[][])
                      WHEN ends_with(typeof(levels), '[]') THEN [TRY_CAST(CAST(levels AS VARCHAR) AS VARCHAR[])] END,
                 lambda own: list_transform(list_sort(list_transform(own, lambda level: encode(level)), 'ASC', 'NULLS LAST'),
                                            lambda level: decode(level)));

CREATE OR REPLACE MACRO _pp_rr_problem(origin, names, keep, levels, keys, secret, kind) AS
  coalesce(
    _pp_source_problem(origin),
    _pp_names_problem(names, parameter := 'conf'),
    CASE WHEN len(names) = 0
         THEN 'conf is empty. Name the columns to randomize.'
         WHEN len(keep) <> len(names)
         THEN 'p holds ' || len(keep) || ' numbers for ' || len(names)
              || ' columns. Give one number for all columns, or a list with one number per column.'
         WHEN len(list_filter(keep, lambda part: part IS NULL OR NOT (part > 0 AND part < 1))) > 0
         THEN 'p must be a number above 0 and below 1. Give the probability with which a value is kept, and leave out of conf what is not to be randomized.'
         WHEN levels IS NULL OR len(levels) <> len(names)
         THEN 'levels must list all levels of each column. Write [''no'', ''yes''] for one column, and a list of such lists, in the order of conf, for several.'
         WHEN len(list_filter(levels, lambda own: own IS NULL OR len(list_filter(own, lambda level: level IS NULL)) > 0)) > 0
         THEN 'levels holds a NULL. NULL stays NULL and is no level.'
         WHEN len(list_filter(levels, lambda own: list_unique(list_transform(own, lambda level: encode(level))) < len(own))) > 0
         THEN 'levels names a level twice. Name each once.'
         WHEN len(list_filter(levels, lambda own: len(own) < 2)) > 0
         THEN 'levels has fewer than two levels for a column, which leaves nothing to randomize into. Name all, or leave the column out.' END,
    _pp_key_problem(keys),
    _pp_secret_problem(secret, kind));

CREATE OR REPLACE MACRO _pp_rr_keys(names, keep, levels, secret) AS
  -- One for each column: two designs never share draws, or the two releases would tell more than both of them ought to.
  list_transform(names, lambda nm, k: sha256(_pp_joined(['rr_plain', secret, lower(nm), CAST(keep[k] AS VARCHAR), _pp_joined(levels[k])])));

CREATE OR REPLACE MACRO _pp_rr_rows(origin, names, levels, keys) AS
  -- Levels are told apart by their bytes, which no setting for sorting folds.
  'SELECT ' || _pp_key_of(keys) || ' AS _pp_key, '
  || array_to_string(list_transform(names, lambda nm, k: 'nullif(list_position(['
       || array_to_string(list_transform(levels[k], lambda level: 'encode(' || _pp_literal(level) || ')'), ', ')
       || '], encode(CAST(_pp_given.' || _pp_ident(nm) || ' AS VARCHAR))), 0) AS _pp_place' || k), ', ')
  || ', _pp_given.* FROM ' || _pp_source(origin) || ' AS _pp_given';

CREATE OR REPLACE MACRO _pp_rr_drawn(keep, sizes, digests) AS
  -- 52 bits of a hash say whether a value is kept (0), and the next 52 which other level takes its place.
  'SELECT ' || array_to_string(list_transform(digests, lambda own, k: replace(replace(replace(replace(
       'CASE WHEN _pp_place# IS NULL OR CAST(''0x'' || substr(_pp_h#, 1, 13) AS BIGINT) < ? THEN 0'
       || ' ELSE (_pp_place# + CAST(''0x'' || substr(_pp_h#, 14, 13) AS BIGINT) % @) % ~ + 1 END AS _pp_other#',
       '#', CAST(k AS VARCHAR)), '@', CAST(sizes[k] - 1 AS VARCHAR)), '~', CAST(sizes[k] AS VARCHAR)),
       '?', CAST(CAST(round(keep[k] * 4503599627370496) AS BIGINT) AS VARCHAR))), ', ')
  || ', * FROM (SELECT '
  || array_to_string(list_transform(digests, lambda own, k: _pp_hmac(own, '_pp_place' || k || ' || '':'' || _pp_key') || ' AS _pp_h' || k), ', ')
  || ', * FROM _pp_rows, _pp_checked)';

CREATE OR REPLACE MACRO _pp_rr_written(own) AS
  array_to_string(list_transform(own, lambda level, j: ' WHEN ' || j || ' THEN ' || _pp_literal(level)), '') || ' END';

CREATE OR REPLACE MACRO _pp_rr_published(names, levels) AS
  -- A level stands beside the column as a text without a type, and takes the column's.
  list_transform(names, lambda nm, k: 'CASE _pp_other' || k || ' WHEN 0 THEN ' || _pp_ident(nm) || _pp_rr_written(levels[k]));

CREATE OR REPLACE MACRO _pp_rr_refusals(names, levels) AS
  array_to_string(list_transform(names, lambda nm, k:
    _pp_complaint('strangers[' || k || '] > 0', 'rr_plain', nm, 'holds values that are none of its ' || len(levels[k])
                  || ' levels, in '' || strangers[' || k || '] || '' of '' || n || '' rows. Give the whole domain in levels.')), '');

CREATE OR REPLACE MACRO _pp_rr_strange(names, levels, published) AS
  array_to_string(list_transform(names, lambda nm, k: ' AND CASE'
    || _pp_complaint('_pp_other' || k || ' > 0 AND encode(CAST(' || published[k] || ' AS VARCHAR)) <> encode(CASE _pp_other' || k || _pp_rr_written(levels[k]) || ')',
                     'rr_plain', nm, 'has a type that writes one of the levels otherwise. Write them as the column is written when it is cast to VARCHAR.')
    || ' ELSE true END'), '');

CREATE OR REPLACE MACRO _pp_rr(origin, names, keep, levels, keys, digests, published) AS
  _pp_released(_pp_rr_rows(origin, names, levels, keys),
    '[' || array_to_string(list_transform(names, lambda nm, k: 'count(' || _pp_ident(nm) || ') - count(_pp_place' || k || ')'), ', ') || '] AS strangers',
    _pp_key_refusals('rr_plain') || _pp_rr_refusals(names, levels), '', _pp_rr_drawn(keep, list_transform(levels, lambda own: len(own)), digests),
    _pp_repeat('_pp_place#, _pp_other#, _pp_h#', len(names)),
    array_to_string(list_transform(names, lambda nm, k: published[k] || ' AS ' || _pp_ident(nm)), ', '),
    _pp_rr_strange(names, levels, published));

CREATE OR REPLACE MACRO _pp_rr_release(origin, names, keep, levels, keys, digests) AS TABLE
  FROM query(_pp_rr(origin, names, keep, levels, keys, digests, _pp_rr_published(names, levels)));

CREATE OR REPLACE MACRO rr_plain(tbl, conf, p, levels, secret := NULL, key := NULL) AS TABLE
  -- What rr_mask of ppduck does (Warner 1965): a value is kept with p, else another level takes its place, each with
  -- the same chance. rr_reconstruct, told the same p, finds the table that was there before.
  FROM query(_pp_sql('rr_plain',
    _pp_rr_problem(CAST(tbl AS VARCHAR), _pp_names_or_one(conf), _pp_keep(p, len(_pp_names_or_one(conf))), _pp_levels(levels),
                   _pp_names_or_one(key), CAST(secret AS VARCHAR), typeof(secret)),
    'FROM _pp_rr_release(' || _pp_literal(CAST(tbl AS VARCHAR)) || ', ' || _pp_literals(_pp_names_or_one(conf)) || ', CAST('
    || _pp_literal(CAST(_pp_keep(p, len(_pp_names_or_one(conf))) AS VARCHAR)) || ' AS DOUBLE[]), ['
    || array_to_string(list_transform(_pp_levels(levels), lambda own: _pp_literals(own)), ', ') || '], ' || _pp_literals(_pp_sorted(key)) || ', ' || chr(10)
    || _pp_literals(_pp_rr_keys(_pp_names_or_one(conf), _pp_keep(p, len(_pp_names_or_one(conf))), _pp_levels(levels), CAST(secret AS VARCHAR)))
    || chr(10) || ')'));

CREATE OR REPLACE MACRO _pp_noise_problem(origin, names, level, keys, secret, kind) AS
  coalesce(
    _pp_source_problem(origin),
    _pp_names_problem(names, parameter := 'conf'),
    CASE WHEN len(names) = 0
         THEN 'conf is empty. Name the columns to mask.'
         WHEN len(level) <> len(names)
         THEN 'level holds ' || len(level) || ' numbers for ' || len(names)
              || ' columns. Give one number for all columns, or a list with one number per column.'
         WHEN len(list_filter(level, lambda part: part IS NULL OR NOT (part >= 1e-6 AND part <= 1e12))) > 0
         THEN 'level must be a number from 0.000001 to 1e12: with less the confidential values would pass through. Give the variance of the noise as a share of that of the column, such as 0.1.' END,
    _pp_key_problem(keys),
    _pp_secret_problem(secret, kind));

CREATE OR REPLACE MACRO _pp_noise_keys(names, level, secret) AS
  list_transform(names, lambda nm, k: sha256(_pp_joined(['noise_plain', secret, lower(nm), CAST(level[k] AS VARCHAR)])));

CREATE OR REPLACE MACRO _pp_noise_rows(origin, names, keys) AS
  'SELECT ' || _pp_key_of(keys) || ' AS _pp_key, '
  -- A cast that fails would print the value.
  || array_to_string(list_transform(names, lambda nm, k: 'TRY_CAST(_pp_given.' || _pp_ident(nm) || ' AS DOUBLE) AS _pp_x' || k), ', ')
  || ', _pp_given.* FROM ' || _pp_source(origin) || ' AS _pp_given';

CREATE OR REPLACE MACRO _pp_noise_figures(names, digests) AS
  -- Noise hangs on all values of its column and their keys: from two releases that share noise it could be removed.
  '[' || array_to_string(list_transform(names, lambda nm: 'any_value(typeof(' || _pp_ident(nm) || '))'), ', ') || '] AS kinds, ['
  || _pp_repeat('count(_pp_x#)', len(names)) || '] AS present, ['
  || _pp_repeat('count(*) FILTER (NOT isfinite(_pp_x#))', len(names)) || '] AS odd, ['
  || _pp_repeat('stddev_samp(_pp_x#) FILTER (isfinite(_pp_x#))', len(names)) || '] AS spread, ['
  || _pp_repeat('greatest(max(_pp_x#) - avg(_pp_x#) FILTER (isfinite(_pp_x#)), avg(_pp_x#) FILTER (isfinite(_pp_x#)) - min(_pp_x#))', len(names))
  || '] AS farthest, [' || array_to_string(list_transform(digests, lambda own, k: 'bit_xor(CAST(''0x'' || substr('
       || _pp_hmac(own, 'coalesce(CAST(_pp_x' || k || ' AS VARCHAR), '''') || '':'' || _pp_key') || ', 1, 16) AS UBIGINT))'), ', ') || '] AS digests';

CREATE OR REPLACE MACRO _pp_noise_refusals(names) AS
  array_to_string(list_transform(names, lambda nm, k:
    _pp_complaint('NOT regexp_matches(kinds[' || k || '], ''^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*)$'')', 'noise_plain', nm,
                  'is of type '' || kinds[' || k || '] || '', and only numbers can be masked. Leave it out.')
    || _pp_complaint('odd[' || k || '] > 0', 'noise_plain', nm, 'holds NaN or infinity. Leave these rows out.')
    || _pp_complaint('present[' || k || '] < 3', 'noise_plain', nm, 'has a value in '' || present[' || k || '] || '' rows, and at least 3 are needed. Leave it out.')
    || _pp_complaint('NOT spread[' || k || '] > 0', 'noise_plain', nm, 'is constant. Leave it out.')
    || _pp_complaint(replace('pow(farthest[#] / spread[#], 2) > 0.8e0 * (present[#] - 1)', '#', CAST(k AS VARCHAR)), 'noise_plain', nm,
                     'has more than 80 % of its variance from a single row, which would still stand out. Cut extreme values in a SELECT (top coding), or leave the row out.')), '');

CREATE OR REPLACE MACRO _pp_noise_drawn(digests) AS
  -- Two numbers of 52 bits inside (0, 1) give a normal one by Box and Muller's transform.
  'SELECT ' || _pp_repeat('sqrt(-2 * ln((CAST(''0x'' || substr(_pp_h#, 1, 13) AS BIGINT) + 0.5e0) / 4503599627370496))'
                          || ' * cos(2 * pi() * (CAST(''0x'' || substr(_pp_h#, 14, 13) AS BIGINT) + 0.5e0) / 4503599627370496) AS _pp_v#', len(digests))
  || ', * FROM (SELECT ' || array_to_string(list_transform(digests, lambda own, k:
       _pp_hmac(own, 'CAST(_pp_digest' || k || ' AS VARCHAR) || '':'' || _pp_key') || ' AS _pp_h' || k), ', ')
  || ', * FROM _pp_rows, _pp_checked)';

CREATE OR REPLACE MACRO _pp_noise(origin, names, level, keys, digests) AS
  _pp_released(_pp_noise_rows(origin, names, keys), _pp_noise_figures(names, digests), _pp_key_refusals('noise_plain') || _pp_noise_refusals(names),
    ', ' || _pp_repeat('digests[#] AS _pp_digest#, spread[#] AS _pp_sd#', len(names)), _pp_noise_drawn(digests),
    _pp_repeat('_pp_x#, _pp_digest#, _pp_sd#, _pp_h#, _pp_v#', len(names)),
    array_to_string(list_transform(names, lambda nm, k:
      replace('_pp_x# + _pp_sd# * _pp_v# * CAST(''', '#', CAST(k AS VARCHAR)) || sqrt(level[k]) || ''' AS DOUBLE) AS ' || _pp_ident(nm)), ', '),
    '');

CREATE OR REPLACE MACRO _pp_noise_release(origin, names, level, keys, digests) AS TABLE
  FROM query(_pp_noise(origin, names, level, keys, digests));

CREATE OR REPLACE MACRO noise_plain(tbl, conf, level, secret := NULL, key := NULL) AS TABLE
  -- What noise_mask of ppduck does: to each value normal noise is added, whose variance is a share of the column's.
  FROM query(_pp_sql('noise_plain',
    _pp_noise_problem(CAST(tbl AS VARCHAR), _pp_names_or_one(conf), _pp_keep(level, len(_pp_names_or_one(conf))), _pp_names_or_one(key),
                      CAST(secret AS VARCHAR), typeof(secret)),
    'FROM _pp_noise_release(' || _pp_literal(CAST(tbl AS VARCHAR)) || ', ' || _pp_literals(_pp_names_or_one(conf)) || ', CAST('
    || _pp_literal(CAST(_pp_keep(level, len(_pp_names_or_one(conf))) AS VARCHAR)) || ' AS DOUBLE[]), ' || _pp_literals(_pp_sorted(key)) || ', ' || chr(10)
    || _pp_literals(_pp_noise_keys(_pp_names_or_one(conf), _pp_keep(level, len(_pp_names_or_one(conf))), CAST(secret AS VARCHAR))) || chr(10) || ')'));

CREATE OR REPLACE MACRO _pp_pseudonym_problem(origin, names, domain, domain_kind, secret, kind) AS
  coalesce(
    _pp_source_problem(origin),
    _pp_names_problem(names),
    CASE WHEN len(names) = 0
         THEN 'columns is empty. Name the columns to replace by pseudonyms.'
         WHEN coalesce(domain, '') = '' OR domain_kind <> 'VARCHAR'
         THEN 'domain is missing. Name in a text what the values are, such as ''customer'': only pseudonyms of one domain can be joined.' END,
    _pp_secret_problem(secret, kind));

CREATE OR REPLACE MACRO _pp_pseudonyms(origin, names, digits) AS
  'SELECT _pp_given.* REPLACE ('
  || array_to_string(list_transform(names, lambda nm: 'substr(' || _pp_hmac(digits, _pp_text_of(nm)) || ', 1, 32) AS ' || _pp_ident(nm)), ', ')
  || ') FROM ' || _pp_source(origin) || ' AS _pp_given';

CREATE OR REPLACE MACRO pseudonym_plain(tbl, columns, domain, secret := NULL) AS TABLE
  -- A value becomes the first 128 bits of the HMAC of its text, in hexadecimal digits, the same in all tables of a domain.
  FROM query(_pp_sql('pseudonym_plain',
    _pp_pseudonym_problem(CAST(tbl AS VARCHAR), _pp_names_or_one(columns), CAST(domain AS VARCHAR), typeof(domain), CAST(secret AS VARCHAR), typeof(secret)),
    _pp_pseudonyms(CAST(tbl AS VARCHAR), _pp_names_or_one(columns),
                   sha256(_pp_joined(['pseudonym_plain', CAST(secret AS VARCHAR), CAST(domain AS VARCHAR)])))));
