"""Counts and shares of conditions, however SQL writes them; all else is refused."""

from __future__ import annotations

import pytest
import sqlglot

from ppduck.errors import Faults, PpduckError
from ppduck.estimators.answers import aggregate, name_of, outputs

pytestmark = pytest.mark.core


def is_flag(column: str) -> bool:
    return column == "smoker"


def read(text: str) -> tuple[str, str | None]:
    found = aggregate(Faults("rr_query"), "n", sqlglot.parse_one(text, dialect="duckdb"), is_flag)
    return found.condition.sql(dialect="duckdb"), None if found.of is None else found.of.sql(dialect="duckdb")


@pytest.mark.parametrize(
    ("text", "condition", "of"),
    [
        ("count(*)", "TRUE", None),
        ("count(*) FILTER (WHERE a = 1)", "a = 1", None),
        ("count(a)", "TRUE AND NOT (a) IS NULL", None),
        ("count_if(a = 1)", "TRUE AND a = 1", None),
        ("sum(CASE WHEN a = 1 THEN 1 ELSE 0 END)", "TRUE AND a = 1", None),
        ("sum(CASE WHEN a = 1 THEN 1 END)", "TRUE AND a = 1", None),
        ("sum((a = 1)::INT)", "TRUE AND a = 1", None),
        ("avg(CASE a WHEN 1 THEN 1 ELSE 0 END)", "TRUE AND a = 1", "TRUE AND TRUE"),
        ("avg(smoker::INT)", "TRUE AND smoker", "TRUE AND NOT (smoker) IS NULL"),
        ("mean((a = 1)::INT) FILTER (WHERE b)", "b AND a = 1", "b AND NOT (a = 1) IS NULL"),
    ],
)
def test_counts_and_shares(text: str, condition: str, of: str | None) -> None:
    assert read(text) == (condition, of)


@pytest.mark.parametrize(
    "text",
    [
        "sum(a)",
        "avg(age)",
        "max(a)",
        "sum(CASE WHEN a THEN 2 ELSE 0 END)",
        "avg(CASE WHEN a THEN 1 END)",
        "avg(gender)",
    ],
)
def test_values_cannot_be_answered(text: str) -> None:
    with pytest.raises(PpduckError, match=r"^rr_query: .* cannot be answered; counts and averages of conditions can"):
        read(text)


def test_different_values_cannot_be_counted() -> None:
    with pytest.raises(PpduckError, match=r"COUNT\(DISTINCT a\) cannot be answered: how many values are different"):
        read("count(DISTINCT a)")


def test_names() -> None:
    names = [name_of(sqlglot.parse_one(each, dialect="duckdb")) for each in ("count(*)", "count_if(a)", "avg(a::INT)")]
    assert names == ["count", "count_if", "avg"]
    assert outputs("n") == ["n", "n_std_error", "n_lower", "n_upper"]
