"""Tables whose values are exact in binary, on every machine, and statements of every function over them.

A function that no statement here calls is pinned by the example of its registration, under its own name: the tables
have the names and columns of those in ``ppduck/guide/demo.py``.
"""

from __future__ import annotations

import re

from ppduck.call.registry import Kind, functions
from ppduck.frozen import frozen

TABLES = """
CREATE TABLE customers AS
SELECT i AS id, (i * 7919 % 1000) / 64 AS s1, (i * 104729 % 997) / 32 AS s2, i % 3 = 0 AS member,
       ['east', 'north', 'south', 'west'][1 + i % 4] AS region,
       CAST(50 + (i * 7919 % 1000) / 128 + (i * 611953 % 991) / 64 AS DOUBLE) AS x1,
       CAST(20 + (i * 104729 % 997) / 128 + (i * 611953 % 991) / 128 + (i * 15485863 % 983) / 64 AS DOUBLE) AS x2,
       CAST(1000 + (i * 32452843 % 977) AS INTEGER) AS x3
FROM range(400) AS rows(i);

CREATE TABLE gaps AS
SELECT id, CASE WHEN id % 11 > 0 THEN s1 END AS s1, s2, CASE WHEN id % 13 > 0 THEN region END AS region,
       CASE WHEN id % 7 > 0 THEN x1 END AS x1, CASE WHEN id % 17 > 0 THEN x2 END AS x2
FROM customers;

CREATE TABLE survey AS
SELECT i AS id, ['female', 'male'][1 + i % 2] AS gender,
       ['anemia', 'flu', 'cancer', 'flu', 'anemia', 'flu', 'anemia'][1 + (i + i // 5) % 7] AS disease,
       i // 3 % 4 = 0 AS smoker, CASE WHEN i % 9 > 0 THEN i * 31 % 5 END AS visits
FROM range(2000) AS rows(i);

CREATE TABLE baskets AS
SELECT i AS id, i % 5 > 0 AS bread, i % 5 > 1 AS butter, i % 4 > 1 AND i % 5 > 0 AS jam FROM range(2000) AS rows(i);

CREATE TABLE released AS FROM egadp_mask('customers', conf=['x1','x2'], nonconf=['s1','s2'], key='id');
CREATE TABLE released_before AS
FROM egadp_mask('(FROM customers WHERE id > 1)', conf=['x1','x2'], nonconf=['s1','s2'], key='id');
CREATE VIEW released_view AS FROM noise_mask('customers', conf=['x1','x2'], level=0.2, key='id');
CREATE TABLE grouped AS FROM generalize_mask('survey', qi=['gender','smoker'], k=5, sensitive='disease', l=2);
CREATE VIEW survey_rr AS FROM rr_mask('survey', p={'gender': 0.9, 'disease': 0.8}, key='id');
CREATE VIEW baskets_rr AS FROM rr_mask('baskets', p=0.9, conf=['bread','butter','jam'], key='id');
"""

CUSTOMERS = "'customers', conf=['x1','x2'], key='id'"
PAIR = "'customers', 'released', conf=['x1','x2'], key='id'"
OPEN = "nonconf=['s1','s2']"

