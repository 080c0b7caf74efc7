"""assert_release(): the rows of release_check where all is well, and an error that stops a script where it is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pytest

from ppduck.gate.limits import NAMES
from tests.laws import insert, random_table

pytestmark = pytest.mark.core

CALL = "{}('t', '{}', conf=['x1', 'x2'], nonconf=['s1', 's2'], key='id'{})"
FAILS = (
    r'assert_release on "t": "t" fails \d+ of \d+ rules and must not be released: .*; linkage is 1, above its limit of '
    r"0\.05; .*; r2 of x1 is 1, above its limit of 0\.9; .* Mask more, drop columns, or give limits .* release_check"
)
COPY = CALL.format("assert_release", "t", ", limits={'r2': 0.9}")
# Of these no call can free itself.
FIXED = {"declared", "copy"}


@pytest.fixture
def tables(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    insert(con, "t", ["s1", "s2", "x1", "x2"], random_table(np.random.default_rng(5), 300, 2, 2))
    con.execute("CREATE TABLE r AS FROM egadp_mask('t', conf=['x1', 'x2'], nonconf=['s1', 's2'], key='id', seed=1)")
    return con


@pytest.mark.parametrize("limits", ["", ", limits={'r2_gain': 0.01, 'linkage': 0.05, 'mean': 1e-9}"])
def test_what_passes_is_what_release_check_tells(tables: duckdb.DuckDBPyConnection, limits: str) -> None:
    asserted, checked = (
        tables.sql(f"FROM {CALL.format(name, 'r', limits)}") for name in ("assert_release", "release_check")
    )
    assert (asserted.columns, asserted.types) == (checked.columns, checked.types)
    found = asserted.fetchall()
    assert found == checked.fetchall()
    assert len(found) >= 3
    assert {row[2] for row in found} == {True, None}, "a rule that nobody asked is told of, and does not fail"


@pytest.mark.parametrize(
    "statement",
    [
        "FROM {}",
        "SELECT count(*) FROM {}",
        "SELECT 1 FROM {} LIMIT 1",
        "SELECT EXISTS (FROM {})",
        "SELECT rule FROM {} WHERE passed",
        "CREATE TABLE kept AS FROM {}",
    ],
)
def test_a_failing_release_raises_however_it_is_asked(tables: duckdb.DuckDBPyConnection, statement: str) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=FAILS):
        tables.execute(statement.format(COPY)).fetchall()


def test_one_rule_of_several_is_enough_and_alone_is_named(tables: duckdb.DuckDBPyConnection) -> None:
    call = CALL.format("assert_release", "r", ", limits={'interval': 0.2}")
    with pytest.raises(
        duckdb.InvalidInputException,
        match=r"fails 1 of \d+ rules .*released: interval of x2 is 0\.\d+, above its limit of 0\.2\. Mask",
    ):
        tables.execute(f"FROM {call}").fetchall()


def test_a_column_that_nobody_masked_is_named(tables: duckdb.DuckDBPyConnection) -> None:
    tables.execute("CREATE TABLE leaky AS SELECT r.*, 2 * t.x1 AS usd FROM r JOIN t USING (id)")
    with pytest.raises(
        duckdb.InvalidInputException,
        match=r"fails 2 of \d+ rules .*: declared of usd is 1, above its limit of 0; tells of usd is [\d.]+, above its",
    ):
        tables.execute("FROM " + CALL.format("assert_release", "leaky", "")).fetchall()


def test_what_cannot_be_switched_off_still_judges(tables: duckdb.DuckDBPyConnection) -> None:
    off = ", ".join(f"'{rule}': NULL" for rule in NAMES)
    limits = f", limits={{{off}}}"
    found = tables.execute("FROM " + CALL.format("assert_release", "r", limits)).fetchall()
    assert {rule for rule, _, passed, *_ in found if passed} == FIXED
    assert {rule for rule, _, passed, *_ in found if passed is None} == {*NAMES}
    with pytest.raises(
        duckdb.InvalidInputException,
        match=r"fails 2 of \d+ rules .*: copy of x1 is 1, .*; copy of x2 is 1, above its limit",
    ):
        tables.execute("FROM " + CALL.format("assert_release", "t", limits)).fetchall()
    for rule in FIXED:
        with pytest.raises(
            duckdb.InvalidInputException, match=f'rule "{rule}" has no limit, and cannot be switched off'
        ):
            tables.execute("FROM " + CALL.format("assert_release", "r", f", limits={{'{rule}': NULL}}"))


def test_what_cannot_be_measured_fails(tables: duckdb.DuckDBPyConnection) -> None:
    tables.execute("CREATE TABLE far AS SELECT * REPLACE (if(id = 3, 'inf'::DOUBLE, x1) AS x1) FROM r")
    off = ", ".join(f"'{rule}': NULL" for rule in NAMES if rule != "mean")
    with pytest.raises(duckdb.InvalidInputException, match="mean could not be measured, limit 5"):
        tables.execute("FROM " + CALL.format("assert_release", "far", f", limits={{'mean': 5, {off}}}")).fetchall()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (", limits={'linkag': 0.1}", r'assert_release on "t": limits names rule "linkag".*Did you mean "linkage"'),
        (
            ", limits={'linkage': 5}",
            r'assert_release on "t": the limit of rule "linkage" must be from 0 to 1, a share and no percentage, got 5',
        ),
        (", limts=1", r"assert_release: there is no parameter 'limts'\. Did you mean \"limits\""),
    ],
)
def test_bad_input_is_named(tables: duckdb.DuckDBPyConnection, more: str, message: str) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=message):
        tables.execute(f"FROM {CALL.format('assert_release', 'r', more)}")


@pytest.mark.parametrize(("release", "code"), [("r", 0), ("t", 1)])
def test_a_script_stops_at_a_release_that_fails(tmp_path: Path, release: str, code: int) -> None:
    script = tmp_path / "publish.sql"
    script.write_text(
        "CREATE TABLE t AS SELECT i AS id, sin(i) AS s, cos(i * 3) AS x FROM range(300) r(i);\n"
        "CREATE TABLE r AS FROM egadp_mask('t', conf=['x'], nonconf=['s'], key='id', seed=1);\n"
        f"FROM assert_release('t', '{release}', conf=['x'], nonconf=['s'], key='id');\n"
        "COPY (FROM r ORDER BY random()) TO 'published.csv';\n"
    )
    command = [sys.executable, "-m", "ppduck.shell", str(script)]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", check=False)
    assert ran.returncode == code, ran.stderr
    assert (tmp_path / "published.csv").exists() == (code == 0)
    assert ('"t" fails' in ran.stderr) == (code == 1)
