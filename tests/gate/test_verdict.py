"""assert_release(): stops a pipeline, and writes down why."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import numpy as np
import pytest

import ppduck
from ppduck.gate.verdict import _plain
from tests.one_connection import con, loaded

__all__ = ["con", "loaded"]
pytestmark = pytest.mark.core
CONF = {"conf": ["x1", "x2"], "key": "id"}
LINKAGE = {"linkage": 0.05}


@pytest.fixture
def release(customers: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """The customers and an EGADP release of them."""
    customers.execute(
        "CREATE TABLE release AS FROM egadp_mask('customers', conf=['x1', 'x2'], nonconf=['s1', 's2'], key='id')"
    )
    return customers


def test_a_good_release_passes_and_is_written_down(release: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    path = tmp_path / "verdict.json"
    before = datetime.now(UTC).replace(microsecond=0)
    verdict = ppduck.assert_release(release, "customers", "release", **CONF, nonconf=["s1", "s2"], verdict=path)
    assert json.loads(path.read_text(encoding="utf-8")) == verdict
    assert list(verdict) == [
        "passed",
        "original",
        "release",
        "conf",
        "nonconf",
        "key",
        "rules",
        "ppduck",
        "duckdb",
        "time",
    ]
    assert (verdict["passed"], verdict["original"], verdict["release"]) == (True, "customers", "release")
    assert (verdict["conf"], verdict["nonconf"], verdict["key"]) == (["x1", "x2"], ["s1", "s2"], ["id"])
    assert (verdict["ppduck"], verdict["duckdb"]) == (ppduck.__version__, f"v{duckdb.__version__}")
    assert before <= datetime.fromisoformat(verdict["time"]) <= datetime.now(UTC)
    assert {rule["rule"] for rule in verdict["rules"]} >= {"linkage", "r2_gain"}
    assert set(verdict["rules"][0]) == {"rule", "at_most", "value", "passed", "meaning"}


def test_a_copy_is_refused_by_every_rule_it_fails(release: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    path = tmp_path / "verdict.json"
    limits = LINKAGE | {"r2": 0.9, "mean": 1}
    with pytest.raises(
        ppduck.ReleaseRefused,
        match=r'"customers" fails 2 of 3 rules .*: linkage is 1, above its limit of 0\.05; r2 is 1, above its limit of 0\.9\.$',
    ) as refused:
        ppduck.assert_release(release, "customers", "customers", **CONF, limits=limits, verdict=str(path))
    written = json.loads(path.read_text(encoding="utf-8"))
    assert written == refused.value.verdict
    assert not written["passed"]
    assert [(rule["rule"], rule["passed"]) for rule in written["rules"]] == [
        ("linkage", False),
        ("r2", False),
        ("mean", True),
    ]


def test_a_verdict_alone_does_not_raise(release: duckdb.DuckDBPyConnection) -> None:
    verdict = ppduck.release_verdict(release, "customers", "customers", **CONF, limits=LINKAGE)
    assert verdict["passed"] is False
    assert [rule["value"] for rule in verdict["rules"]] == [1.0]


def test_refused_is_one_of_ppducks_errors() -> None:
    assert issubclass(ppduck.ReleaseRefused, ppduck.errors.PpduckError)


def test_names_and_limits_are_quoted(release: duckdb.DuckDBPyConnection) -> None:
    release.execute("""
        CREATE TABLE "o'd ""t" AS SELECT id // 2 AS "k'1", id % 2 AS "k\\2", x1 AS "x'""1", s1 FROM customers;
        CREATE TABLE "o'd ""r" AS SELECT id // 2 AS "k'1", id % 2 AS "k\\2", x1 AS "x'""1", s1 FROM release;
    """)
    names = {"conf": "x'\"1", "key": ("k'1", "k\\2"), "nonconf": "s1"}
    tables = ('"o\'d ""t"', '"o\'d ""r"')
    verdict = ppduck.assert_release(release, *tables, **names, limits={"r2": np.float64(0.99), "cc_gain": None})
    assert (verdict["conf"], verdict["key"]) == (["x'\"1"], ["k'1", "k\\2"])
    assert verdict["rules"][0]["at_most"] == 0.99
    with pytest.raises(duckdb.Error, match='limits names rule "r2\'\\): 1, ""x", which does not exist'):
        ppduck.release_verdict(release, "customers", "release", **CONF, limits={"r2'): 1, \"x": 1})


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"linkag": 0.05}, 'limits names rule "linkag", which does not exist. Did you mean "linkage"?'),
        ({}, "limits takes rules with their limits"),
        ([0.05], "limits takes rules with their limits"),
        ({"mean": float("inf")}, 'the limit of rule "mean" takes a number of at least 0, and finite, got inf'),
        ({"mean": float("nan")}, 'the limit of rule "mean" takes a number of at least 0, and finite, got nan'),
        ({"mean": "0.05"}, 'the limit of rule "mean" takes a number of at least 0, and finite, got 0.05'),
        ({"mean": True}, 'the limit of rule "mean" takes a number of at least 0, and finite, got True'),
        ({"mean": -1e-300}, 'the limit of rule "mean" must be at least 0, and finite, got -1e-300'),
    ],
)
def test_bad_limits_are_named(release: duckdb.DuckDBPyConnection, limits: object, message: str) -> None:
    with pytest.raises(duckdb.Error, match="release_check") as caught:
        ppduck.assert_release(release, "customers", "release", **CONF, limits=limits)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("tables", "more", "message"),
    [
        (("customers", "release"), {"conf": ["x1"], "key": "ident"}, 'key names column "ident", which does not exist'),
        (("customers", "release"), {"conf": [], "key": "id"}, "conf is empty"),
        (("customers", "(FROM release WHERE id < 900)"), CONF, '100 of the 1000 rows of "customers" have no partner'),
        (("customers", "relase"), CONF, 'Did you mean "release"'),
    ],
)  # fmt: skip
def test_bad_input_raises_and_writes_nothing(
    release: duckdb.DuckDBPyConnection, tmp_path: Path, tables: tuple[str, str], more: dict[str, object], message: str
) -> None:
    with pytest.raises(duckdb.Error, match="PpduckError") as caught:
        ppduck.assert_release(release, *tables, **more, limits=LINKAGE, verdict=tmp_path / "verdict.json")
    assert message in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_an_unloaded_connection_is_told_so(release: duckdb.DuckDBPyConnection) -> None:
    for unloaded in (release.cursor(), duckdb.connect()):
        with unloaded, pytest.raises(ppduck.errors.PpduckError, match=r"call ppduck\.load\(con\) first"):
            ppduck.assert_release(unloaded, "customers", "release", **CONF)


@pytest.mark.parametrize(
    ("masked", "outcome"), [("release", "passed every rule"), ("customers", "linkage is 1, above")]
)
def test_a_verdict_that_cannot_be_written_is_not_lost(
    release: duckdb.DuckDBPyConnection, tmp_path: Path, masked: str, outcome: str
) -> None:
    with pytest.raises(
        ppduck.errors.PpduckError, match=f"cannot write the verdict to .*No such file or directory.*{outcome}"
    ):
        ppduck.assert_release(
            release, "customers", masked, **CONF, limits=LINKAGE, verdict=tmp_path / "no" / "verdict.json"
        )


def test_the_file_is_json_whatever_was_measured(release: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    release.execute("CREATE TABLE infinite AS SELECT * REPLACE (if(id = 3, 'inf'::DOUBLE, x1) AS x1) FROM customers")
    path = tmp_path / "verdict.json"
    with pytest.raises(ppduck.ReleaseRefused, match="mean could not be measured, limit 5"):
        ppduck.assert_release(release, "customers", "infinite", **CONF, limits={"mean": 5}, verdict=path)
    written = json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert written["rules"][0]["value"] is None
    assert [_plain(value) for value in (float("nan"), float("-inf"), 1.5, "a")] == [None, None, 1.5, "a"]


def test_an_open_transaction_is_left_as_it_was(release: duckdb.DuckDBPyConnection) -> None:
    """The verdict reads what the transaction sees, and failing rules do not abort it."""
    release.execute("BEGIN")
    release.execute(
        "UPDATE release SET x1 = customers.x1, x2 = customers.x2 FROM customers WHERE release.id = customers.id"
    )
    with pytest.raises(ppduck.ReleaseRefused, match="linkage is 1"):
        ppduck.assert_release(release, "customers", "release", **CONF, limits=LINKAGE)
    release.execute("ROLLBACK")
    assert ppduck.release_verdict(release, "customers", "release", **CONF, limits=LINKAGE)["passed"]
