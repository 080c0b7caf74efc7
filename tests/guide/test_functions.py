"""ppduck_functions() lists every function with what a user needs to call it."""

from __future__ import annotations

import re

import duckdb
import pytest

from ppduck.call.registry import functions, masks

pytestmark = pytest.mark.core


def test_catalogue_is_complete(con: duckdb.DuckDBPyConnection) -> None:
    relation = con.sql("FROM ppduck_functions()")
    assert relation.columns == ["name", "signature", "description", "reference", "kind"]
    rows = {row[0]: row[1:] for row in relation.fetchall()}
    assert set(rows) == {function.name for function in functions()}
    assert rows["sufficiency_mask"][0] == (
        "sufficiency_mask(tbl, conf, alpha := NULL, level := NULL, nonconf := NULL, strata := NULL, key := NULL, "
        "seed := NULL, on_null := 'error', round := false, drop := NULL)"
    )
    for name, (signature, description, reference, kind) in rows.items():
        assert signature.startswith(f"{name}(")
        assert len(description) > 20
        assert (kind == "mask") == (name in masks())
        if name in masks():
            assert re.search(r"\b(19|20)\d\d\b", reference)


def test_every_function_is_a_macro_that_duckdb_knows(con: duckdb.DuckDBPyConnection) -> None:
    known = con.execute(
        "SELECT function_name, parameters FROM duckdb_functions() WHERE function_type = 'table_macro'"
    ).fetchall()
    by_name = dict(known)
    for function in functions():
        names = [parameter.name for parameter in function.parameters]
        places = [f"_{place + 1}" for place in range(len(names))]
        assert by_name[function.name] == [*places, *names]
