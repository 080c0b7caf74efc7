"""loglinear_models: every model, the best one, and which of them randomization preserves."""

from __future__ import annotations

import math

import duckdb
import pytest

from tests import coil

pytestmark = pytest.mark.core


def test_the_models_of_example_3(con: duckdb.DuckDBPyConnection) -> None:
    coil.table(con, "coil", "ADG", coil.ADG)
    rows = con.execute("FROM loglinear_models('coil', ['A','D','G'], randomized=['A','D'], count='n')").fetchall()
    names = [row[0] for row in rows]
    assert names == ["A,D,G", "AD,G", "AG,D", "DG,A", "AD,AG", "AD,DG", "AG,DG", "AD,AG,DG", "ADG"]
    found = {row[0]: row[1:] for row in rows}
    assert [round(found[name][1], 2) for name in names[:4]] == [435.70, 1.60, 434.40, 435.71]
    # Theorem 2: A and D must not stand in two terms; G may.
    assert [name for name in names if found[name][6]] == ["A,D,G", "AD,G", "AG,D", "DG,A", "AG,DG", "ADG"]
    assert [name for name in names if found[name][7]] == ["AD,G"]


def test_criteria_and_what_was_fitted(con: duckdb.DuckDBPyConnection) -> None:
    coil.table(con, "coil", "ADG", coil.ADG)
    rows = con.execute(
        "SELECT g2, df, aic, bic, fitted_to FROM loglinear_models('coil', ['A','D','G'], count='n')"
    ).fetchall()
    for g2, df, aic, bic, fitted_to in rows:
        assert (aic, bic) == (pytest.approx(g2 - 2 * df), pytest.approx(g2 - df * math.log(5822)))
        assert fitted_to == "rows as they are"
    coil.randomized(con, "published", "coil", {"A": 0.8, "D": 0.9, "G": 0.9})
    design = "p={'A': 0.8, 'D': 0.9, 'G': 0.9}"
    before = con.execute(
        "SELECT model, fitted_to FROM loglinear_models('published', ['A','D','G'], count='n') WHERE best"
    ).fetchall()
    assert before == [("AD,G", "rows as they are")]
    through = con.execute(
        f"SELECT model, chi2, fitted_to FROM loglinear_models('published', ['A','D','G'], count='n', {design}, reconstruct='mle')"
    ).fetchall()
    one = con.execute(
        f"SELECT chi2, fitted_to FROM loglinear_fit('published', ['A','D','G'], 'AD,AG', count='n', {design}, reconstruct='mle')"
    ).fetchone()
    assert [row[1:] for row in through if row[0] == "AD,AG"] == [(pytest.approx(one[0]), one[1])]
    clipped = con.execute(
        f"SELECT DISTINCT aic, bic, best, p_value FROM loglinear_models('published', ['A','D','G'], count='n', {design}, reconstruct='clipped')"
    ).fetchall()
    assert clipped == [(None, None, None, None)]


@pytest.mark.parametrize(("columns", "models"), [(2, 2), (3, 9), (4, 114)])
def test_how_many_models_there_are(con: duckdb.DuckDBPyConnection, columns: int, models: int) -> None:
    names = "abcd"[:columns]
    fields = ", ".join(f"hash(i + {1000 * k}) % 2 AS {name}" for k, name in enumerate(names))
    con.execute(f"CREATE TABLE t AS SELECT {fields} FROM range(400) AS r(i)")
    found = con.execute(
        f"SELECT count(*), count(DISTINCT model), min(df), max(df) FROM loglinear_models('t', {list(names)})"
    ).fetchone()
    assert found == (models, models, 0, 2**columns - 1 - columns)


@pytest.mark.parametrize("search", ["forward", "backward"])
def test_a_search_finds_the_model_that_made_the_table(con: duckdb.DuckDBPyConnection, search: str) -> None:
    """b depends on a, d on c, e on nothing: the best model of all is also where either search ends."""
    con.execute(
        """CREATE TABLE t AS SELECT hash(i) % 2 AS a, CASE WHEN hash(i + 1e6) % 4 < 3 THEN hash(i) % 2 ELSE 0 END AS b,
           hash(i + 2e6) % 2 AS c, CASE WHEN hash(i + 3e6) % 4 < 3 THEN hash(i + 2e6) % 2 ELSE 1 END AS d, hash(i + 4e6) % 2 AS e
           FROM range(4000) AS r(i)"""
    )
    ask = "SELECT model FROM loglinear_models('t', ['a','b','c','d','e'], search='{}') WHERE best"
    assert con.execute(ask.format(search)).fetchall() == [("ab,cd,e",)]


def test_a_search_over_ten_columns(con: duckdb.DuckDBPyConnection) -> None:
    fields = ", ".join(f"(hash(i) >> {k}) % 2 AS x{k}" for k in range(9))
    con.execute(f"CREATE TABLE t AS SELECT {fields}, (hash(i) >> 8) % 2 AS x9 FROM range(300) AS r(i)")
    names = [f"x{k}" for k in range(10)]
    rows = con.execute(f"SELECT model, best FROM loglinear_models('t', {names}, search='forward')").fetchall()
    assert rows[0][0] == ",".join(names)
    assert "x8*x9" in rows[-1][0]
    assert [best for _, best in rows] == [False] * (len(rows) - 1) + [True]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            "['a','b','c','d','e','f']",
            r"6 columns have too many models; up to 5 can be looked at so.*search := 'forward'",
        ),
        ("['a','b','c','d','e','f','g','h','i','j','k']", r"11 columns have too many models.*name fewer"),
        (
            "['a','b'], p=0.9, reconstruct='clipped', search='forward'",
            r"a clipped table has no likelihood to search by",
        ),
        ("['a','b'], search='sideways'", r"search takes one of 'all', 'forward', 'backward'"),
        ("['wide','w2','w3','w4']", r"114 models of 810,000 cells take too long; merge levels"),
    ],
)
def test_what_is_refused(con: duckdb.DuckDBPyConnection, call: str, message: str) -> None:
    fields = ", ".join(f"i % 2 AS {name}" for name in "abcdefghijk")
    con.execute(
        f"CREATE TABLE t AS SELECT {fields}, i % 30 AS wide, i % 30 AS w2, i % 30 AS w3, i % 30 AS w4 FROM range(100) AS r(i)"
    )
    with pytest.raises(duckdb.InvalidInputException, match=f"loglinear_models.*{message}"):
        con.execute(f"FROM loglinear_models('t', {call})").fetchall()
