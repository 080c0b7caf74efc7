"""What the catalogue tells of a function, asked so that an open transaction goes on."""

from __future__ import annotations

import duckdb
import pytest

from ppduck.catalogue.functions import kind_of_function, sees_function

pytestmark = pytest.mark.core


def test_a_function_is_seen_where_it_is() -> None:
    with duckdb.connect() as con:
        con.execute("BEGIN")
        assert sees_function(con, "upper", "system")
        assert not sees_function(con, "nobody's", "system")
        assert not sees_function(con, "own", "temp")
        con.execute("CREATE TEMP MACRO own(x) AS x")
        assert sees_function(con, "own", "temp")
        con.execute("COMMIT")


@pytest.mark.parametrize(
    ("name", "kind"), [("Upper", "scalar"), ("sum", "aggregate"), ("random", "volatile"), ("nobody's", None)]
)
def test_kinds(name: str, kind: str | None) -> None:
    with duckdb.connect() as con:
        assert kind_of_function(con, name) == kind


def test_a_macro_of_the_user_comes_before_duckdbs_own() -> None:
    with duckdb.connect() as con:
        con.execute("CREATE MACRO upper(x) AS 'shadow'")
        assert kind_of_function(con, "upper") == "macro"
