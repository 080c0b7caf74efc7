"""rr_conclusions: every law that it states, on random tables and matrices, and Examples 1 and 2."""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import numpy as np
import pytest

from ppduck.association.rr_conclusions import ANY, FROM_HALF, HALF, MANY_LEVELS, UNIFORM, laws_of
from ppduck.kernels.association import ANY_SIZE, TWO_BY_TWO
from tests import coil

pytestmark = pytest.mark.core

MEASURES = {**ANY_SIZE, **TWO_BY_TWO}
TABLES = 10_000


def tables(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Random tables, half of them with most of their rows in few cells."""
    size = shape[0] * shape[1]
    parts = [rng.dirichlet([alpha] * size, TABLES // 2) for alpha in (0.3, 1.0)]
    return np.concatenate(parts).reshape(-1, *shape)


def matrices(rng: np.random.Generator, size: int, kind: str) -> np.ndarray:
    if kind == UNIFORM:
        p = rng.uniform(0, 1, TABLES)
        q = (1 - p) / (size - 1)
        return q[:, None, None] + (p - q)[:, None, None] * np.eye(size)
    if kind == HALF:
        p = rng.uniform(0.5, 1, (TABLES, 2))
        return np.stack([np.stack([p[:, 0], 1 - p[:, 1]], 1), np.stack([1 - p[:, 0], p[:, 1]], 1)], 1)
    return np.moveaxis(rng.dirichlet([0.5] * size, (TABLES, size)), 1, 2)


def strength(name: str, table: np.ndarray, independent: float) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.abs(np.real(MEASURES[name](table, 1.0)) - independent)


@pytest.mark.parametrize("who", ["both", "a", "b"])
@pytest.mark.parametrize("shape", [(2, 2), (3, 4), (2, 3)])
def test_measures_never_exceed_the_original(shape: tuple[int, int], who: str) -> None:
    rng = np.random.default_rng(37)
    before = tables(rng, shape)
    for name, law in laws_of(shape).items():
        still = [np.broadcast_to(np.eye(size), (TABLES, size, size)) for size in shape]
        first = still[0] if who == "b" else matrices(rng, shape[0], law.condition)
        second = still[1] if who == "a" else matrices(rng, shape[1], law.condition)
        after = np.einsum("nij,njk,nlk->nil", first, before, second)
        x, y = strength(name, before, law.independent), strength(name, after, law.independent)
        known = np.isfinite(x) & np.isfinite(y)
        assert known.mean() > 0.95, name
        # Where a margin has next to no rows, 1 - Σπ² has next to no digits.
        assert np.all(y[known] <= x[known] * (1 + 1e-6) + 1e-6), name


def test_measures_that_say_nothing_do_exceed_it() -> None:
    rng = np.random.default_rng(41)
    before = tables(rng, (2, 2))
    after = np.einsum("nij,njk,nlk->nil", matrices(rng, 2, HALF), before, matrices(rng, 2, HALF))
    for name in set(MEASURES) - set(laws_of((2, 2))) - {"j_measure"}:
        assert np.any(strength(name, after, 0) > strength(name, before, 0) + 0.01), name
    low = np.einsum("nij,njk,nlk->nil", matrices(rng, 2, ANY), before, matrices(rng, 2, ANY))
    for name, law in FROM_HALF.items():
        assert np.any(strength(name, low, law.independent) > strength(name, before, law.independent) + 0.01), name


def test_why_result_8_is_narrowed() -> None:
    """B tells only whether A is its first level; publishing the third as the second makes M, τ and U rise to 1."""
    before = np.array([[0.5, 0.0], [0.0, 0.25], [0.0, 0.25]])
    after = np.array([[1.0, 0, 0], [0, 1, 1], [0, 0, 0]]) @ before
    for name in ("mutual_information", "concentration", "uncertainty"):
        assert MANY_LEVELS[name].condition == UNIFORM
    assert [float(MEASURES["mutual_information"](x, 1)) for x in (before, after)] == pytest.approx([2 / 3, 1])
    assert [float(MEASURES["uncertainty"](x.T, 1)) for x in (before, after)] == pytest.approx([2 / 3, 1])
    assert [float(MEASURES["concentration"](x.T[:, x.sum(1) > 0], 1)) for x in (before, after)] == pytest.approx(
        [0.6, 1]
    )


def pairs(rng: np.random.Generator, who: str) -> tuple[np.ndarray, ...]:
    """Two tables each, randomized by the same matrices."""
    one, two = tables(rng, (2, 2)), tables(rng, (2, 2))[::-1]
    still = np.broadcast_to(np.eye(2), (TABLES, 2, 2))
    first = still if who == "b" else matrices(rng, 2, ANY)
    second = still if who == "a" else matrices(rng, 2, ANY)
    change: Callable[[np.ndarray], np.ndarray] = lambda x: np.einsum("nij,njk,nlk->nil", first, x, second)  # noqa: E731
    return one, two, change(one), change(two)


@pytest.mark.parametrize(
    ("name", "who", "kept"),
    [
        *(("piatetsky_shapiro", who, True) for who in ("both", "a", "b")),
        ("risk_difference", "a", True), ("risk_difference", "b", False), ("risk_difference", "both", False),
        ("added_value", "b", True), ("added_value", "a", False), ("added_value", "both", False),
        ("odds_ratio", "both", False), ("phi", "both", False), ("chi2", "a", False),
    ],
)  # fmt: skip
def test_order_of_pairs(name: str, who: str, kept: bool) -> None:
    one, two, one_after, two_after = pairs(np.random.default_rng(43), who)
    centre = 1.0 if name == "odds_ratio" else 0.0
    before = strength(name, one, centre) - strength(name, two, centre)
    after = strength(name, one_after, centre) - strength(name, two_after, centre)
    clear = np.isfinite(before) & np.isfinite(after) & (np.abs(before) > 1e-9) & (np.abs(after) > 1e-12)
    flipped = np.sign(before[clear]) != np.sign(after[clear])
    assert bool(flipped.any()) is not kept


def test_order_that_is_told(con: duckdb.DuckDBPyConnection) -> None:
    coil.table(con, "coil", "AB", coil.AB)
    for who, measures in (
        ("both", {"piatetsky_shapiro"}),
        ("a", {"piatetsky_shapiro", "risk_difference"}),
        ("b", {"piatetsky_shapiro", "added_value"}),
    ):
        found = con.execute(
            f"SELECT measure FROM rr_conclusions('coil', 'A', 'B', randomized='{who}', count='n') WHERE order_of_pairs <> 'not kept'"
        ).fetchall()
        assert {name for (name,) in found} == measures


def test_example_1_cosine_may_rise_and_chi2_may_not(con: duckdb.DuckDBPyConnection) -> None:
    coil.table(con, "coil", "AD", [800, 1940, 1736, 1346])
    read = "SELECT value, says FROM rr_conclusions('{}', 'A', 'D', count='n') WHERE measure = '{}'"
    (chi2, _), (cosine, _) = (con.execute(read.format("coil", name)).fetchone() for name in ("chi2", "cosine"))
    risen = False
    for p in (0.95, 0.8, 0.6, 0.3):
        coil.randomized(con, "published", "coil", {"A": p, "D": 0.9})
        published, says = con.execute(read.format("published", "chi2")).fetchone()
        assert published <= chi2
        assert says == f"in expectation original >= {published:.6g}"
        value, says = con.execute(read.format("published", "cosine")).fetchone()
        assert says == "nothing"
        risen |= value > cosine
    assert risen


def test_example_2_the_order_of_odds_ratios_flips(con: duckdb.DuckDBPyConnection) -> None:
    coil.table(con, "first", "AB", coil.AB)
    coil.table(con, "second", "IJ", coil.IJ)
    coil.randomized(con, "first_rr", "first", {"A": 0.8, "B": 0.8})
    coil.randomized(con, "second_rr", "second", {"I": 0.8, "J": 0.8})

    def read(table: str, a: str, b: str, measure: str) -> float:
        query = f"SELECT value FROM rr_conclusions('{table}', '{a}', '{b}', count='n') WHERE measure = '{measure}'"
        return float(con.execute(query).fetchone()[0])

    odds = [
        round(read(*each, "odds_ratio"), 2)
        for each in (("first", "A", "B"), ("second", "I", "J"), ("first_rr", "A", "B"), ("second_rr", "I", "J"))
    ]
    assert odds == [3.23, 3.94, 1.32, 1.14]
    assert read("first", "A", "B", "piatetsky_shapiro") > read("second", "I", "J", "piatetsky_shapiro")
    assert read("first_rr", "A", "B", "piatetsky_shapiro") > read("second_rr", "I", "J", "piatetsky_shapiro")


def test_bounds_are_strengths(con: duckdb.DuckDBPyConnection) -> None:
    """A negative φ bounds |φ|, an odds ratio below 1 its distance from 1; errors are those of the delta method."""
    coil.table(con, "t", "ab", [100, 400, 300, 200])
    rows = {
        row[0]: row[1:]
        for row in con.execute(
            "SELECT measure, value, at_least, says, std_error FROM rr_conclusions('t', 'a', 'b', count='n')"
        ).fetchall()
    }
    value, at_least, says, error = rows["phi"]
    assert value < 0
    assert at_least == -value
    assert says == f"in expectation |original| >= {-value:.6g}"
    assert rows["odds_ratio"][1:3] == (
        pytest.approx(1 - rows["odds_ratio"][0]),
        f"in expectation |original - 1| >= {1 - rows['odds_ratio'][0]:.6g}",
    )
    assert error == pytest.approx(np.sqrt((1 - value**2) / 1000), rel=0.1)
    independent = "SELECT std_error FROM rr_conclusions('(SELECT i % 2 AS a, i // 2 % 2 AS b FROM range(400) r(i))', 'a', 'b') WHERE measure = 'chi2'"
    assert con.execute(independent).fetchone() == (None,)


def test_nothing_is_read_of_the_design(survey: duckdb.DuckDBPyConnection) -> None:
    """The analyst has rows only: a table, or a view whose definition is nobody's business."""
    survey.execute("CREATE TABLE released AS FROM rr_mask('survey', p={'gender': 0.9, 'disease': 0.8}, key='id')")
    survey.execute(
        "CREATE VIEW survey_rr AS SELECT upper(gender) AS gender, disease FROM rr_mask('survey', p={'gender': 0.9, 'disease': 0.8}, key='id')"
    )
    ask = "SELECT measure, value, condition FROM rr_conclusions('{}', 'gender', 'disease')"
    found = survey.execute(ask.format("released")).fetchall()
    assert found == survey.execute(ask.format("survey_rr")).fetchall()
    assert [(name, condition) for name, _, condition in found] == [
        *((name, MANY_LEVELS[name].condition) for name in ANY_SIZE),
        ("p_value", ANY),
    ]
    tested = survey.execute("SELECT p_value FROM independence_test('released', 'gender', 'disease')").fetchone()
    assert found[-1][1] == tested[0]


def test_what_is_refused(survey: duckdb.DuckDBPyConnection) -> None:
    for call, message in (
        ("'gender', 'diseas'", r'columns names column "diseas".*Did you mean "disease"'),
        ("'gender', 'id'", r'column "id" has more than 1,000 levels'),
        ("'gender', 'disease', randomized='c'", r"randomized takes one of 'both', 'a', 'b'"),
        ("'gender'", r"parameter 'b' is missing"),
    ):
        with pytest.raises(duckdb.InvalidInputException, match=f"rr_conclusions.*{message}"):
            survey.execute(f"FROM rr_conclusions('survey', {call})").fetchall()


def test_more_cells_than_slopes_are_taken_of(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE crossed AS SELECT 'a' || i // 100 AS a, 'b' || i % 100 AS b FROM range(10000) AS r(i)")
    with pytest.raises(duckdb.InvalidInputException, match=r"10,000 cells.*2,500"):
        con.execute("FROM rr_conclusions('crossed', 'a', 'b')")
