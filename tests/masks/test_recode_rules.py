"""Rules of a recoding: read by option, checked against the column's type, and refused all in one message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import duckdb
import pytest

from ppduck.call.parameters import MisreadError
from ppduck.catalogue.tables import Catalog
from ppduck.errors import Faults, PpduckError
from ppduck.masks._recode_rules import (
    OPTIONS,
    Classed,
    Coded,
    Merged,
    Quantile,
    Recoding,
    RuleReader,
    Shortened,
    rules_by_column,
)
from tests.catalogue.reading import Reader

pytestmark = pytest.mark.core


@pytest.fixture(scope="module")
def catalog() -> Iterator[Catalog]:
    with duckdb.connect() as con:
        con.execute(
            """
            CREATE TABLE t AS SELECT 20 + i AS age, (i / 2)::TINYINT AS tiny, i / 3.0::DOUBLE AS x,
                   (i / 4)::DECIMAL(6, 2) AS money, 'c' || i % 3 AS city, ['a', 'b'][1 + i % 2]::ENUM('a', 'b') AS grade,
                   DATE '2020-01-01' + i::INTEGER AS day, i % 2 = 0 AS flag, NULL::INTEGER AS none,
                   (-128)::TINYINT AS lowest
            FROM range(50) r(i)
            """
        )
        yield Catalog(Reader(con))


def read(catalog: Catalog, **rules: dict[str, Any]) -> list[Recoding]:
    source = catalog.source("recode_mask", "t")
    reader = RuleReader(catalog, source, Faults("recode_mask", "t"))
    return reader.read([(source.column(name), rule) for name, rule in rules.items()])


def classed(catalog: Catalog, **rules: dict[str, Any]) -> Classed:
    [found] = read(catalog, **rules)
    assert isinstance(found, Classed)
    return found


def test_ends_of_ranges_are_asked_of_the_data_only_where_nobody_gave_them(catalog: Catalog) -> None:
    reader = catalog.reader
    assert isinstance(reader, Reader)
    given = classed(catalog, age={"width": 20, "bottom": 30, "top": 60})
    assert (given.ranges.labels, given.asked) == (["<30", "30-39", "40-59", "60+"], False)
    assert classed(catalog, age={"breaks": [30, 50]}).ranges.labels == ["<30", "30-49", "50+"]
    before = reader.queries
    asked = classed(catalog, age={"width": 20, "top": 60})
    assert (asked.ranges.labels, asked.asked) == (["20-39", "40-59", "60+"], True)
    assert classed(catalog, age={"width": 20}).ranges.labels == ["20-39", "40-59", "60-79"]
    assert reader.queries > before, "the least and the greatest value"
    assert classed(catalog, none={"width": 20}).ranges.labels == ["0-19"]


def test_rules_become_values(catalog: Catalog) -> None:
    found = read(
        catalog,
        age={"top": 60.0, "bottom": "p2.5"},
        city={"keep": 1},
        grade={"rare_below": 3},
        tiny={"rare_below": 2, "as": -1},
        x={"width": 0.5, "from": 0.25, "label": "lower"},
    )
    age, city, grade, tiny, x = found
    assert isinstance(age, Coded)
    assert (age.bottom, age.top) == (Quantile(Fraction("0.025")), Fraction(60))
    assert age.quantiles == {"bottom": Quantile(Fraction("0.025"))}
    assert isinstance(city, Shortened)
    assert city.keep == 1
    assert isinstance(grade, Merged)
    assert (grade.keep, grade.rare_below, grade.called) == (None, 3, "other")
    assert isinstance(tiny, Merged)
    assert tiny.called == "-1"
    assert isinstance(x, Classed)
    assert x.lower
    assert x.ranges.labels[0] == "[-0.25, 0.25)"


def test_a_quantile_is_told_as_it_is_asked_for() -> None:
    assert [str(OPTIONS["top"](each)) for each in ("p99", "p99.50", "p0.1")] == ["p99", "p99.5", "p0.1"]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"age": {"widht": 5}}, r"there is no option 'widht'. Did you mean \"width\"? Options: \"width\", \"breaks\""),
        ({"age": {}}, "its rule says nothing that is to be done; give one of \"width\""),
        ({"age": {"label": "lower"}}, "its rule says nothing that is to be done"),
        ({"age": {"width": 0}}, "width takes a number above 0, got 0"),
        ({"age": {"width": True}}, "width takes a number above 0, got True"),
        ({"age": {"width": float("inf")}}, "width takes a number above 0, got inf"),
        ({"age": {"breaks": [3, 2]}}, "breaks takes a list of 1 to 999 rising numbers, such as [18, 30, 45, 65], got [3, 2]"),
        ({"age": {"breaks": []}}, "breaks takes a list of 1 to 999 rising numbers"),
        ({"age": {"breaks": 5}}, "breaks takes a list of 1 to 999 rising numbers"),
        ({"age": {"top": "99"}}, "top takes a number, or a quantile between 'p0' and 'p100', such as 'p99' or 'p99.5', got '99'"),
        ({"age": {"top": "p0"}}, "top takes a number, or a quantile"),
        ({"age": {"top": "p100"}}, "top takes a number, or a quantile"),
        ({"age": {"width": 5, "label": "upper"}}, "label takes one of 'range', 'lower', got 'upper'"),
        ({"city": {"keep": 0}}, "keep must be at least 1: with none nothing would be left, got 0"),
        ({"city": {"keep": 1.5}}, "keep takes a whole number of at least 1, got 1.5"),
        ({"city": {"rare_below": 1}}, "rare_below must be at least 2: every level has a row, got 1"),
        ({"city": {"rare_below": 5, "as": [1]}}, "as takes a text or a number, got [1]"),
        ({"city": {"keep": 1, "as": "x"}}, "'as' is what rare levels become; it needs rare_below"),
        ({"age": {"width": 5, "breaks": [1]}}, "'breaks' does not go with 'width'. Recode a table that is recoded already"),
        ({"age": {"breaks": [1], "top": 5}}, "'top' does not go with 'breaks'. Breaks say where all ranges begin and end"),
        ({"age": {"top": 5, "label": "lower"}}, "'label' does not go with 'top'. 'label' goes with ranges: give width"),
        ({"age": {"top": 5, "as": 9}}, "'as' does not go with 'top'. 'as' goes with rare_below"),
        ({"city": {"keep": 1, "top": 5}}, "'top' does not go with 'keep'"),
        ({"city": {"rare_below": 5, "from": 1}}, "'from' does not go with 'rare_below'"),
        ({"city": {"width": 5}}, "its type is VARCHAR, and width is for numbers. For texts there are keep and rare_below"),
        ({"grade": {"top": 5}}, "its type is ENUM, and top is for numbers"),
        ({"day": {"breaks": [1]}}, "its type is DATE, and breaks is for numbers"),
        ({"age": {"keep": 1}}, "its type is BIGINT, and keep counts the characters of texts; a number has lost the zeros"),
        ({"day": {"keep": 4}}, "its type is DATE, and keep counts the characters of texts. Make it a text in tbl"),
        ({"age": {"keep": 1, "rare_below": 3, "as": 4}}, "its type is BIGINT, and keep counts"),
        ({"flag": {"rare_below": 5}}, "its type is BOOLEAN, and rare_below counts texts, enums and whole numbers"),
        ({"x": {"rare_below": 5, "as": 1}}, "its type is DOUBLE, and rare_below counts"),
        ({"tiny": {"rare_below": 5, "as": "Infinity"}}, "rare levels cannot become 'Infinity', which is no TINYINT"),
        ({"age": {"rare_below": 5}}, "rare levels cannot become 'other', which is no BIGINT; give a number"),
        ({"tiny": {"rare_below": 5, "as": 1000}}, "rare levels cannot become '1000', which is no TINYINT"),
        ({"tiny": {"rare_below": 5, "as": 1.5}}, "rare levels cannot become '1.5', which is no TINYINT"),
        ({"age": {"width": 2.5}}, "width is 2.5, which is no BIGINT"),
        ({"tiny": {"top": 300}}, "top is 300, which is no TINYINT"),
        ({"money": {"breaks": [1, 2.125]}}, "breaks is 2.125, which is no DECIMAL(6,2)"),
        ({"age": {"width": 5, "bottom": 60, "top": 60}}, "bottom must be below top, got 60 and 60"),
        ({"age": {"bottom": "p99", "top": "p1"}}, "bottom must be below top, got 'p99' and 'p1'"),
        ({"age": {"width": 5, "top": "p99"}}, "top of ranges must be a number, because their names are fixed before"),
        ({"age": {"width": 5, "bottom": 3, "label": "lower"}}, "what is below bottom has no lower bound; leave bottom or label"),
        ({"x": {"width": 0.0001}}, "width makes more than 1,000 ranges; take wider ones, or give bottom and top."),
        ({"x": {"width": 0.0001, "bottom": 0, "top": 1}}, "width makes more than 1,000 ranges; take wider ones."),
        ({"lowest": {"width": 50, "top": 0, "label": "lower"}}, "its first range begins below all that TINYINT"),
    ],
)  # fmt: skip
def test_bad_rules_are_told(catalog: Catalog, rule: dict[str, Any], message: str) -> None:
    [name] = rule
    with pytest.raises(
        PpduckError, match=re.escape(f'recode_mask on "t": column "{name}": {message}'.replace('\\"', '"'))
    ):
        read(catalog, **rule)


def test_all_faults_arrive_in_one_message(catalog: Catalog) -> None:
    rules = {"age": {"widht": 5}, "tiny": {"top": 300}, "city": {"width": 5}, "x": {"width": 1}}
    with pytest.raises(PpduckError, match=r"(?s)widht.*says nothing.*top is 300.*VARCHAR, and width") as refused:
        read(catalog, **rules)
    assert str(refused.value).count("also:") == 3


@pytest.mark.parametrize("value", [5, "age", {"age": 5}, {"age": [1]}, [{"age": {}}]])
def test_other_values_are_no_rules(value: Any) -> None:
    with pytest.raises(MisreadError, match=r"^takes \{'column': \{'option': value, …\}, …\}, such as"):
        rules_by_column(value)


def test_an_option_that_is_null_is_not_given() -> None:
    assert rules_by_column({"age": {"width": 5, "top": None}}) == {"age": {"width": 5}}
