"""association_measures where ppduck is loaded; the macro itself is tested with the file that it stands in."""

from __future__ import annotations

import duckdb
import pytest
from scipy.stats import chi2_contingency
from scipy.stats.contingency import association

from ppduck.association.association_measures import MACRO
from ppduck.kernels.association import measures_for, value
from tests.association.conftest import table_of

pytestmark = pytest.mark.core


def test_measures_are_those_of_scipy(survey: duckdb.DuckDBPyConnection) -> None:
    counted = table_of(survey, "survey", ["gender", "disease"])
    found = dict(survey.execute("FROM association_measures('survey', a='gender', b='disease')").fetchall())
    assert found["chi2"] == pytest.approx(chi2_contingency(counted, correction=False).statistic)
    assert found["cramers_v"] == pytest.approx(association(counted.astype(int), method="cramer"))


@pytest.mark.parametrize("other", ["disease", "smoker"])
def test_the_macro_and_the_estimators_mean_the_same(survey: duckdb.DuckDBPyConnection, other: str) -> None:
    """What rr_association estimates are the measures that this function counts."""
    table = table_of(survey, "survey", ["gender", other])
    found = dict(survey.execute(f"FROM association_measures('survey', 'gender', '{other}')").fetchall())
    measures = measures_for(table.shape)
    assert found.keys() == measures.keys()
    for name, measure in measures.items():
        assert found[name] == pytest.approx(value(measure, table / table.sum(), table.sum()), rel=1e-9), name


def test_columns_are_those_that_are_registered(survey: duckdb.DuckDBPyConnection) -> None:
    found = survey.execute("DESCRIBE FROM association_measures('survey', 'gender', 'smoker')").fetchall()
    assert [row[:2] for row in found] == [(each.name, each.type) for each in MACRO.results]


def test_a_column_of_one_level_is_refused(survey: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=r'column "gender" has a single level'):
        survey.execute("FROM association_measures('(FROM survey WHERE gender = ''male'')', 'gender', 'smoker')")
