"""Cells of quasi-identifiers and sensitive attributes: what Python makes of what it is told, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ppduck.call.registry import functions
from ppduck.catalogue.source import Column, Source
from ppduck.designs.design import Attribute
from ppduck.disclosure import linking_attack
from ppduck.disclosure.linking_attack import LinkingCall, LinkingCells, LinkingSpec
from ppduck.errors import PpduckError
from ppduck.estimators.cells import CellColumn, Cells
from ppduck.estimators.design_source import Release
from ppduck.query import tree as sql

pytestmark = pytest.mark.core
COLUMNS = tuple(CellColumn(name, 1.0, None) for name in ("zip", "age", "disease"))
SPEC = LinkingSpec("rr_optimize", "patients", COLUMNS, 2**53, qi=2, on_null="error")
NAN = np.nan


def told(numbers: list[float], counts: list[float], sizes: tuple[int | None, ...] = (2, 3, 2)) -> LinkingCells:
    return LinkingCells(list(sizes), np.array(numbers), np.array(counts), strangers=0, missing=0)


def test_cells_are_numbered_in_c_order() -> None:
    """Of 2 × 3 × 2 cells the one of places (1, 2, 0) is 1 · 6 + 2 · 2 + 0."""
    found = linking_attack.cells_that_occur(SPEC, told([0, 7, 10], [5, 2, 3]))
    assert [place.tolist() for place in found.places] == [[0, 1, 1], [0, 0, 2], [0, 1, 0]]
    assert found.counts.tolist() == [5, 2, 3]


def test_cells_without_rows_are_left_out() -> None:
    found = linking_attack.cells_that_occur(SPEC, told([0, 3, 7, NAN], [5, 0, 2, NAN]))
    assert found.kept.tolist() == [True, False, True, False]
    assert found.counts.tolist() == [5, 2]


def test_the_population_counts_groups_of_quasi_identifiers() -> None:
    found = linking_attack.cells_that_occur(SPEC, told([0, 1, 7], [5, 4, 2])).population(SPEC.qi)
    assert found.shape == (2, 3)
    assert found.groups.tolist() == [0, 3]
    assert found.counts.tolist() == [9, 2]
    [disease] = found.sensitive
    assert (disease.group.tolist(), disease.level.tolist(), disease.count.tolist()) == ([0, 0, 1], [0, 1, 1], [5, 4, 2])


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (replace(told([0], [5]), strangers=3), "3 rows hold a value that is none of the levels of its column"),
        (replace(told([0], [5]), missing=4), r"4 rows have NULL in one of the columns.*say on_null := 'drop'"),
        (told([NAN], [NAN]), "there are no rows in which all of the columns are present"),
        (told([0], [0.0]), "there are no rows in which all of the columns are present"),
        (told([NAN], [NAN], (None, None, None)), "there are no rows in which all of the columns are present"),
        (told([0], [5], (2, 1, 2)), 'column "age" has a single level, which is no secret'),
        (told([0], [5], (3000, 2000, 2)), r"6,000,000 combinations of levels \(3000 × 2000\), more than the 5,000,000"),
    ],
)
def test_what_is_refused(cells: LinkingCells, message: str) -> None:
    with pytest.raises(PpduckError, match=rf'^rr_optimize on "patients": .*{message}'):
        linking_attack.cells_that_occur(SPEC, cells)


def test_rows_with_null_may_be_left_out() -> None:
    spec = replace(SPEC, on_null="drop")
    assert linking_attack.cells_that_occur(spec, replace(told([0], [5]), missing=4)).counts.tolist() == [5]


def test_rows_with_null_are_counted_in_all_columns() -> None:
    columns = (Column("zip", "VARCHAR"), Column("it's", "VARCHAR"))
    attributes = tuple(Attribute(column.name, column.type, None, 1.0) for column in columns)
    counted = Cells(Release("f", Source("t", "t", columns), columns, attributes), 100)
    assert sql.render(linking_attack.rows_without_value(counted)).lower() == (
        '(select count(*) from t where "zip" is null or "it\'s" is null)'
    )


def test_a_specification_is_read_as_it_was_written() -> None:
    assert LinkingSpec.read(SPEC.text()) == SPEC


def test_functions_ask_alike() -> None:
    asking = [each for each in functions() if isinstance(each.takes, type) and issubclass(each.takes, LinkingCall)]
    assert len(asking) == 2
    for function in asking:
        names = [each.name for each in function.parameters]
        assert (names[:3], names[-3:]) == (["tbl", "qi", "sensitive"], ["count", "levels", "on_null"])
