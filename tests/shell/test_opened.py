"""Databases that commands open: they must be there, and what is said of them has no stack."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from ppduck.errors import PpduckError
from ppduck.shell.opened import opened, plain


def test_a_database_that_is_there(tmp_path: Path) -> None:
    path = str(tmp_path / "my.db")
    duckdb.connect(path).close()
    with opened("ppduck try", path, None, read_only=True) as con:
        assert con.execute("SELECT count(*) FROM ppduck_functions()").fetchall() > [(50,)]
        with pytest.raises(duckdb.InvalidInputException, match="read-only"):
            con.execute("CREATE TABLE t (i INTEGER)")
    with pytest.raises(duckdb.ConnectionException, match="closed"):
        con.execute("SELECT 1")


def test_a_database_that_is_not_is_not_made(tmp_path: Path) -> None:
    (tmp_path / "shop.db").touch()
    path = tmp_path / "shpo.db"
    with pytest.raises(PpduckError, match=r'^ppduck try: there is no database .*Did you mean "shop\.db"\?$'):
        opened("ppduck try", str(path), None, read_only=False).__enter__()
    assert not path.exists()


def test_an_error_without_its_stack() -> None:
    said = 'Invalid Input Error: Python exception occurred: PpduckError: f on "t": wrong.\n\nAt:\n  a.py(1): f'
    assert plain(duckdb.InvalidInputException(said)) == 'f on "t": wrong.'
