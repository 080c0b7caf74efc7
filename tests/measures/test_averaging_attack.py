"""averaging_attack(): noise that is drawn at every read is averaged out, keyed noise is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ppduck.errors import PpduckError
from ppduck.measures.averaging_attack import NAME, ReadsSpec, ReadsTold, solve
from tests.laws import insert

pytestmark = pytest.mark.core
Ask = Callable[[str], list[dict[str, Any]]]
CALL = "FROM averaging_attack('t', '{}', conf=['x'], key='id', reads={})"


@pytest.fixture
def rows(con: duckdb.DuckDBPyConnection) -> int:
    """A table t of one open and two confidential columns; how many rows it has."""
    rng = np.random.default_rng(5)
    s = rng.normal(size=(1000, 1))
    insert(con, "t", ["s", "x", "z"], np.column_stack([s, 50 + 3 * s + 5 * rng.normal(size=(1000, 1)), s**2 + 7]))
    return 1000


@pytest.mark.parametrize("reads", [2, 10, 100])
def test_the_mean_of_fresh_noise_reveals_what_theory_says(
    con: duckdb.DuckDBPyConnection, ask: Ask, rows: int, reads: int
) -> None:
    """R² = V / (V + v / k) for noise of variance v in k reads; of n rows it is within a few 2·√(R²)·(1 - R²)/√n of that."""
    con.execute("CREATE VIEW live AS SELECT id, x + 20 * random() AS x FROM t")
    [(variance,)] = con.execute("SELECT var_pop(x) FROM t").fetchall()
    [row] = ask(CALL.format("live", reads))
    noise = 20**2 / 12
    for found, k in ((row["r2_one"], 1), (row["r2_mean"], reads)):
        expected = variance / (variance + noise / k)
        assert abs(found - expected) < 5 * 2 * (1 - expected) / np.sqrt(rows)
    assert row["gain"] == row["r2_mean"] - row["r2_one"] > 0.1
    assert (row["reads"], row["rows"], row["changed"], row["passed"]) == (reads, rows, 1.0, False)


@pytest.mark.parametrize(
    "masked",
    [
        "(SELECT id, x + 20 * random() AS x FROM t)",
        "(SELECT id, x + 20 * random() + avg(x) OVER () AS x FROM t)",
        "(SELECT id, sum(x + 20 * random()) AS x FROM t GROUP BY id)",
        "(WITH m AS MATERIALIZED (SELECT id, x + 20 * random() AS x FROM t), c AS MATERIALIZED (SELECT avg(x) AS c FROM m)"
        " SELECT id, x - c AS x FROM m CROSS JOIN c)",
        "(WITH m AS NOT MATERIALIZED (SELECT id, x + 20 * random() AS x FROM t) FROM m)",
        "(SELECT id, x + 20 * n AS x FROM t POSITIONAL JOIN (SELECT random() AS n FROM range(1000)))",
    ],
)
def test_duckdb_does_not_share_reads_of_fresh_noise(
    con: duckdb.DuckDBPyConnection, ask: Ask, rows: int, masked: str
) -> None:
    [row] = ask(CALL.format(masked, 50))
    assert row["r2_mean"] > 0.97
    assert row["gain"] > 0.3
    assert (row["changed"], row["passed"]) == (1.0, False)


def test_every_read_is_a_read(con: duckdb.DuckDBPyConnection, ask: Ask, rows: int) -> None:
    con.execute("CREATE OR REPLACE SEQUENCE touched")
    con.execute("CREATE VIEW counting AS SELECT id, x + 0 * nextval('touched') AS x FROM t")
    [row] = ask(CALL.format("counting", 7))
    assert con.execute("SELECT nextval('touched')").fetchall() == [(7 * rows + 1,)]
    assert row["passed"]  # the numbers are the same each time
    con.execute("DROP VIEW counting; DROP SEQUENCE touched")


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    reads=st.integers(2, 4),
    mask=st.sampled_from(["noise_mask('t', level=0.5", "egadp_mask('t'", "shuffle_mask('t'"]),
    seed=st.sampled_from(["", ", seed=1"]),
    threads=st.integers(1, 2),
)
def test_keyed_noise_gives_nothing_away(
    con: duckdb.DuckDBPyConnection, ask: Ask, rows: int, reads: int, mask: str, seed: str, threads: int
) -> None:
    con.execute(f"SET threads = {threads}")
    con.execute(f"CREATE OR REPLACE VIEW live AS FROM {mask}, conf=['x', 'z'], nonconf=['s'], key='id'{seed})")
    for row in ask(f"FROM averaging_attack('t', 'live', conf=['x', 'z'], key='id', reads={reads})"):
        assert abs(row["gain"]) <= 1e-9
        assert row["changed"] == 0
        assert row["passed"]
        assert "0 for noise that hangs on a secret" in row["meaning"]


def test_a_table_is_the_same_at_every_read_whatever_its_order(
    con: duckdb.DuckDBPyConnection, ask: Ask, rows: int
) -> None:
    con.execute("CREATE TABLE release AS SELECT id, x + 20 * random() AS x FROM t ORDER BY hash(id)")
    [row] = ask("FROM averaging_attack('t', 'release', conf=['x'], key='id')")
    assert (row["reads"], row["changed"], row["passed"]) == (10, 0.0, True)
    assert 0.4 < row["r2_one"] == pytest.approx(row["r2_mean"], abs=1e-12)
    [row] = ask("FROM averaging_attack('t', 't', conf=['x'], key='id')")
    assert row["r2_one"] == pytest.approx(1)


def test_columns_are_judged_one_by_one(con: duckdb.DuckDBPyConnection, ask: Ask, rows: int) -> None:
    con.execute("CREATE VIEW live AS SELECT id, x, z + random() AS z FROM t")
    first, second = ask("FROM averaging_attack('t', 'live', conf=['x', 'z'], key='id')")
    assert (first["column_name"], first["changed"], first["passed"]) == ("x", 0, True)
    assert (second["column_name"], second["changed"], second["passed"]) == ("z", 1, False)


def test_noise_far_from_zero_is_seen(con: duckdb.DuckDBPyConnection, ask: Ask, rows: int) -> None:
    """Beside values of 10^12 noise of 5 looks like rounding; what the mean gains does not."""
    con.execute("CREATE VIEW far AS SELECT * REPLACE (x + 1e12 AS x) FROM t")
    masked = "(SELECT id, x + 20 * random() AS x FROM far)"
    [row] = ask(f"FROM averaging_attack('far', '{masked}', conf=['x'], key='id', reads=50)")
    assert row["gain"] > 0.3
    assert not row["passed"]


def test_null_that_comes_and_goes_is_a_change(con: duckdb.DuckDBPyConnection, ask: Ask, rows: int) -> None:
    [row] = ask(CALL.format("(SELECT id, if(random() < 0.5, NULL, x) AS x FROM t)", 20))
    assert row["changed"] == 1
    assert 300 < row["rows"] < 700  # those that the first read has
    assert not row["passed"]


def test_keys_of_several_columns_and_odd_names(con: duckdb.DuckDBPyConnection, ask: Ask, rows: int) -> None:
    con.execute("""CREATE TABLE odd AS SELECT id // 2 AS "k ""1", id % 2 AS "select", x AS "x'1" FROM t""")
    con.execute('CREATE VIEW odder AS SELECT * REPLACE ("x\'1" + random() AS "x\'1") FROM odd')
    [row] = ask("""FROM averaging_attack('odd', 'odder', conf=['x''1'], key=['k "1', 'select'], reads=3)""")
    assert (row["column_name"], row["rows"], row["changed"]) == ("x'1", rows, 1)


