"""Which connection is loaded, with which secret, and who shares what."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import ppduck
from ppduck.errors import PpduckError
from ppduck.extension.connections import connection, in_transaction, planner_of
from tests.conftest import SECRET

pytestmark = pytest.mark.core
CALL = "SELECT x FROM noise_mask('t', conf=['x'], level=1, key='id') ORDER BY id"


@pytest.fixture
def plain() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS SELECT i AS id, sin(i) AS x FROM range(50) r(i)")
        yield con


class Wrapper:
    """As an engine hands over: whatever it is asked, a connection answers."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.con = con

    def __getattr__(self, name: str) -> object:
        return getattr(self.con, name)


def test_a_wrapper_is_loaded_as_its_connection(plain: duckdb.DuckDBPyConnection) -> None:
    wrapper = Wrapper(plain)
    assert connection(wrapper, "load") is plain
    assert connection(duckdb, "load") is duckdb
    assert ppduck.load(wrapper, SECRET) is wrapper  # type: ignore[arg-type]
    assert len(plain.execute(CALL).fetchall()) == 50


@pytest.mark.parametrize("given", ["my.db", None, 7])
def test_what_is_no_connection_is_refused(given: object) -> None:
    with pytest.raises(PpduckError, match=rf"^ppduck\.interrupt: con must be .* got {type(given).__name__}\."):
        ppduck.interrupt(given)  # type: ignore[arg-type]


def test_connections_of_a_database_share_its_planner_and_no_other(plain: duckdb.DuckDBPyConnection) -> None:
    assert planner_of(plain) is None
    ppduck.load(plain, SECRET)
    with plain.cursor() as cursor, ppduck.connect(secret=SECRET) as other:
        assert planner_of(cursor) is planner_of(plain)
        assert planner_of(other) is not planner_of(plain)
        with pytest.raises(duckdb.CatalogException, match="noise_mask"):
            cursor.execute(CALL)
        assert ppduck.load(cursor).execute(CALL).fetchall() == plain.execute(CALL).fetchall()


def test_the_secret_counts_once(plain: duckdb.DuckDBPyConnection) -> None:
    ppduck.load(plain)  # one from the operating system
    drawn = plain.execute(CALL).fetchall()
    ppduck.load(plain, SECRET)
    assert plain.execute(CALL).fetchall() != drawn
    ppduck.load(plain, SECRET)
    with pytest.raises(PpduckError, match="loaded with another secret"):
        ppduck.load(plain, SECRET + "!")


def test_a_transaction_is_seen(plain: duckdb.DuckDBPyConnection) -> None:
    assert not in_transaction(plain)
    plain.execute("BEGIN")
    assert in_transaction(plain)
    with pytest.raises(PpduckError, match="load before BEGIN"):
        ppduck.load(plain, SECRET)
    plain.execute("ROLLBACK")
    assert len(ppduck.load(plain, SECRET).execute(CALL).fetchall()) == 50


def test_a_secret_that_is_too_short_leaves_no_database_behind(tmp_path: Path) -> None:
    with pytest.raises(PpduckError, match="16 bytes"):
        ppduck.connect(tmp_path / "new.db", secret="short")
    assert not (tmp_path / "new.db").exists()


def test_a_loaded_connection_can_go() -> None:
    con = ppduck.connect(secret=SECRET)
    reference = weakref.ref(con)
    del con
    gc.collect()
    assert reference() is None
