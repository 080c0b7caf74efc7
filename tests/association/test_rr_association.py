"""rr_association: measures of the table before randomization, with errors that simulation confirms."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

from ppduck.kernels.association import ANY_SIZE, TWO_BY_TWO, gradient, measures_for, value
from ppduck.kernels.distortion import Reconstruction, along_axes, half_width, uniform
from tests.estimators.test_rr_reconstruct import counted, rows

pytestmark = pytest.mark.core

TRUTH = np.array([[2458.0, 282.0], [2248.0, 834.0]])  # A and B of COIL


def test_the_expected_table_gives_the_original_measures(con: duckdb.DuckDBPyConnection) -> None:
    counted(con, "original", TRUTH)
    p = uniform(0.9, 2)
    counted(con, "published", np.round(along_axes(TRUTH, (p, p))))
    original = dict(rows(con, "FROM association_measures('original', 'a', 'b')"))
    found = {row[0]: row[1:] for row in rows(con, "FROM rr_association('published', 'a', 'b', p=0.9)")}
    naive = dict(rows(con, "FROM association_measures('published', 'a', 'b')"))
    assert list(found) == list(original) == [*ANY_SIZE, *TWO_BY_TWO]
    for name, (estimate, error, lower, upper, as_published, why) in found.items():
        assert estimate == pytest.approx(original[name], rel=0.02), name
        assert as_published == pytest.approx(naive[name]), name
        assert lower < estimate < upper, name
        assert upper - lower == pytest.approx(2 * 1.959964 * error, rel=0.15), name
        assert (error > 0, why) == (True, None), name


def test_errors_are_those_of_simulation() -> None:
    """20,000 samples of 5,822 rows, randomized: the spread of every measure is what the delta method says."""
    rng = np.random.default_rng(5)
    population, matrices = TRUTH / TRUTH.sum(), (uniform(0.9, 2), uniform(0.85, 2))
    expected = along_axes(population, matrices)
    published = rng.multinomial(5822, expected.ravel(), size=20_000).reshape(-1, 2, 2)
    estimates = published / 5822
    for axis, matrix in enumerate(matrices):
        estimates = np.moveaxis(np.tensordot(np.linalg.inv(matrix), estimates, axes=(1, axis + 1)), 0, axis + 1)
    exact = Reconstruction(5822 * expected, matrices)
    covariance = exact.covariance(population)
    for name, measure in measures_for((2, 2)).items():
        slope = gradient(measure, population, 5822)
        error = np.sqrt(slope @ covariance @ slope)
        found = np.asarray(measure(estimates, 5822))
        inside = np.abs(found - value(measure, population, 5822)) <= half_width(0.95, "normal") * error
        assert np.std(found) == pytest.approx(error, rel=0.08), name
        assert 0.93 < inside.mean() < 0.97, name


def test_views_ranges_and_targets(survey: duckdb.DuckDBPyConnection) -> None:
    survey.execute("CREATE VIEW survey_rr AS FROM rr_mask('survey', p={'gender': 0.9, 'disease': 0.8}, key='id')")
    truth = dict(rows(survey, "FROM association_measures('survey', 'gender', 'disease')"))
    for measure, estimate, error, *_ in rows(survey, "FROM rr_association('survey_rr', 'gender', 'disease')"):
        if measure in ("chi2", "concentration", "cramers_v"):
            assert abs(estimate - truth[measure]) < 4 * error, measure
    width = "SELECT (upper - lower) / std_error FROM rr_association('survey_rr', 'gender', 'smoker', {}) WHERE measure = 'piatetsky_shapiro'"
    assert rows(survey, width.format("range='chebyshev'"))[0][0] == pytest.approx(2 * np.sqrt(20))
    assert rows(survey, width.format("confidence=0.9"))[0][0] == pytest.approx(2 * 1.644854, rel=1e-6)
    error = "SELECT std_error FROM rr_association('survey_rr', 'gender', 'disease', target='{}') WHERE measure = 'chi2'"
    assert rows(survey, error.format("table")) < rows(survey, error.format("population"))


def test_three_columns_and_more(survey: duckdb.DuckDBPyConnection) -> None:
    survey.execute("CREATE VIEW survey_rr AS FROM rr_mask('survey', p={'gender': 0.95, 'disease': 0.95}, key='id')")
    truth = dict(rows(survey, "FROM chi2_independence('survey', ['gender', 'disease', 'smoker'])"))
    found = rows(survey, "FROM rr_association('survey_rr', ['gender', 'disease', 'smoker'])")
    assert [row[0] for row in found] == ["chi2", "g2"]
    assert abs(found[0][1] - truth["chi2"]) < 4 * found[0][2]


def test_a_cell_at_zero_has_no_error_where_there_is_none(con: duckdb.DuckDBPyConnection) -> None:
    counted(con, "t", np.array([[30, 170], [280, 20]]))
    found = {row[0]: row[1:] for row in rows(con, "FROM rr_association('t', 'a', 'b', p={'a': 0.8, 'b': 0.7})")}
    assert found["g2"][0] > 0
    assert found["g2"][1] is found["g2"][2] is found["g2"][3] is None
    assert found["g2"][5] == "a cell of the unbiased table is not above 0, where this measure has no slope"
    assert found["chi2"][1] > 0
    assert 0 < found["chi2"][2] <= found["chi2"][0] == found["chi2"][3] == 500, "N is the most that it can be"


def test_estimates_lie_in_their_ranges_and_ratios_above_0(con: duckdb.DuckDBPyConnection) -> None:
    """150 tables of 300 rows at p = 0.65, of which many have a negative cell."""
    rng = np.random.default_rng(3)
    published = along_axes(np.array([[0.7, 0.1], [0.12, 0.08]]), (uniform(0.65, 2),) * 2)
    for draw in range(150):
        counts = rng.multinomial(300, published.ravel()).reshape(2, 2)
        counted(con, f"t{draw}", counts)
        for measure, estimate, _, lower, upper, _, why in rows(
            con, f"FROM rr_association('t{draw}', 'a', 'b', p=0.65)"
        ):
            assert (lower is None) == (upper is None) == (why is not None), measure
            if lower is not None:
                assert lower <= estimate <= upper, measure
                assert lower >= 0 or measure not in ("odds_ratio", "interest", "conviction", "collective_strength"), (
                    measure
                )


def test_near_independence_chi2_and_its_kin_have_ranges_from_0_and_no_error(con: duckdb.DuckDBPyConnection) -> None:
    """Their first derivative vanishes, and with it the delta method's error."""
    counted(con, "t", np.array([[250, 250], [250, 252]]))
    found = {row[0]: row[1:] for row in rows(con, "FROM rr_association('t', 'a', 'b', p=0.9)")}
    for name in ("chi2", "g2", "mutual_information", "concentration", "uncertainty", "cramers_v", "j_measure"):
        estimate, error, lower, upper, _, why = found[name]
        assert (error, lower, why) == (None, 0, None), name
        assert upper > estimate, name
    assert found["phi"][1] > 0.03
    assert found["odds_ratio"][1] > 0.1


