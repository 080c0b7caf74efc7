"""chi2_independence where ppduck is loaded; the macro itself is tested with the file that it stands in."""

from __future__ import annotations

import duckdb
import pytest
from scipy.stats import chi2_contingency

from ppduck.association.chi2_independence import MACRO
from tests.association.conftest import table_of

pytestmark = pytest.mark.core


@pytest.mark.parametrize("columns", [["gender", "disease"], ["gender", "disease", "smoker"]], ids=len)
def test_statistics_are_those_of_scipy(survey: duckdb.DuckDBPyConnection, columns: list[str]) -> None:
    table = table_of(survey, "survey", columns)
    found = dict(survey.execute(f"FROM chi2_independence('survey', columns={columns})").fetchall())
    chi2, g2 = (chi2_contingency(table, correction=False, lambda_=way) for way in ("pearson", "log-likelihood"))
    assert found == pytest.approx({"rows": 6000, "chi2": chi2.statistic, "g2": g2.statistic, "df": chi2.dof})


def test_the_order_of_columns_does_not_matter(survey: duckdb.DuckDBPyConnection) -> None:
    one, other = (
        dict(survey.execute(f"FROM chi2_independence('survey', {columns})").fetchall())
        for columns in (["gender", "disease", "smoker"], ["smoker", "gender", "disease"])
    )
    assert one == pytest.approx(other, rel=1e-9)


def test_columns_are_those_that_are_registered(survey: duckdb.DuckDBPyConnection) -> None:
    found = survey.execute("DESCRIBE FROM chi2_independence('survey', ['gender', 'smoker'])").fetchall()
    assert [row[:2] for row in found] == [(each.name, each.type) for each in MACRO.results]


def test_one_column_is_refused(survey: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=r"columns names 1 column\(s\), .* Name two or more"):
        survey.execute("FROM chi2_independence('survey', ['gender'])")
