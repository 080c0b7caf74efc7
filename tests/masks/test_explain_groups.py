"""What is said of a call of a mask that groups rows: a row a column, then what it promises."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from ppduck.catalogue.tables import Catalog
from ppduck.errors import PpduckError
from ppduck.masks import anatomy, generalize
from ppduck.masks._explain_groups import explained
from ppduck.query import tree as sql
from tests.catalogue.reading import Reader

pytestmark = pytest.mark.core
Rows = list[tuple[str | None, str, str]]


@pytest.fixture
def plain() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS SELECT 1 AS id, 2 AS age, 'a' AS zip, 'flu' AS disease, 'x' AS name")
        yield con


def told(con: duckdb.DuckDBPyConnection, call: anatomy.AnatomyCall | generalize.GeneralizeCall) -> Rows:
    mask = anatomy.FUNCTION if isinstance(call, anatomy.AnatomyCall) else generalize.FUNCTION
    return con.execute(sql.render(explained(mask, Catalog(Reader(con)), call))).fetchall()


def test_every_column_has_a_role_then_come_the_promises(plain: duckdb.DuckDBPyConnection) -> None:
    rows = told(plain, anatomy.AnatomyCall(tbl="t", qi=["AGE"], sensitive="disease", l=3, keep=["zip"], key=["id"]))
    assert [(name, role) for name, role, _ in rows if name] == [
        ("id", "not used"), ("age", "quasi-identifier"), ("zip", "kept"), ("disease", "sensitive"), ("name", "not used"),
    ]  # fmt: skip
    assert rows[0][2].endswith("names the row for its chance")
    assert [(role, note) for name, role, note in rows if name is None] == [
        *(("guaranteed", str(each)) for each in anatomy.FUNCTION.keeps),
        *(("not guaranteed", str(each)) for each in anatomy.FUNCTION.loses),
    ]


def test_a_seed_protects_nothing(plain: duckdb.DuckDBPyConnection) -> None:
    rows = told(plain, anatomy.AnatomyCall(tbl="t", qi=["age"], sensitive="disease", l=3, seed=1))
    assert rows[-1][2].startswith("protection: seeded chance can be made again")


def test_of_a_table_that_cannot_be_seen_the_named_columns_are_told(plain: duckdb.DuckDBPyConnection) -> None:
    call = generalize.GeneralizeCall(tbl="later", qi=["age", "zip"], k=2, sensitive="disease", l=2, drop=["id"])
    assert [(name, role) for name, role, _ in told(plain, call) if name] == [
        ("age", "quasi-identifier"), ("zip", "quasi-identifier"), ("disease", "sensitive"), ("id", "dropped"),
    ]  # fmt: skip


def test_what_the_mask_would_refuse_is_refused(plain: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(PpduckError, match=r'^generalize_mask on "t": l needs the column that is to be diverse'):
        told(plain, generalize.GeneralizeCall(tbl="t", qi=["age"], k=2, l=2))
