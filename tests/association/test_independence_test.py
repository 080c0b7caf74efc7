"""independence_test: its level on randomized rows, when it is valid, and the power that randomization costs."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest
from scipy.stats import chi2_contingency

from ppduck.kernels.independence import conditional, efficiency, partial_correlation, power_left
from ppduck.kernels.randomized import along_axes, uniform
from tests import coil

pytestmark = pytest.mark.core


def test_one_row_of_answers(con: duckdb.DuckDBPyConnection) -> None:
    coil.table(con, "coil", "AB", coil.AB)
    found = con.execute("FROM independence_test('coil', 'A', 'B', count='n')").fetchdf().iloc[0]
    expected = chi2_contingency(np.array(coil.AB).reshape(2, 2), correction=False)
    likelihood = chi2_contingency(np.array(coil.AB).reshape(2, 2), correction=False, lambda_="log-likelihood")
    assert (found.chi2, found.g2) == pytest.approx((expected.statistic, likelihood.statistic))
    assert (found.df, found.p_value) == (1, pytest.approx(expected.pvalue, rel=1e-9))
    assert found.p_value_g2 == pytest.approx(likelihood.pvalue, rel=1e-9)
    assert (found["rows"], found.least_expected) == (5822, pytest.approx(expected.expected_freq.min()))
    assert found.partial_correlation == pytest.approx(np.sqrt(found.chi2 / 5822))
    assert bool(found.valid)


def test_given_columns_are_strata(con: duckdb.DuckDBPyConnection) -> None:
    coil.table(con, "coil", "ABE", coil.ABE)
    found = con.execute("SELECT chi2, df FROM independence_test('coil', 'B', 'E', given=['A'], count='n')").fetchone()
    table = np.array(coil.ABE).reshape(2, 2, 2)
    assert found == (pytest.approx(sum(chi2_contingency(part, correction=False).statistic for part in table)), 2)
    assert round(found[0], 2) == 2.28  # the model AB,AE of Table 4.4


def test_empty_rows_of_a_stratum_have_no_freedom() -> None:
    table = np.array([[[5.0, 0], [3, 4], [2, 1]], [[6, 0], [1, 2], [0, 9]]])  # the second stratum has two columns only
    assert conditional(table).df == 2 + 1


def rejected(tables: np.ndarray, level: float = 0.05) -> float:
    found = [conditional(table) for table in tables]
    return float(np.mean([each.p_value < level for each in found]))


def test_the_level_on_randomized_rows() -> None:
    """Under independence the test on published rows rejects at its level (Result 9), whatever the matrices."""
    rng = np.random.default_rng(17)
    population = np.outer([0.2, 0.3, 0.5], [0.6, 0.1, 0.3])
    for matrices in ((uniform(0.8, 3), uniform(0.6, 3)), (rng.dirichlet([1] * 3, 3).T, rng.dirichlet([1] * 3, 3).T)):
        published = (
            rng.multinomial(1000, along_axes(population, matrices).ravel(), 4000).reshape(-1, 3, 3).astype(float)
        )
        assert 0.04 < rejected(published) < 0.06


def test_the_level_given_another_column() -> None:
    """Kept where that column is not randomized, lost where it is (Result 10)."""
    rng = np.random.default_rng(19)
    strong = np.array([[0.9, 0.1], [0.1, 0.9]])
    population = np.einsum("k,ik,jk->ijk", [0.5, 0.5], strong, strong)
    published = along_axes(population, (uniform(0.9, 2), uniform(0.8, 2), np.eye(2)))
    tables = rng.multinomial(2000, published.ravel(), 3000).reshape(-1, 2, 2, 2).astype(float)
    assert 0.04 < rejected(tables) < 0.06
    mixed = along_axes(population, (np.eye(2), np.eye(2), uniform(0.8, 2)))
    assert rejected(rng.multinomial(2000, mixed.ravel(), 200).reshape(-1, 2, 2, 2).astype(float)) > 0.99


def test_power_is_that_of_simulation() -> None:
    """A dependence that the original would show with a power of 0.8, randomized: found as often as is said."""
    rng = np.random.default_rng(23)
    matrices = (uniform(0.85, 2), uniform(0.8, 2))
    population = np.array([[0.28, 0.22], [0.2, 0.3]])
    kept = efficiency(population, matrices)
    exact = [conditional(each).chi2 for each in (along_axes(population, matrices), population)]
    assert kept == pytest.approx(exact[0] / exact[1])
    n = 7.849 / exact[1]  # rows for a power of 0.8 at the level of 0.05
    said = power_left(kept, 1, 0.05, 0.8)
    draws = rng.multinomial(round(n), along_axes(population, matrices).ravel(), 4000).reshape(-1, 2, 2).astype(float)
    assert rejected(draws) == pytest.approx(said, abs=0.03)
    before = rng.multinomial(round(n), population.ravel(), 4000).reshape(-1, 2, 2).astype(float)
    assert rejected(before) == pytest.approx(0.8, abs=0.03)


def test_efficiency_of_more_levels_is_an_average() -> None:
    """Over random directions of a weak dependence, in the metric of χ²."""
    rng = np.random.default_rng(24)
    a, b = np.array([0.2, 0.3, 0.5]), np.array([0.1, 0.2, 0.3, 0.4])
    matrices = (uniform(0.7, 3), rng.dirichlet([2] * 4, 4).T)
    ratios = [[], []]
    for _ in range(3000):
        noise = rng.normal(size=(3, 4)) * np.sqrt(np.outer(a, b))
        noise = noise - np.outer(a, noise.sum(axis=0)) - np.outer(noise.sum(axis=1), b) + np.outer(a, b) * noise.sum()
        table = np.outer(a, b) + 1e-4 * noise
        ratios[0].append(conditional(along_axes(table, matrices)).chi2)
        ratios[1].append(conditional(table).chi2)
    assert efficiency(np.outer(a, b), matrices) == pytest.approx(np.mean(ratios[0]) / np.mean(ratios[1]), rel=0.05)


def test_no_randomization_loses_nothing() -> None:
    assert efficiency(np.ones((3, 4, 2)) / 24, (np.eye(3), np.eye(4))) == pytest.approx(1)
    assert power_left(1.0, 6, 0.05, 0.8) == pytest.approx(0.8)
    assert power_left(0.0, 6, 0.05, 0.8) == 0.05


def test_partial_correlation_only_falls() -> None:
    """Result 11, on expected tables of three binary columns of which the third is not randomized."""
    rng = np.random.default_rng(29)
    for _ in range(2000):
        table = rng.dirichlet([0.7] * 8).reshape(2, 2, 2)
        matrices = [rng.dirichlet([1, 1], 2).T for _ in range(2)] + [np.eye(2)]
        before, after = partial_correlation(table), partial_correlation(along_axes(table, matrices))
        if before is not None and after is not None:
            assert abs(after) <= abs(before) + 1e-9


def test_partial_correlation_is_that_of_residuals() -> None:
    rng = np.random.default_rng(31)
    rows = rng.integers(0, 2, (5000, 3)) | rng.integers(0, 2, (5000, 1))
    table = np.zeros((2, 2, 2))
    np.add.at(table, tuple(rows.T), 1)
    r = np.corrcoef(rows.T)
    expected = (r[0, 1] - r[0, 2] * r[1, 2]) / np.sqrt((1 - r[0, 2] ** 2) * (1 - r[1, 2] ** 2))  # (4.5)
    assert partial_correlation(table) == pytest.approx(expected)


def test_views_say_what_is_valid_and_what_is_lost(survey: duckdb.DuckDBPyConnection) -> None:
    survey.execute("CREATE VIEW survey_rr AS FROM rr_mask('survey', p={'gender': 0.7, 'disease': 0.6}, key='id')")
    ask = "SELECT valid, why, efficiency, power, power_original, power_lost FROM independence_test('survey_rr', {}, power=0.9)"
    valid, why, efficiency, now, before, lost = survey.execute(ask.format("'gender', 'disease'")).fetchone()
    assert valid is True
    assert why == "gender, disease is randomized: the test keeps its level and has less power (Result 9)"
    assert 0 < efficiency < 0.2
    assert before == 0.9
    assert lost == pytest.approx(before - now)
    assert 0.05 < now < 0.4
    valid, why, *rest = survey.execute(ask.format("'gender', 'smoker', given=['disease']")).fetchone()
    assert valid is False
    assert "disease is randomized, so that rows of one stratum come from several" in why
    assert rest == [None] * 4
    assert survey.execute(ask.format("'gender', 'disease', given=['smoker']")).fetchone()[1].endswith("(Result 10)")
    named = survey.execute(
        "SELECT valid FROM independence_test('survey', 'gender', 'smoker', given='disease', randomized='disease')"
    )
    assert named.fetchone() == (False,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("'gender', 'diseas'", r'columns names column "diseas", which does not exist\. Did you mean "disease"\?'),
        ("'gender', 'gender'", r'column "gender" is named twice'),
        ("'gender', 'id'", r'column "id" has more than 1,000 levels'),
        ("'gender', 'one'", r'column "one" has a single level; there is no test'),
        ("'gender', 'disease', significance=0.9", r"significance must be from 0\.000001 to 0\.5, got 0\.9"),
        ("'gender', 'disease', given=['gender']", r'column "gender" is named twice'),
        ("'gender', 'disease', randomized=['age']", r'randomized names column "age", which the call is not about'),
    ],
)
def test_what_is_refused(survey: duckdb.DuckDBPyConnection, call: str, message: str) -> None:
    survey.execute("CREATE TABLE t AS SELECT *, 1 AS one FROM survey")
    with pytest.raises(duckdb.InvalidInputException, match=f"independence_test.*{message}"):
        survey.execute(f"FROM independence_test('t', {call})").fetchall()