def test_a_thousand_reads_are_planned(con: duckdb.DuckDBPyConnection, ask: Ask, rows: int) -> None:
    con.execute("CREATE VIEW few AS SELECT id, x + 20 * random() AS x FROM t WHERE id < 30")
    [row] = ask("FROM averaging_attack('(FROM t WHERE id < 30)', 'few', conf=['x'], key='id', reads=1000)")
    assert row["r2_mean"] > 0.99


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (CALL.format("t", 1), "reads must be from 2 to 1,000, got 1"),
        (CALL.format("t", 1001), "reads must be from 2 to 1,000, got 1001"),
        (CALL.format("t", 2.5), "reads takes a whole number from 2 to 1,000, got 2.5"),
        (CALL.format("(SELECT * FROM t WHERE random() < 0.5)", 3), "rows are matched by key (\"id\"), and they do not match"),
        (CALL.format("(SELECT id, s FROM t)", 3), 'conf names column "x", which "(SELECT id, s FROM t)" does not have'),
        (CALL.format("(SELECT id, ''a'' AS x FROM t)", 3), "only numeric columns"),
        (CALL.format("(SELECT id, if(random() < 0.5, ''nan''::DOUBLE, x) AS x FROM t)", 3), 'is in "masked x"'),
        (CALL.format("(SELECT id, NULL::DOUBLE AS x FROM t)", 3), "0 pairs without NULL are too few"),
        (CALL.format("(FROM t WHERE false)", 3).replace("'t'", "'(FROM t WHERE false)'", 1), "0 pairs without NULL are too few"),
        ("FROM averaging_attack('t', 't', conf=['x'], key=[])", "key is empty"),
        ("FROM averaging_attack('t', 't', conf=[], key='id')", "conf is empty"),
    ],
)  # fmt: skip
def test_bad_input_is_named(con: duckdb.DuckDBPyConnection, rows: int, call: str, message: str) -> None:
    with pytest.raises(duckdb.Error, match="averaging_attack") as caught:
        con.execute(call)
    assert message in str(caught.value)


def test_reads_of_different_rows_are_refused() -> None:
    spec = ReadsSpec(NAME, "t", "live", ["id"], ["x"], [], [], [None], 3)
    with pytest.raises(PpduckError, match="2 of the 9 keys of the first are not exactly once in each other read"):
        solve(spec, ReadsTold(9, None, None, None, None, unlike=2, keys=9))
    with pytest.raises(PpduckError, match="which have 10 keys together"):
        solve(spec, ReadsTold(9, None, None, None, None, unlike=0, keys=10))
