"""The stages of a recoding: one where nothing is counted, and a source that is read once where it can be read once."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import duckdb
import pytest

from ppduck.catalogue.source import Column
from ppduck.catalogue.tables import Catalog
from ppduck.masks._number_ranges import Ranges, numbers_of
from ppduck.masks._recode_rules import Classed, Coded, Merged, Quantile, Recoding, Shortened
from ppduck.masks._recoding import Recodings
from ppduck.query import tree as sql
from ppduck.stages.plan import Plan, Rows
from tests.catalogue.reading import Reader

pytestmark = pytest.mark.core
TOP = Quantile(Fraction(9, 10))


@pytest.fixture
def plain() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS SELECT (i % 256 - 128)::TINYINT AS x, 'c' || i % 3 AS city FROM range(256) r(i)")
        yield con


def planned(con: duckdb.DuckDBPyConnection, *recodings: Recoding, tbl: str = "t") -> Plan:
    source = Catalog(Reader(con)).source("recode_mask", tbl)
    return Recodings("recode_mask", source, recodings, []).plan()


def classed(*edges: int, lower: bool = False, below: bool = True, above: bool = True) -> Classed:
    numbers = numbers_of("TINYINT")
    assert numbers is not None
    ranges = Ranges(tuple(map(Fraction, edges)), below, above, whole=True)
    return Classed(Column("x", "TINYINT"), numbers, ranges, lower, asked=False)


def coded(**bounds: Quantile | Fraction) -> Coded:
    numbers = numbers_of("TINYINT")
    assert numbers is not None
    return Coded(Column("x", "TINYINT"), numbers, bounds.get("bottom"), bounds.get("top"))


CITY = Column("city", "VARCHAR")


def test_what_needs_no_count_reads_its_rows_once(plain: duckdb.DuckDBPyConnection) -> None:
    for recoding in (classed(0), coded(top=Fraction(5)), Shortened(CITY, 1)):
        plan = planned(plain, recoding, tbl="(FROM t)")
        assert plan.stages == ()
        assert isinstance(plan.answer, Rows)


@pytest.mark.parametrize(("tbl", "kept"), [("t", False), ("(FROM t)", True)])
def test_a_select_is_kept_where_it_is_read_twice(plain: duckdb.DuckDBPyConnection, tbl: str, kept: bool) -> None:
    for recoding in (coded(top=TOP), Merged(CITY, None, 5, "other")):
        plan = planned(plain, recoding, tbl=tbl)
        assert plan.stages[0].kept is kept
        assert sql.render(plan.query()).count(sql.render(sql.name("_pp_row")) + ".*") == 1


def test_every_quantile_and_level_is_found_in_a_stage_of_its_own(plain: duckdb.DuckDBPyConnection) -> None:
    plan = planned(plain, coded(top=TOP), Merged(CITY, 1, 5, "other"))
    assert str(plan).splitlines() == [
        "_pp_source: rows",
        "_pp_counted0: totals",
        "  _pp_count: sum",
        "_pp_ranked0: groups",
        "_pp_levels0: groups, kept",
        "_pp_quantiles: sorted, kept",
        "_pp_look: groups, kept",
        "_pp_answer: rows",
    ]


def released(con: duckdb.DuckDBPyConnection, classes: Classed) -> list[str | int]:
    statement = sql.render(planned(con, classes).query())
    return [row[0] for row in con.execute(statement).fetchall()]


def test_edges_that_the_type_cannot_have_are_not_asked_for(plain: duckdb.DuckDBPyConnection) -> None:
    """A TINYINT goes from -128 to 127: an edge at 200 as TINYINT would be an error, and one at -128 is always reached."""
    found = released(plain, classed(-300, -128, 0, 127, 200))
    assert found == ["-128 to -1"] * 128 + ["0-126"] * 127 + ["127-199"]
    statement = sql.render(planned(plain, classed(-300, -128, 0, 127, 200)).query())
    assert "CAST('200'" not in statement
    assert "CAST('-128'" not in statement


def test_lower_bounds_have_the_columns_type(plain: duckdb.DuckDBPyConnection) -> None:
    classes = classed(-128, -8, 0, 100, lower=True, below=False)
    assert released(plain, classes) == [-128] * 120 + [-8] * 8 + [0] * 100 + [100] * 28
    assert str(plain.sql(sql.render(planned(plain, classes).query())).types[0]) == "TINYINT"


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (classed(0, 300, below=False, above=False), "holds a value outside the ranges that were there"),
        (classed(-128, 100, below=False, above=False), "holds a value outside the ranges that were there"),
        (classed(0, lower=True), "holds a value below the first of breaks, which has no lower bound"),
    ],
)
def test_values_without_a_range_are_refused(plain: duckdb.DuckDBPyConnection, classes: Classed, message: str) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=f'recode_mask on "t": column "x" {message}'):
        released(plain, classes)


def test_a_thousand_edges_are_found_by_halves(plain: duckdb.DuckDBPyConnection) -> None:
    plain.execute("CREATE OR REPLACE TABLE t AS SELECT i::INTEGER AS x, 'a' AS city FROM range(10000) r(i)")
    numbers = numbers_of("INTEGER")
    assert numbers is not None
    ranges = Ranges(tuple(Fraction(10 * i) for i in range(1000)), True, True, whole=True)
    classes = Classed(Column("x", "INTEGER"), numbers, ranges, False, asked=False)
    found = released(plain, classes)
    labels = ranges.labels
    assert found == [labels[min(i // 10, 999) + 1] for i in range(10_000)]
    statement = sql.render(planned(plain, classes).query())
    depth = most = 0
    for word in statement.replace("(", " ").replace(")", " ").split():
        depth += (word == "CASE") - (word == "END")
        most = max(most, depth)
    assert most <= 12
