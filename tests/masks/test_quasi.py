"""The columns that a call of a mask of quasi-identifiers names, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import duckdb
import pytest

from ppduck.call.parameters import MisreadError
from ppduck.catalogue.tables import Catalog
from ppduck.errors import PpduckError
from ppduck.masks._quasi import Named, at_least_two, names_column
from tests.catalogue.reading import Reader

pytestmark = pytest.mark.core


@pytest.fixture
def catalog() -> Iterator[Catalog]:
    with duckdb.connect() as con:
        con.execute('CREATE TABLE t AS SELECT 1 AS "Age", 2 AS zip, 3 AS group_id')
        yield Catalog(Reader(con))


def named(catalog: Catalog, *qi: str) -> Named:
    return Named("a_mask", catalog, SimpleNamespace(tbl="t", qi=list(qi)))


def test_columns_are_found_as_duckdb_finds_them(catalog: Catalog) -> None:
    found = named(catalog, "AGE", "zip")
    assert [column.name for column in found.qi] == ["Age", "zip"]
    found.faults.raise_if_any()
    assert names_column(["AGE"], "Age")
    assert not names_column(["AGE"], "ages")


def test_several_faults_arrive_together(catalog: Catalog) -> None:
    found = named(catalog, "aeg")
    found.refuse_called(list(found.source.columns or ()), ("group_id",))
    with pytest.raises(
        PpduckError,
        match=r'^a_mask on "t": qi names column "aeg".*Did you mean "Age"(.|\n)*column "group_id" is called like',
    ):
        found.faults.raise_if_any()


def test_no_quasi_identifier_is_refused(catalog: Catalog) -> None:
    with pytest.raises(PpduckError, match="qi is empty; name at least one column"):
        named(catalog).faults.raise_if_any()


@pytest.mark.parametrize("value", [1, 0, -3, 2.5, "two"])
def test_a_group_of_one_protects_nobody(value: object) -> None:
    assert at_least_two(2) == 2
    with pytest.raises(MisreadError, match=r"^(must be|takes a whole number of) at least 2"):
        at_least_two(value)
