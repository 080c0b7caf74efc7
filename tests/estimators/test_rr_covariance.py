"""rr_covariance: the matrix of the paper, symmetric, with rr_reconstruct's errors on its diagonal."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

from tests.estimators.test_rr_reconstruct import counted, rows
from tests.kernels.test_distortion import GH, GH_COVARIANCE

pytestmark = pytest.mark.core


def test_the_covariance_of_the_paper(con: duckdb.DuckDBPyConnection) -> None:
    counted(con, "gh", GH)
    found = rows(con, "FROM rr_covariance('gh', ['a', 'b'], p=0.9)")
    assert [row[0] for row in found[::4]] == [{"a": a, "b": b} for a in (0, 1) for b in (0, 1)]
    assert [row[1] for row in found[:4]] == [{"a": a, "b": b} for a in (0, 1) for b in (0, 1)]
    np.testing.assert_array_equal(np.round(np.array([row[2] for row in found]).reshape(4, 4) * 1e5, 3), GH_COVARIANCE)


def test_the_diagonal_is_that_of_rr_reconstruct(survey: duckdb.DuckDBPyConnection) -> None:
    survey.execute("CREATE VIEW survey_rr AS FROM rr_mask('survey', p={'gender': 0.9, 'disease': 0.8}, key='id')")
    for options in ("", ", target='table'", ", method='mle'"):
        diagonal = rows(
            survey,
            "SELECT c.covariance, r.std_error ^ 2 "
            f"FROM rr_covariance('survey_rr', ['gender', 'disease']{options}) c "
            f"JOIN rr_reconstruct('survey_rr', ['gender', 'disease']{options}) r "
            "ON c.cell_a = c.cell_b AND c.cell_a.gender = r.gender AND c.cell_a.disease = r.disease",
        )
        assert len(diagonal) == 6
        assert [a for a, _ in diagonal] == pytest.approx([b for _, b in diagonal], abs=1e-15)


def test_rows_sum_to_zero(survey: duckdb.DuckDBPyConnection) -> None:
    """Shares sum to 1, so that each has no covariance with the sum of all."""
    survey.execute("CREATE VIEW survey_rr AS FROM rr_mask('survey', p={'gender': 0.9, 'disease': 0.8}, key='id')")
    found = rows(
        survey, "SELECT sum(covariance) FROM rr_covariance('survey_rr', ['gender', 'disease']) GROUP BY cell_a"
    )
    assert [value for (value,) in found] == pytest.approx([0] * 6, abs=1e-18)


def test_bad_input(survey: duckdb.DuckDBPyConnection) -> None:
    survey.execute("CREATE TABLE wide AS SELECT i % 40 AS a, i // 40 AS b FROM range(1600) r(i)")
    for call, message in {
        "rr_covariance('wide', ['a', 'b'], p=0.9)": r"would have 1,600 cells \(40 × 40 levels\), more than the 1,000",
        "rr_covariance('survey', ['gender', 'id'], p={'gender': 0.9, 'id': 1})": r'column "id" has more than 1,000 levels, which is no category',
        "rr_covariance('survey', ['gender'])": r'"survey" is no view over rr_mask',
        "rr_covariance('survey', ['gender'], p=0.5)": r"p = 1/2 makes",
        "rr_covariance('survey', ['gender', 'gender'], p=0.9)": r'columns names column "gender" twice',
    }.items():
        with pytest.raises(duckdb.InvalidInputException, match=message):
            rows(survey, f"FROM {call}")
