"""Which columns of a table of counts are randomized: its view tells, p and matrix do, or the call."""

from __future__ import annotations

from typing import Any

import pytest

from ppduck.catalogue.source import Column, Source
from ppduck.catalogue.tables import Catalog
from ppduck.catalogue.trip import Trip
from ppduck.designs.design import Attribute, DesignWords
from ppduck.errors import PpduckError
from ppduck.estimators.count_table import Table, cells_of, is_masked, read_table, refuse_numbers
from ppduck.estimators.design_source import Release

pytestmark = pytest.mark.core
COLUMNS = (Column("a", "VARCHAR"), Column("b", "VARCHAR"), Column("n", "INTEGER"))


class OneTable(Catalog):
    """A catalogue of one table, whose description records what a mask in it would."""

    recorded: tuple[Any, ...] = ()
    many: frozenset[str] = frozenset()

    def source(self, function: str, given: str) -> Source:
        return Source(given, f'"{given}"', COLUMNS)

    def records_of(self, source: Source) -> tuple[Any, ...]:
        return self.recorded

    def levels(self, source: Source, column: Column, at_most: int) -> list[str] | None:
        return None if column.name in self.many else ["x", "y"]


def catalog(**parts: Any) -> OneTable:
    found = OneTable(None, Trip())  # type: ignore[arg-type]
    for name, value in parts.items():
        object.__setattr__(found, name, value)
    return found


def table(*names: str, randomized: frozenset[str] = frozenset()) -> Table:
    own = tuple(column for column in COLUMNS if column.name in names)
    attributes = tuple(Attribute(column.name, column.type, None, 1.0) for column in own)
    return Table(Release("f", Source("t", '"t"', COLUMNS), own, attributes), randomized, True)


def test_a_table_that_nothing_is_said_of_is_as_it_stands() -> None:
    found = read_table("f", catalog(), "t", ["a", "B"], DesignWords())
    assert [each.name for each in found.release.columns] == ["a", "b"]
    assert (found.places, found.listed, found.knows_design) == ([], "", True)


def test_the_call_may_say_which_were_randomized_and_then_the_design_is_not_known() -> None:
    found = read_table("f", catalog(recorded=("design",)), "t", ["a", "b"], DesignWords(), ["B"])
    assert (found.places, found.listed, found.knows_design) == ([1], "b", False)
    assert found.is_randomized("B")
    none = read_table("f", catalog(recorded=("design",)), "t", ["a", "b"], DesignWords(), ())
    assert (none.places, none.knows_design) == ([], True)


def test_p_tells_which_were_randomized() -> None:
    found = read_table("f", catalog(), "t", ["a", "b"], DesignWords(p={"a": 0.9, "b": 1.0}))
    assert (found.places, found.knows_design) == ([0], True)


@pytest.mark.parametrize(
    ("names", "words", "randomized", "fault"),
    [
        (["a", "A"], DesignWords(), None, 'column "A" is named twice'),
        (["a"], DesignWords(p=0.9), ["a"], "p and matrix tell which columns are randomized; leave randomized out"),
        (["a"], DesignWords(), ["b"], 'randomized names column "b", which the call is not about'),
        (["a"], DesignWords(levels={"a": ["x"]}), None, "levels belong to p or matrix"),
        (["q"], DesignWords(), None, 'column "q", which does not exist'),
    ],
)
def test_what_does_not_go_together(names: list[str], words: DesignWords, randomized: Any, fault: str) -> None:
    with pytest.raises(PpduckError, match=fault):
        read_table("f", catalog(), "t", names, words, randomized)


def test_a_source_that_cannot_be_seen_is_not_known_to_be_masked() -> None:
    assert is_masked(catalog(recorded=("design",)), Source("t", '"t"', COLUMNS))
    assert not is_masked(catalog(recorded=("design",)), Source("t", '"t"', None))


def test_a_count_is_another_column() -> None:
    assert cells_of(catalog(), table("a", "b"), 10, count="N").count == "n"
    for count, fault in (("a", 'count "a" is also one of the columns'), ("q", 'column "q", which does not exist')):
        with pytest.raises(PpduckError, match=fault):
            cells_of(catalog(), table("a", "b"), 10, count=count)


def test_numbers_are_no_categories() -> None:
    with pytest.raises(PpduckError, match='column "b" has more than 1,000 levels, which is no category'):
        refuse_numbers(catalog(many=frozenset({"b"})), table("a", "b").release)