MASKS = {
    "egadp": f"FROM egadp_mask({CUSTOMERS})",
    "egadp by position": "FROM egadp_mask('customers', ['x2','x1'], ['s1'], key := 'id')",
    "egadp in strata": f"FROM egadp_mask({CUSTOMERS}, {OPEN}, strata='region')",
    "egadp in strata of two columns": f"FROM egadp_mask({CUSTOMERS}, {OPEN}, strata=['region','member'])",
    "egadp without key": "FROM egadp_mask('customers', conf=['x1'], nonconf=['s1'])",
    "egadp of a select": f"FROM egadp_mask('(SELECT * FROM customers WHERE id < 300)', conf='x1', key='id', {OPEN})",
    "egadp with two keys": "FROM egadp_mask('customers', conf=['x1'], nonconf=['s1'], key=['region','id'])",
    "egadp seeded": f"FROM egadp_mask({CUSTOMERS}, seed=5)",
    "egadp rounded": "FROM egadp_mask('customers', conf=['x3'], key='id', round=true, drop=['region'])",
    "egadp where values lack": "FROM egadp_mask('gaps', conf=['x1','x2'], key='id', on_null='level', nonconf=['region'])",
    "egadp without rows that lack": "FROM egadp_mask('gaps', conf=['x1','x2'], key='id', on_null='drop')",
    "egadp with means": "FROM egadp_mask('gaps', conf=['x1','x2'], key='id', on_null='mean', nonconf=['s1','s2'])",
    "egadp alone": f"FROM egadp_mask({CUSTOMERS}, nonconf=[])",
    "egadp of one column": "FROM egadp_mask('customers', conf='x1', nonconf='s1', key='id')",
    "egadp of three columns": f"FROM egadp_mask('customers', conf=['x1','x2','x3'], {OPEN}, key='id')",
    # without its versions, which are others tomorrow
    "release_manifest": "FROM release_manifest('(SELECT id, gender, smoker FROM survey)', policy={'key': 'id', 'columns': "
    "{'id': {'pseudonym': 'token'}, 'gender': {'randomize': 0.9}, 'smoker': 'keep'}}) WHERE column_name IS NOT NULL",
    "egadp_plain": "FROM egadp_plain('customers', ['x1','x2'], secret := 'a long enough secret', key := 'id', "
    "nonconf := ['s1','s2'])",
    "sufficiency": f"FROM sufficiency_mask({CUSTOMERS}, alpha={{'x1': 0.6, 'x2': 0.5}})",
    "sufficiency of one alpha": f"FROM sufficiency_mask({CUSTOMERS}, alpha=0.3, {OPEN}, strata='member')",
    "ipso": f"FROM ipso_mask({CUSTOMERS}, nonconf=['s1','s2','region'])",
    "ipso in strata": f"FROM ipso_mask({CUSTOMERS}, nonconf=['s1'], strata='region')",
    "gadp": f"FROM gadp_mask({CUSTOMERS}, drop=['region'])",
    "kim": f"FROM kim_mask({CUSTOMERS}, level=0.15)",
    "kim corrected": f"FROM kim_mask({CUSTOMERS}, level=0.15, corrected=true)",
    "noise": f"FROM noise_mask({CUSTOMERS}, level={{'x1': 0.2, 'x2': 0.1}})",
    "noise where values lack": "FROM noise_mask('gaps', conf=['x1','x2'], level=0.3, key='id')",
    "noise in strata": f"FROM noise_mask({CUSTOMERS}, level=0.2, strata=['region'])",
    "cgadp": f"FROM cgadp_mask({CUSTOMERS}, {OPEN})",
    "cgadp in strata": f"FROM cgadp_mask({CUSTOMERS}, nonconf=['s1'], strata='member')",
    "shuffle": f"FROM shuffle_mask({CUSTOMERS}, {OPEN})",
    "shuffle by a category": f"FROM shuffle_mask({CUSTOMERS}, nonconf=['s1','region'], strata='member')",
    "shuffle where values lack": "FROM shuffle_mask('gaps', conf=['x1','x2'], nonconf=['s2'], key='id')",
    "nm_egadp 1": "FROM nm_egadp_mask('customers', conf=['x1'], nonconf=['s1'], key='id')",
    "nm_egadp 2": f"FROM nm_egadp_mask({CUSTOMERS}, {OPEN}, variant=2)",
    "nm_egadp 3": "FROM nm_egadp_mask('customers', conf=['x1'], nonconf=['s1','region'], variant=3, key='id')",
    "nm_egadp 4": "FROM nm_egadp_mask('customers', conf=['x1'], nonconf=['s1'], variant=4, key='id', strata='member')",
    "nm_egadp with more noise": f"FROM nm_egadp_mask({CUSTOMERS}, {OPEN}, extra_noise=0.2)",
    "rank_swap": f"FROM rank_swap_mask({CUSTOMERS}, reach=14)",
    "rank_swap in strata": "FROM rank_swap_mask('gaps', conf=['x1','x2'], reach=20, strata='region', key='id')",
    "microaggregate": f"FROM microaggregate_mask({CUSTOMERS}, k=20)",
    "microaggregate in sets": "FROM microaggregate_mask('customers', conf=['x1','x2','x3'], k=5, variables=2, key='id')",
    "onn": f"FROM onn_mask({CUSTOMERS}, partitions=2)",
    "anatomy": "FROM anatomy_mask('survey', qi=['gender','smoker'], sensitive='disease', l=2, part='qit', key='id')",
    "anatomy, other part": "FROM anatomy_mask('survey', qi=['gender'], sensitive='disease', l=2, part='st', key='id')",
    "generalize": "FROM generalize_mask('survey', qi=['gender','smoker'], k=5, sensitive='disease', l=2)",
    "generalize numbers": "FROM generalize_mask('customers', qi=['s1','region'], k=10)",
    "rr": "FROM rr_mask('survey', p={'gender': 0.9, 'disease': 0.8}, key='id')",
    "rr without key": "FROM rr_mask('(SELECT DISTINCT ON (id) * FROM survey)', p={'gender': 0.9})",
    "rr of numbers": "FROM rr_mask('survey', p={'visits': 0.7}, levels={'visits': [0, 1, 2, 3, 4]}, key='id')",
    "rr by a matrix": "FROM rr_mask('survey', matrix={'gender': [[0.8, 0.3], [0.2, 0.7]]}, key='id', "
    "levels={'gender': ['female', 'male']})",
    "pram": "FROM pram_mask('survey', conf=['disease'], p=0.8, key='id')",
    "pram invariant": "FROM pram_mask('survey', conf=['disease','gender'], p=0.8, invariant=true, key='id')",
    "view over a mask": "FROM released_view",
    "view over randomized answers": "FROM survey_rr",
}
OTHERS = {
    "rr_reconstruct": "FROM rr_reconstruct('survey_rr', ['gender','disease'])",
    "rr_reconstruct by likelihood": "FROM rr_reconstruct('survey_rr', ['gender','disease','smoker'], method='mle')",
    "rr_optimize": "SELECT * EXCLUDE (seconds) FROM rr_optimize('survey', qi=['gender','smoker'], sensitive='disease', l=2)",
    "canonical_security": f"FROM canonical_security({PAIR}, {OPEN})",
    "canonical_security by pieces": f"FROM canonical_security({PAIR}, {OPEN}, pieces=['s1 < 5'])",
    "value_disclosure": f"FROM value_disclosure({PAIR}, {OPEN})",
    "value_disclosure by a kernel": f"FROM value_disclosure({PAIR}, {OPEN}, model='kernel')",
    "record_linkage": f"FROM record_linkage({PAIR})",
    "record_linkage by likelihood": f"FROM record_linkage({PAIR}, method='probabilistic')",
    "averaging_attack": "FROM averaging_attack('customers', 'released_view', conf=['x1','x2'], key='id', reads=3)",
    "release_check": f"FROM release_check({PAIR}, {OPEN})",
    "release_check of a view": f"FROM release_check('customers', 'released_view', conf=['x1','x2'], key='id', {OPEN})",
    "release_check of groups": "FROM release_check('survey', 'grouped', conf=['gender','smoker'], key='id', "
    "nonconf=['visits'])",
    "mask_explain": "FROM mask_explain('egadp_mask', 'customers', conf=['x1','x2'])",
    "mask_explain of answers": "FROM mask_explain('rr_mask', 'survey', p={'gender': 0.9}, key='id')",
    "mask_explain of groups": "FROM mask_explain('generalize_mask', 'survey', qi=['gender'], k=5)",
}


@frozen
class Statement:
    """A statement that is pinned; rows of masks are compared in the order of the key, all others as they come."""

    text: str
    of_mask: bool


def statements() -> dict[str, Statement]:
    """By name: those above, then the examples of all functions that none of them calls, but for help, whose words
    may change."""
    found = {
        **{name: Statement(text, True) for name, text in MASKS.items()},
        **{name: Statement(text, False) for name, text in OTHERS.items()},
    }
    called = set(re.findall(r"\w+(?=\()", " ".join(each.text for each in found.values())))
    for function in functions():
        if function.name not in called and function.kind is not Kind.HELP:
            query = re.sub(r"^CREATE (TABLE|VIEW) \w+ AS ", "", function.example)
            found[function.name] = Statement(query, function.kind is Kind.MASK)
    return found
