"""Text that travels with tables and files, and none of views, SELECTs and other files."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from ppduck.catalogue.attached_text import attached
from ppduck.catalogue.tables import Catalog
from ppduck.errors import Faults, PpduckError
from tests.catalogue.reading import Reader

pytestmark = pytest.mark.core


def text(con: duckdb.DuckDBPyConnection, tbl: str) -> str | None:
    catalog = Catalog(Reader(con))
    return attached(catalog, catalog.source("test", tbl), "ppduck", Faults("test", tbl))


def test_the_comment_of_a_table(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE SCHEMA other; CREATE TABLE t (a INT); CREATE TABLE other.t (a INT)")
    assert text(con, "main.t") is None
    con.execute("COMMENT ON TABLE main.t IS 'it''s a table'; COMMENT ON TABLE other.t IS 'another'")
    assert text(con, "main.t") == "it's a table"
    assert text(con, "other.t") == "another"


def test_a_view_says_by_its_definition_what_it_is(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE VIEW v AS SELECT 1 AS a; COMMENT ON VIEW v IS 'a view'")
    assert text(con, "v") is None


def test_a_file_that_could_be_a_table_of_a_schema(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    con.execute("COPY (SELECT 1 AS a) TO 'one.parquet' (FORMAT parquet, KV_METADATA {ppduck: 'x'})")
    assert text(con, "one.parquet") == "x"


def test_the_metadata_of_files(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    for name, said in (("one", "x"), ("two", "x"), ("three", "y")):
        con.execute(
            f"COPY (SELECT 1 AS a) TO '{tmp_path}/{name}.parquet' (FORMAT parquet, KV_METADATA {{ppduck: '{said}'}})"
        )
    con.execute(f"COPY (SELECT 1 AS a) TO '{tmp_path}/plain.parquet'")
    assert text(con, f"{tmp_path}/one.parquet") == "x"
    assert text(con, f'"{tmp_path}/one.parquet"') == "x"
    assert text(con, f"{tmp_path}/t*o.parquet") == "x"
    assert text(con, f"{tmp_path}/plain.parquet") is None
    with pytest.raises(PpduckError, match=r"stands for files of several releases"):
        text(con, f"{tmp_path}/*.parquet")
