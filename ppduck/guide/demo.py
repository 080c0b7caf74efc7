"""The tables that the examples of all functions run on; ``python -m ppduck.help --demo`` prints them."""

from __future__ import annotations

DEMO = """
CREATE TABLE customers AS
SELECT i AS id, 3 * sin(i * 12.9898) AS s1, 2 * cos(i * 78.233) AS s2,
       ['east', 'north', 'south', 'west'][1 + i % 4] AS region,
       50 + 2 * sin(i * 12.9898) + 5 * sin(i * 4.1414) AS x1,
       20 + cos(i * 78.233) + 3 * sin(i * 4.1414) + 2 * cos(i * 9.7) AS x2
FROM range(400) AS rows(i);

CREATE TABLE survey AS
SELECT i AS id, ['female', 'male'][1 + i % 2] AS gender,
       ['anemia', 'flu', 'cancer', 'flu', 'anemia', 'flu', 'anemia'][1 + (i + i // 5) % 7] AS disease,
       i // 3 % 4 = 0 AS smoker
FROM range(2000) AS rows(i);

CREATE TABLE baskets AS
SELECT i AS id, i % 5 > 0 AS bread, i % 5 > 1 AS butter, i % 4 > 1 AND i % 5 > 0 AS jam FROM range(2000) AS rows(i);

CREATE TABLE released AS FROM egadp_mask('customers', conf=['x1','x2'], key='id');
CREATE TABLE released_before AS FROM egadp_mask('(FROM customers WHERE id > 1)', conf=['x1','x2'], key='id');
CREATE VIEW survey_rr AS FROM rr_mask('survey', p={'gender': 0.9, 'disease': 0.8}, key='id');
CREATE VIEW baskets_rr AS FROM rr_mask('baskets', p=0.9, conf=['bread','butter','jam'], key='id');
"""
