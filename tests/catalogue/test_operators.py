"""The probe shows each piece of syntax by a text of its own; tests/test_shadowing.py plants macros for all of them."""

from __future__ import annotations

import duckdb
import pytest

from ppduck.catalogue import operators
from ppduck.errors import PpduckError
from ppduck.extension.macros import own_syntax

pytestmark = pytest.mark.core


def test_no_two_expressions_share_their_text() -> None:
    *parts, literals = own_syntax()
    assert len(parts) == len(set(parts)) == len(operators.EXPRESSIONS)
    for part in parts:
        assert [other for other in parts if part in other] == [part]
        assert part not in literals


def test_the_probe_is_made_of_the_parts() -> None:
    *parts, _ = own_syntax()
    with duckdb.connect() as con:
        [(probed,)] = con.execute(f"SELECT {operators.PROBE}").fetchall()
    assert probed == f'"row"({", ".join(parts)})'


def test_macros_are_named_with_the_way_to_drop_them() -> None:
    with duckdb.connect() as con:
        operators.refuse_macros("a_mask", con)  # type: ignore[arg-type]
        con.execute('CREATE MACRO "+"(a, b) AS 99')
        with pytest.raises(PpduckError, match=r'a_mask: a macro stands in place .*: "\+" in schema "memory"\."main"\.'):
            operators.refuse_macros("a_mask", con)  # type: ignore[arg-type]
