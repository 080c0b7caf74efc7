"""Columns of a view are followed to its mask by its text alone, or it is said why not."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from ppduck.designs.design import Attribute, Design
from ppduck.estimators.lineage import Origin, UnreadableError, created_columns, named_as, origins

pytestmark = pytest.mark.core
X = Attribute("x", "VARCHAR", ("a", "b"), 0.9)
DESIGN = Design("rr_mask", '"t"', (X,), ("id", "x", "age"))


class Views:
    """One view over the mask."""

    def created(self, table: exp.Table) -> str:
        if table.name != "v":
            raise UnreadableError(f"reads {table.name}")
        return "CREATE VIEW v(id, y, age) AS FROM rr_mask('t', p={'x': 0.9})"


def followed(query: str, design: Design = DESIGN) -> list[Origin]:
    return origins(sqlglot.parse_one(query, dialect="duckdb"), {"rr_mask"}, design, Views())


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("FROM rr_mask('t')", [("id", None), ("x", X), ("age", None)]),
        ("SELECT x AS y, age // 10 AS decade FROM rr_mask('t') WHERE age > 3", [("y", X), ("decade", None)]),
        ("SELECT * EXCLUDE (id) RENAME (x AS y) FROM rr_mask('t') m", [("y", X), ("age", None)]),
        ("SELECT v.y FROM v ORDER BY age", [("y", X)]),
        ("SELECT y FROM (SELECT * REPLACE (age + 1 AS age) FROM v)", [("y", X)]),
    ],
)
def test_plain_selections(query: str, columns: list[tuple[str, Attribute | None]]) -> None:
    assert [(each.name, each.attribute) for each in followed(query)] == columns


def test_what_is_made_of_randomized_columns_is_spoilt() -> None:
    found = followed("SELECT x = 'a' AS is_a, age FROM rr_mask('t')")
    assert [each.spoilt for each in found] == [True, False]
    assert [each.is_plain for each in found] == [False, True]


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("SELECT x FROM rr_mask('t') WHERE x = 'a'", "filters on a randomized column"),
        ("SELECT x FROM rr_mask('t') LIMIT 3", "has a LIMIT clause"),
        ("SELECT DISTINCT x FROM rr_mask('t')", "has a DISTINCT clause"),
        ("SELECT x FROM rr_mask('t') UNION ALL FROM rr_mask('t')", "is no plain SELECT but a UNION"),
        ("SELECT x FROM pram_mask('t')", "calls pram_mask, not rr_mask or pram_mask"),
        ("SELECT upper(x) AS x FROM rr_mask('t')", "holds UPPER.x., which cannot be looked through"),
        ("SELECT a.x FROM rr_mask('t') m", "cannot be told from a part of a struct"),
        ("SELECT x, age AS X FROM rr_mask('t')", "gives two columns the same name"),
        ("SELECT y FROM (SELECT age + 1, x AS y FROM rr_mask('t'))", "reads an expression that has no alias"),
        ("SELECT z FROM rr_mask('t')", 'reads "z", which is no column'),
        ("SELECT 1", "reads no table"),
        ("SELECT x FROM w", "reads w"),
    ],
)
def test_whatever_else_is_not_followed(query: str, why: str) -> None:
    with pytest.raises(UnreadableError, match=why):
        followed(query)


def test_a_mask_of_unseen_columns_is_not_followed() -> None:
    with pytest.raises(UnreadableError, match="columns cannot be seen"):
        followed("FROM rr_mask('t')", Design("rr_mask", '"t"', (X,), None))


def test_a_view_has_the_names_of_its_list() -> None:
    found = created_columns("CREATE VIEW v(a, b) AS SELECT id, x, age FROM rr_mask('t')", {"rr_mask"}, DESIGN, Views())
    assert [each.name for each in found] == ["a", "b", "age"]
    with pytest.raises(UnreadableError, match="was not made by CREATE VIEW"):
        created_columns("SELECT 1", {"rr_mask"}, DESIGN, Views())


def test_names_are_those_that_duckdb_gives_or_nothing_is_said() -> None:
    found = [Origin("x", X), Origin("")]
    assert [each.name for each in named_as(found, ["X", "(age + 1)"])] == ["X", "(age + 1)"]
    for names in (["x"], ["y", "z"]):
        with pytest.raises(UnreadableError, match="other columns than its text says"):
            named_as(found, names)
