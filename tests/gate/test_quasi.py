"""Rule k: judged of what a call names, and told of categories where it names nothing."""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import pytest

from ppduck.gate._quasi import NOT_ASKED
from tests.gate.releases import Rows, of_rule, people

pytestmark = pytest.mark.core
Ask = Callable[[str], Rows]
OFF = "limits={'tells': NULL, 'linkage': NULL, 'cc_gain': NULL, 'r2_gain': NULL, 'interval': NULL}"


@pytest.fixture
def tables(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    people(con)
    return con


def call(release: str, more: str = "") -> str:
    return f"FROM release_check('t', '{release}', conf=['x'], key='id', {OFF}{more})"


def test_groups_of_quasi_identifiers_are_counted_in_the_release(tables: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    [(smallest,)] = tables.execute("SELECT min(n) FROM (SELECT count(*) AS n FROM m GROUP BY region)").fetchall()
    for qi, group in (("['region']", smallest), ("['region', 'id']", 1), ("['x']", 1)):
        found = of_rule(ask(call("m", f", qi={qi}")), "k")[None]
        assert found["value"] == pytest.approx(1 / group)
        assert found["passed"] == (group >= 3)
    tables.execute("CREATE TABLE r AS SELECT * REPLACE (if(id = 3, NULL, region) AS region) FROM m")
    assert of_rule(ask(call("r", ", qi=['region']")), "k")[None]["value"] == 1


def test_where_nobody_names_qi_it_says_so_and_how_many_are_alone(tables: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    tables.execute("CREATE TABLE r AS SELECT * REPLACE (if(id < 2, 'z' || id, region) AS region), id = 1 AS c FROM m")
    found = of_rule(ask(call("r", ", keep=['region', 'c']")), "k")[None]
    assert (found["passed"], found["value"], found["at_most"]) == (None, 1, None)
    assert found["why"] == f'{NOT_ASKED}; 2 of 300 rows are the only ones of their "region", "c"'
    [(smallest,)] = tables.execute("SELECT min(n) FROM (SELECT count(*) AS n FROM m GROUP BY region)").fetchall()
    found = of_rule(ask(call("m")), "k")[None]
    assert (found["passed"], found["value"]) == (None, pytest.approx(1 / smallest))
    assert "; 0 of 300 rows" in found["why"]


def test_without_categories_there_is_nothing_to_tell(tables: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    tables.execute("CREATE TABLE r AS SELECT id, age, x FROM m")
    found = of_rule(ask(call("r")), "k")[None]
    assert (found["passed"], found["value"], found["why"]) == (None, None, NOT_ASKED)