def test_a_cell_that_is_zero_but_for_rounding_is_zero(con: duckdb.DuckDBPyConnection) -> None:
    """Cells that cancel exactly: 5e-17 instead of 0 would make an odds ratio of 1e14."""
    counted(con, "t", np.array([[227, 57], [172, 44]]))
    found = {row[0]: row[1:] for row in rows(con, "FROM rr_association('t', 'a', 'b', p=0.8)")}
    assert found["odds_ratio"][:2] == (np.inf, None)
    assert found["g2"][0] == pytest.approx(3.176155)
    assert found["g2"][1] is None


def test_few_rows_in_a_published_cell_leave_no_range(con: duckdb.DuckDBPyConnection) -> None:
    counted(con, "t", np.array([[250, 30], [20, 4]]))
    call = "SELECT lower, upper, why FROM rr_association('t', 'a', 'b', p={}, target='{}')"
    few = "a cell of the published table has fewer than 5 rows, too few for the normal law"
    assert set(rows(con, call.format(0.95, "population"))) == {(None, None, few)}
    assert all(why is None for *_, why in rows(con, call.format(1, "table"))), "nothing is left to chance"
    con.execute("INSERT INTO t FROM (FROM t WHERE a = 1 AND b = 1 LIMIT 1)")
    assert few not in {why for *_, why in rows(con, call.format(0.95, "population"))}


def test_bad_input(survey: duckdb.DuckDBPyConnection) -> None:
    for call, message in {
        "rr_association('(SELECT *, 1 AS one FROM survey)', 'gender', 'one', p={'gender': 0.9, 'one': 1})": r'column "one" has a single level',
        "rr_association('survey', 'gender', 'id', p={'gender': 0.9, 'id': 1})": r'column "id" has more than 1,000 levels, which is no category',
        "rr_association('survey', 'gender', 'disease')": r'"survey" is no view over rr_mask',
        "rr_association('survey', 'gender', p=0.9)": r"an association needs two columns",
        "rr_association('survey', 'gender', 'gender', p=0.9)": r'columns names column "gender" twice',
        "rr_association('survey', 'gender', 'diseas', p=0.9)": r'Did you mean "disease"\?',
        "rr_association('survey', 'gender', 'smoker', p={'gender': 0.9})": r'p is missing for column "smoker"',
    }.items():
        with pytest.raises(duckdb.InvalidInputException, match=message):
            rows(survey, f"FROM {call}")
