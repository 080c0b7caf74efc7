"""independence_test: its level on randomized rows, when it is valid, and the power that randomization costs."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest
from scipy.stats import chi2_contingency

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


def test_views_say_what_is_valid_and_what_is_lost(survey: duckdb.DuckDBPyConnection) -> None:
    survey.execute("CREATE VIEW survey_rr AS FROM rr_mask('survey', p={'gender': 0.7, 'disease': 0.6}, key='id')")
    ask = "SELECT valid, why, efficiency, power, power_original, power_lost FROM independence_test('survey_rr', {}, power=0.9)"
    valid, why, efficiency, now, before, lost = survey.execute(ask.format("'gender', 'disease'")).fetchone()
    assert valid is True
    assert why == "gender, disease is randomized: the test keeps its level and has less power (Guo 2010, Result 9)"
    assert 0 < efficiency < 0.2
    assert before == 0.9
    assert lost == pytest.approx(before - now)
    assert 0.05 < now < 0.4
    valid, why, *rest = survey.execute(ask.format("'gender', 'smoker', given=['disease']")).fetchone()
    assert valid is False
    assert "disease is randomized, so that rows of one stratum come from several" in why
    assert rest == [None] * 4
    assert (
        survey.execute(ask.format("'gender', 'disease', given=['smoker']"))
        .fetchone()[1]
        .endswith("(Guo 2010, Result 10)")
    )
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
