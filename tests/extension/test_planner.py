"""The planner of a database: names that nobody can plant, texts that become a statement, and trips that end."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import numpy as np
import pytest

from ppduck.call.registry import functions, udfs
from ppduck.call.udf import Noise
from ppduck.catalogue import operators
from ppduck.errors import PpduckError
from ppduck.extension.planner import Planner
from tests.conftest import SECRET

pytestmark = pytest.mark.core
PLACE, STATEMENT = ["memory", "main", "", "false"], "7 12"


@pytest.fixture
def loaded() -> Iterator[tuple[Planner, str]]:
    """A planner with one connection, and the name that it knows it by."""
    planner = Planner(SECRET.encode())
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS SELECT i AS id, sin(i) AS x FROM range(50) r(i)")
        planner.register(con)
        planner.teach(con)
        [name] = planner._connections
        yield planner, name


def planned(loaded: tuple[Planner, str], conf: str = "x") -> str:
    """The statement of a call, its texts and the probe as DuckDB hands them over."""
    planner, name = loaded
    given = ("'t'", f"(CAST('conf' AS VARCHAR[]) = list_value('{conf}'))", "(CAST('level' AS INTEGER) = 1)")
    texts = [f"CASE  WHEN (false) THEN ({each}) ELSE NULL END" for each in given]
    con = planner._connections[name]()
    assert con is not None
    [(probe,)] = con.execute(f"SELECT {operators.PROBE}").fetchall()
    return planner.plan(texts[0], [[*texts[1:], *[None] * 40]], "noise_mask", [name, *PLACE, probe, STATEMENT])


def test_a_call_becomes_one_statement_with_whole_names(loaded: tuple[Planner, str]) -> None:
    written = planned(loaded)
    assert written.startswith("WITH ")
    assert f"system.main.ppduck_check_{loaded[0].token}(" in written
    assert " ppduck_check(" not in written
    assert planned(loaded) == written  # planning is repeatable


def test_names_of_functions_are_the_databases_own(loaded: tuple[Planner, str]) -> None:
    planner, other = loaded[0], Planner(None)
    assert planner.token != other.token
    assert planner.home("PPDUCK_CHECK") == f"system.main.ppduck_check_{planner.token}"
    assert planner.home("egadp_mask") == "temp.main.egadp_mask"
    assert planner.home("_pp_plain_any") == "temp.main._pp_plain_any"
    assert planner.home("sum") == "system.main.sum"


def test_every_function_is_registered_and_taught(loaded: tuple[Planner, str]) -> None:
    planner = loaded[0]
    assert {udf.name for udf in udfs()} < planner._udfs
    con = next(iter(planner._connections.values()))()
    assert con is not None
    taught = con.execute("SELECT function_name FROM duckdb_functions() WHERE database_name = 'temp'").fetchall()
    assert {each.name for each in functions()} <= {name for (name,) in taught}


def test_a_refusal_ends_the_trip_and_closes_what_was_read(loaded: tuple[Planner, str]) -> None:
    with pytest.raises(PpduckError, match='conf names column "y"'):
        planned(loaded, conf="y")
    assert loaded[0]._reading == []
    assert loaded[0]._thread.trip is None
    assert planned(loaded).startswith("WITH ")


def test_a_connection_that_is_gone_is_told(loaded: tuple[Planner, str]) -> None:
    with pytest.raises(PpduckError, match=r"the connection of this query is gone; keep it, or call ppduck\.load"):
        loaded[0].plan("", [[None] * 40], "noise_mask", ["nobody", *PLACE, "", STATEMENT])


def test_seeded_noise_is_the_same_in_every_database_and_keyed_noise_is_not(loaded: tuple[Planner, str]) -> None:
    planner, other = loaded[0], Planner(None)
    key, tweak = np.arange(3, dtype=np.uint64), np.zeros(3, dtype=np.uint64)

    def same(kind: Noise) -> bool:
        one, two = (each.noise_of(kind).words(key, tweak, 1) for each in (planner, other))
        return bool((one == two).all())

    assert same("seeded")
    assert not same("keyed")
    other.set_secret(SECRET.encode())  # the first that is given replaces a drawn one
    assert same("keyed")
    with pytest.raises(PpduckError, match="loaded with another secret"):
        other.set_secret(b"another secret of bytes")
