"""rr_rules_accuracy: how far rules of randomized baskets are from the true ones, by its definitions and by figures."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import duckdb
import numpy as np
import pytest

from ppduck.association.baskets import Item
from ppduck.association.rr_rules_accuracy import BothPatterns, RrRulesAccuracySpec, solve
from ppduck.call.direction import LOWER_IS_BETTER
from ppduck.errors import PpduckError
from ppduck.kernels.rules import Limits
from tests.association.conftest import ITEMS
from tests.estimators.test_rr_reconstruct import rows

pytestmark = pytest.mark.core
KEPT = ((1.0, 0.0), (0.0, 1.0))
Told = dict[str, tuple[float | None, float | None, float | None]]


def accuracy(con: duckdb.DuckDBPyConnection, arguments: str) -> Told:
    return {row[0]: row[1:4] for row in rows(con, f"FROM rr_rules_accuracy({arguments})")}


def told(original: list[float], release: list[float], support: float, confidence: float, p: float = 1.0) -> Told:
    """The measures of two tables of counts of the baskets {}, {a}, {b} and {a, b}, without a connection."""
    matrix = ((p, 1 - p), (1 - p, p))
    spec = RrRulesAccuracySpec(
        "rr_rules_accuracy",
        "release",
        (Item("a", p, matrix), Item("b", p, matrix)),
        Limits(support, confidence, 0.95, "chebyshev"),
        "original",
    )
    bits = np.arange(4.0)
    found = solve(spec, BothPatterns(bits, np.array(release), bits, np.array(original)))
    return {row["measure"]: (row["value"], row["lower"], row["upper"]) for row in found}


# Laws, without a connection


def test_rho_and_gamma_are_mean_relative_errors() -> None:
    """a and b in 40 of 100 baskets, published in 50; a in 60 of 100, published in 70: 50/70 is found for 40/60."""
    found = told([20, 20, 20, 40], [10, 20, 20, 50], 0.1, 0.1)
    assert found["rho"][0] == pytest.approx(0.25)
    assert found["gamma"][0] == pytest.approx((50 / 70) / (40 / 60) - 1)
    assert found["sigma_minus"][0] == found["sigma_plus"][0] == 0


@pytest.mark.parametrize(
    ("original", "release", "lost", "made_up"),
    [
        ([10, 45, 5, 40], [10, 45, 5, 40], 0, 0),  # b ⇒ a alone reaches 0.8
        ([10, 5, 5, 40], [10, 45, 5, 40], 0.5, 0),  # of both rules one is lost
        ([10, 45, 5, 40], [10, 5, 5, 40], 0, 1),  # one is there, one is made up
        ([10, 45, 5, 40], [10, 5, 45, 40], 1, 1),  # the other one instead
    ],
)
def test_sigmas_are_shares_of_the_true_rules(
    original: list[float], release: list[float], lost: float, made_up: float
) -> None:
    found = told(original, release, 0.3, 0.8)
    assert (found["sigma_minus"][0], found["sigma_plus"][0]) == (lost, made_up)
    if lost == 1:
        assert found["rho"][0] is found["gamma"][0] is None  # no rule is in both


def test_randomization_that_is_expected_exactly_loses_nothing() -> None:
    original = np.array([10.0, 20, 30, 40])
    matrix = np.array([[0.8, 0.2], [0.2, 0.8]])
    release = np.kron(matrix, matrix) @ original  # b is the higher bit
    found = told(original.tolist(), release.tolist(), 0.2, 0.5, p=0.8)
    assert found["rho"][0] == pytest.approx(0, abs=1e-12)
    assert (found["sigma_minus"][0], found["sigma_plus"][0]) == (0, 0)


def test_a_wider_net_loses_fewer_rules_and_catches_more_that_are_none() -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        original, release = rng.integers(1, 100, (2, 4)).astype(float)
        try:
            found = told(original.tolist(), release.tolist(), 0.2, 0.5, p=0.9)
        except PpduckError:
            continue  # no true rule
        value, lower, upper = found["sigma_minus"]
        assert upper <= value <= lower  # type: ignore[operator]
        value, lower, upper = found["sigma_plus"]
        assert lower <= value <= upper  # type: ignore[operator]


def test_a_specification_is_read_as_it_was_written() -> None:
    spec = RrRulesAccuracySpec("f", "t", (Item("a", None, KEPT),), Limits(0.2, 0.5, 0.95, "normal"), "o")
    assert RrRulesAccuracySpec.read(spec.text()) == spec


# In SQL


def test_every_measure_says_what_it_is(baskets: duckdb.DuckDBPyConnection) -> None:
    found = rows(
        baskets, f"FROM rr_rules_accuracy('baskets', 'view_rr', {ITEMS}, min_support=0.25, min_confidence=0.65)"
    )
    assert [row[0] for row in found] == ["rho", "gamma", "sigma_minus", "sigma_plus", "s_p", "c_p"]
    assert {row[4] for row in found} == {LOWER_IS_BETTER}
    assert len({row[5] for row in found}) == 6


def test_the_order_of_items_does_not_matter(baskets: duckdb.DuckDBPyConnection) -> None:
    found = [
        accuracy(baskets, f"'baskets', 'view_rr', {list(order)}, min_support=0.25, min_confidence=0.65")
        for order in permutations(["a", "b", "c"])
    ]
    values = [[told[0] for told in each.values()] for each in found]
    assert all(each == pytest.approx(values[0], rel=1e-9) for each in values)


def test_accuracy_of_what_is_not_randomized_is_perfect(baskets: duckdb.DuckDBPyConnection) -> None:
    found = rows(
        baskets, f"FROM rr_rules_accuracy('baskets', 'baskets', {ITEMS}, p=1, min_support=0.25, min_confidence=0.65)"
    )
    assert [(row[0], row[1]) for row in found] == [
        *(("rho", 0), ("gamma", 0), ("sigma_minus", 0), ("sigma_plus", 0), ("s_p", 0), ("c_p", 0))
    ]


def test_accuracy_falls_with_p(baskets: duckdb.DuckDBPyConnection) -> None:
    values = []
    for p in (0.95, 0.65):
        baskets.execute(f"CREATE OR REPLACE VIEW rr AS FROM rr_mask('baskets', conf={ITEMS}, p={p}, key='id')")
        found = rows(
            baskets, f"FROM rr_rules_accuracy('baskets', 'rr', {ITEMS}, min_support=0.25, min_confidence=0.65)"
        )
        measures = {row[0]: row[1:4] for row in found}
        values.append(measures["rho"][0])
        # A wider net loses fewer rules and catches more that are none.
        assert measures["sigma_minus"][2] <= measures["sigma_minus"][0] <= measures["sigma_minus"][1]
        assert measures["sigma_plus"][1] <= measures["sigma_plus"][0] <= measures["sigma_plus"][2]
    assert 0 < values[0] < values[1]


def test_rules_that_were_lost_or_made_up_are_counted(con: duckdb.DuckDBPyConnection) -> None:
    """True: a ⇔ b in half of the baskets. Published: c stands for b. One pair of rules lost, one made up."""
    con.execute("CREATE TABLE truth AS SELECT i % 2 AS a, i % 2 AS b, (i // 2) % 2 AS c FROM range(1000) r(i)")
    con.execute("CREATE TABLE other AS SELECT a, c AS b, b AS c FROM truth")
    found = rows(
        con, "FROM rr_rules_accuracy('truth', 'other', ['a', 'b', 'c'], p=1, min_support=0.4, min_confidence=0.9)"
    )
    assert {row[0]: row[1] for row in found} == {
        **{"rho": None, "gamma": None, "sigma_minus": 1, "sigma_plus": 1},
        **{"s_p": 0, "c_p": 0},
    }


def test_errors_of_table_3_3_on_ten_attributes_of_coil(con: duckdb.DuckDBPyConnection, reference_data: Path) -> None:
    """The table was made of all 86 attributes, of which ten are at hand (20 rules): its percentages cannot come out, but its
    zeros do (s-p from p = 0.80, c-p from 0.85), and what it says of the ends: no rule is lost by upper, none made up by lower."""
    con.execute(
        "CREATE TABLE coil AS SELECT row_number() OVER () AS id, * EXCLUDE (n) FROM "
        f"(SELECT * EXCLUDE (k) FROM (SELECT *, unnest(range(n)) AS k FROM '{reference_data / 'coil_binary_counts.parquet'}'))"
    )
    items = list("ABCDEFGHIJ")
    for p in (0.65, 0.8, 0.85, 0.95):
        con.execute(f"CREATE OR REPLACE VIEW rr AS FROM rr_mask('coil', conf={items}, p={p}, key='id', seed=1)")
        found = rows(con, f"FROM rr_rules_accuracy('coil', 'rr', {items}, min_support=0.25, min_confidence=0.65)")
        measures = {row[0]: row[1:4] for row in found}
        assert measures["sigma_minus"][2] <= measures["sigma_minus"][0] <= measures["sigma_minus"][1]
        assert measures["sigma_plus"][1] <= measures["sigma_plus"][0] <= measures["sigma_plus"][2]
        assert (measures["sigma_minus"][2], measures["sigma_plus"][1]) == (0, 0)
        assert 0 < measures["rho"][0] < (0.35 if p == 0.65 else 0.1)
        if p >= 0.8:
            assert measures["s_p"][0] == 0
        if p >= 0.85:
            assert measures["c_p"][0] == 0


def test_more_items_than_a_word_has_bits(con: duckdb.DuckDBPyConnection) -> None:
    columns = ", ".join(f"(i % {k + 2} = 0)::INTEGER AS c{k}" for k in range(70))
    con.execute(f"CREATE TABLE wide AS SELECT {columns} FROM range(10000) r(i)")
    names = [f"c{k}" for k in range(70)]
    call = f"'wide', 'wide', {names}, p=1, min_support=0.015, min_confidence=0.9, max_items=2"
    assert {values[0] for values in accuracy(con, call).values()} == {0}


def test_bad_originals(baskets: duckdb.DuckDBPyConnection) -> None:
    baskets.execute(
        "CREATE TABLE secret AS SELECT 'HIV positive' AS a, 1 AS b, 18446744073709551615::UBIGINT AS c FROM range(9)"
    )
    for call, message in {
        "'secret', 'view_rr', ['a', 'b'], min_support=0.2, min_confidence=0.5": r'item column "a" is of type VARCHAR',
        "'secret', 'view_rr', ['b', 'c'], min_support=0.2, min_confidence=0.5": r"9 of 9 rows hold NULL or another number",
        "'nowhere', 'view_rr', ['a', 'b'], min_support=0.2, min_confidence=0.5": r'cannot see "nowhere"',
        "'(SELECT a FROM baskets)', 'view_rr', ['a', 'b'], min_support=0.2, min_confidence=0.5": r'columns names column "b", which does not exist',
        "'baskets', 'view_rr', ['a', 'b'], min_support=1, min_confidence=1": r'no rule of "baskets" reaches min_support',
    }.items():
        with pytest.raises(duckdb.InvalidInputException, match=message) as caught:
            rows(baskets, f"FROM rr_rules_accuracy({call})")
        assert "HIV" not in str(caught.value)
        assert "18446744073709551615" not in str(caught.value)
