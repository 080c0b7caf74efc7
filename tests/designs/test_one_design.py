"""One design, one draw: spelling, types and order do not draw anew, and answers are what they were on another DuckDB."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import duckdb
import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

import ppduck
from tests.conftest import SECRET

pytestmark = pytest.mark.core

EVEN = "[[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]]"
SKEW = "[[0.6, 0.25, 0.2], [0.3, 0.7, 0.05], [0.1, 0.05, 0.75]]"  # of anemia, cancer, flu
# The same table in other spellings; the ids are those of survey, or their texts.
TABLES = {
    "capitals": 'SELECT id AS "ID", gender, disease AS "DISEASE", smoker FROM survey',
    "text_id": "SELECT id::VARCHAR AS id, gender, disease, smoker FROM survey",
    "wide_id": "SELECT id::HUGEINT AS id, gender, disease, smoker FROM survey",
    "narrow_id": "SELECT id::USMALLINT AS id, gender, disease, smoker FROM survey",
    "decimal_id": "SELECT id::DECIMAL(9, 2) AS id, gender, disease, smoker FROM survey",
    "double_id": "SELECT id::DOUBLE AS id, gender, disease, smoker FROM survey",
    "an_enum": "SELECT id, gender, disease::ENUM('anemia', 'cancer', 'flu') AS disease, smoker FROM survey",
    "other_enum": "SELECT id, gender, disease::ENUM('flu', 'anemia', 'cancer') AS disease, smoker FROM survey",
}
SPELLINGS = [
    ("survey", "conf='DISEASE', p=0.6, key='ID'"),
    ("survey", "p=MAP {'disease': 0.6}, key=['id']"),
    ("survey", "p={'disease': 0.6}, key='id', levels={'disease': ['flu', 'anemia', 'cancer']}"),
    ("survey", f"matrix={{'disease': {EVEN}}}, key='id'"),
    ("survey", f"matrix={{'disease': {EVEN}}}, key='id', levels={{'disease': ['cancer', 'flu', 'anemia']}}"),
    ("(FROM survey)", "p={'disease': 0.6}, key='id'"),
    *((table, "p={'disease': 0.6}, key='id'") for table in TABLES),
    ("other_enum", f"matrix={{'disease': {EVEN}}}, key='id'"),
]


@pytest.fixture
def spelt(survey: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    for name, query in TABLES.items():
        survey.execute(f"CREATE TABLE {name} AS {query}")
    return survey


def answers(
    con: duckdb.DuckDBPyConnection, table: str, design: str, mask: str = "rr_mask", column: str = "disease"
) -> list[Any]:
    query = f"SELECT {column}::VARCHAR FROM {mask}('{table}', {design}) ORDER BY id::DOUBLE"
    return [answer for (answer,) in con.execute(query).fetchall()]


@pytest.mark.parametrize("mask", ["rr_mask", "pram_mask"])
def test_a_design_draws_the_same_however_it_is_spelt(spelt: duckdb.DuckDBPyConnection, mask: str) -> None:
    first = answers(spelt, "survey", "p={'disease': 0.6}, key='id'")
    for table, design in SPELLINGS:
        assert answers(spelt, table, design, mask) == first, (table, design)


def test_a_vote_over_spellings_gains_nothing(spelt: duckdb.DuckDBPyConnection) -> None:
    """Draws of their own for nine spellings of p = 0.5 would make the majority right in far more than half of the rows."""
    true = np.array(answers(spelt, "survey", "p={'disease': 1}"))
    even = EVEN.replace("0.6", "0.5").replace("0.2", "0.25")
    designs = [(table, design.replace("0.6", "0.5").replace(EVEN, even)) for table, design in SPELLINGS]
    designs = [(table, design) for table, design in designs if "matrix" not in design]
    designs.append(("survey", f"matrix={{'disease': {even}}}, key='id'"))
    seen = np.array([answers(spelt, table, design) for table, design in designs])
    assert len(seen) >= 9
    votes = np.array([(seen == level).sum(axis=0) for level in ("anemia", "cancer", "flu")])
    voted = np.array(["anemia", "cancer", "flu"])[votes.argmax(axis=0)]
    one = (seen[0] == true).mean()
    assert one == pytest.approx(0.5, abs=0.03)
    assert (voted == true).mean() == one


def test_a_matrix_goes_with_its_levels(spelt: duckdb.DuckDBPyConnection) -> None:
    first = answers(spelt, "survey", f"matrix={{'disease': {SKEW}}}, key='id'")
    table = np.array(json.loads(SKEW))
    for order in ([1, 2, 0], [2, 1, 0], [0, 2, 1]):
        levels = [["anemia", "cancer", "flu"][i] for i in order]
        matrix = table[np.ix_(order, order)].tolist()
        design = f"matrix={{'disease': {matrix}}}, levels={{'disease': {levels}}}, key='id'"
        for name in ("survey", "other_enum", "an_enum", "text_id"):
            assert answers(spelt, name, design) == first
    moved = table[np.ix_([2, 0, 1], [2, 0, 1])].tolist()  # an enum's own order
    assert answers(spelt, "other_enum", f"matrix={{'disease': {moved}}}, key='id'") == first


def test_an_invariant_matrix_goes_with_its_levels(spelt: duckdb.DuckDBPyConnection) -> None:
    design = "p={'disease': 0.6}, invariant=true, key='id'"
    first = answers(spelt, "survey", design, "pram_mask")
    for table in TABLES:
        assert answers(spelt, table, design, "pram_mask") == first
    levels = "levels={'disease': ['flu', 'anemia', 'cancer']}"
    assert answers(spelt, "survey", f"{design}, {levels}", "pram_mask") == first


def test_an_invariant_design_shares_no_draws_with_the_plain_one(survey: duckdb.DuckDBPyConnection) -> None:
    plain = answers(survey, "survey", "p={'smoker': 0.6}, key='id'", "pram_mask", "smoker")
    invariant = answers(survey, "survey", "p={'smoker': 0.6}, key='id', invariant=true", "pram_mask", "smoker")
    true = np.array(answers(survey, "survey", "p={'smoker': 1}", column="smoker"))
    kept = [np.array(each) == true for each in (plain, invariant)]
    assert abs(np.corrcoef(kept)[0, 1]) < 0.06


def test_null_as_a_level_goes_with_its_levels(survey: duckdb.DuckDBPyConnection) -> None:
    gaps = "(SELECT id, nullif(disease, ''flu'') AS disease FROM survey)"
    design = "p={'disease': 0.6}, key='id', on_null='level'"
    first = answers(survey, gaps, design)
    assert None in first
    assert answers(survey, gaps, f"{design}, levels={{'disease': ['cancer', 'anemia', NULL]}}") == first
    third = "[[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]]"
    assert answers(survey, gaps, f"matrix={{'disease': {third}}}, key='id', on_null='level'") == first


def test_the_order_of_key_columns_does_not_show(survey: duckdb.DuckDBPyConnection) -> None:
    survey.execute("CREATE TABLE t AS SELECT *, id // 10 AS house, id % 10 AS person FROM survey")
    survey.execute('CREATE TABLE u AS SELECT *, id // 10 || \'\' AS "House", (id % 10)::DOUBLE AS "PERSON" FROM survey')
    first = answers(survey, "t", "p={'disease': 0.6}, key=['house', 'person']")
    assert answers(survey, "t", "p={'disease': 0.6}, key=['Person', 'HOUSE']") == first
    assert answers(survey, "u", "p={'disease': 0.6}, key=['person', 'house']") == first
    assert answers(survey, "t", "p={'disease': 0.6}, key='id'") != first


def test_probabilities_count_to_nine_digits(survey: duckdb.DuckDBPyConnection) -> None:
    third = answers(survey, "survey", "p={'disease': 1/3}, key='id'")
    assert answers(survey, "survey", "p={'disease': 0.3333333333}, key='id'") == third
    rounded = [[0.3333333333] * 3] * 3
    assert answers(survey, "survey", f"matrix={{'disease': {rounded}}}, key='id'") == third
    assert answers(survey, "survey", "p={'disease': 0.33333333}, key='id'") != third


def test_a_matrix_that_keeps_all_is_the_identity(survey: duckdb.DuckDBPyConnection) -> None:
    true = answers(survey, "survey", "p={'disease': 1}")
    assert answers(survey, "survey", "matrix={'disease': [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}") == true


def test_rows_without_key_are_known_by_content_whatever_the_order_of_columns(survey: duckdb.DuckDBPyConnection) -> None:
    one, two = (
        "(SELECT id, disease, age FROM survey)",
        "(SELECT age::HUGEINT AS AGE, disease, id::VARCHAR AS Id FROM survey)",
    )
    assert answers(survey, one, "p={'disease': 0.6}") == answers(survey, two, "p={'disease': 0.6}")


def draw(secret: bytes, key: int, design: dict[str, Any], place: int) -> int:
    """A draw, written anew from what the mechanism says of it."""
    aes = hashlib.sha256(b"ppduck draws 2\0" + secret).digest()[:16]
    text = json.dumps({"randomized": design}, sort_keys=True) + "\0" + "0"
    tweak = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 2
    plain = (key % 2**64).to_bytes(8, "little") + (tweak + place).to_bytes(8, "little")
    return int.from_bytes(Cipher(algorithms.AES(aes), modes.ECB()).encryptor().update(plain)[:4], "little")


def test_draws_are_as_stated(con: duckdb.DuckDBPyConnection) -> None:
    """Worked out value by value with the cipher itself, in plain Python."""
    con.execute(
        "CREATE TABLE t AS SELECT i - 500 AS id, ['low', 'mid', 'high'][1 + i % 3]::ENUM('low', 'mid', 'high') AS \"Grade\", "
        "i % 2 = 0 AS flag FROM range(1000) r(i)"
    )
    levels = ["high", "low", "mid"]
    design = {
        "column": "grade",
        "levels": levels,
        "p": 0.7,
        "matrix": None,
        "invariant": False,
        "seed": None,
        "rows of": None,
    }
    found = con.execute("FROM rr_mask('t', p={'flag': 0.5, 'grade': 0.7}, key='id') ORDER BY id").fetchall()
    for i, (key, published, _) in enumerate(found):
        place = levels.index(["low", "mid", "high"][i % 3])
        word = draw(SECRET.encode(), key, design, place)
        assert published == levels[place if word < round(0.7 * 2**32) else (place + 1 + word % 2) % 3]


GOLDEN = {
    "SELECT id": "bacabbababccabccbcacaabcbccbbccbcbbcbbcabacaacbcabcabaabbabc",
    "SELECT 'person ' || id AS id": "cccbbcacccbbbacbacabaacbabccbcabcbacbccbbcabaabcabcbbacacaac",
    "SELECT DATE '2024-01-01' + id AS id": "bbabbccbacacabcababbcbcbbbbccaacbcabacababbbabbbcabcacabcbca",
}


@pytest.mark.parametrize("ids", GOLDEN)
def test_pinned_answers(ids: str) -> None:
    """Published answers must be drawn again as they were, on every DuckDB and by every later version of ppduck."""
    with ppduck.connect(secret="the secret of the pinned answers") as con:
        con.execute("CREATE TABLE t AS SELECT i::INTEGER AS id, ['a', 'b', 'c'][1 + i % 3] AS x FROM range(60) r(i)")
        con.execute(f"CREATE TABLE u AS {ids}, id AS place, x FROM t")
        found = con.execute("SELECT x FROM rr_mask('u', p={'x': 0.5}, key='id') ORDER BY place").fetchall()
    assert "".join(x for (x,) in found) == GOLDEN[ids]
