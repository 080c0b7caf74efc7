"""assert_release(): stops a pipeline, and writes down why."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from jsonschema import Draft202012Validator

import ppduck
from ppduck.gate import release_check
from ppduck.gate.limits import NAMES
from ppduck.gate.verdict import SCHEMA, VERSION, _plain, literal
from ppduck.where import path as where

pytestmark = pytest.mark.core
CONF = {"conf": ["x1", "x2"], "key": "id"}
LINKAGE = {"linkage": 0.05}
KEPT = ["rule", "column_name", "passed", "value", "at_most", "why"]
OFF = dict.fromkeys(NAMES)
schema = Draft202012Validator(json.loads(where("verdict").read_text(encoding="utf-8")))


@pytest.fixture
def release(customers: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """The customers and an EGADP release of them, without their names."""
    customers.execute(
        "CREATE TABLE release AS FROM egadp_mask('customers', conf=['x1', 'x2'], nonconf=['s1', 's2'], key='id', drop='name')"
    )
    return customers


def failing(verdict: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [(rule["rule"], rule["column_name"]) for rule in verdict["rules"] if rule["passed"] is False]


def test_a_good_release_passes_and_is_written_down(release: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    path = tmp_path / "verdict.json"
    before = datetime.now(UTC).replace(microsecond=0)
    verdict = ppduck.assert_release(release, "customers", "release", **CONF, nonconf=["s1", "s2"], verdict=path)
    assert json.loads(path.read_text(encoding="utf-8")) == verdict
    schema.validate(verdict)
    assert (verdict["schema"], verdict["version"]) == (SCHEMA, VERSION) == ("ppduck/verdict", 2)
    assert (verdict["passed"], verdict["original"], verdict["release"]) == (True, "customers", "release")
    assert (verdict["conf"], verdict["nonconf"], verdict["key"]) == (["x1", "x2"], ["s1", "s2"], ["id"])
    assert (verdict["ppduck"], verdict["duckdb"]) == (ppduck.__version__, f"v{duckdb.__version__}")
    assert before <= datetime.fromisoformat(verdict["time"]) <= datetime.now(UTC)
    assert {rule["rule"] for rule in verdict["rules"]} >= {"declared", "tells", "linkage", "r2_gain"}
    assert list(verdict["rules"][0]) == KEPT
    assert {rule["passed"] for rule in verdict["rules"] if rule["rule"] == "k"} == {None}, "nobody named qi"


def test_a_copy_is_refused_by_every_rule_it_fails(release: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    path = tmp_path / "verdict.json"
    with pytest.raises(
        ppduck.ReleaseRefused,
        match=r'"customers" fails \d+ of \d+ rules .*; linkage is 1, above its limit of 0\.05; .*; '
        r"copy of x1 is 1, above its limit of 0\.5; .* Mask more, drop columns",
    ) as refused:
        ppduck.assert_release(release, "customers", "customers", **CONF, limits={"mean": 1}, verdict=str(path))
    written = json.loads(path.read_text(encoding="utf-8"))
    assert written == refused.value.verdict
    schema.validate(written)
    assert not written["passed"]
    assert {("linkage", None), ("copy", "x1"), ("copy", "x2"), ("tells", "x1")} <= {*failing(written)}
    assert [rule["passed"] for rule in written["rules"] if rule["rule"] == "mean"] == [True]


def test_python_says_what_sql_says(release: duckdb.DuckDBPyConnection) -> None:
    """Names, counts, figures and remedy, where values are NULL too."""
    release.execute("CREATE TABLE leaky AS SELECT r.*, 2 * c.x1 AS usd FROM release r JOIN customers c USING (id)")
    release.execute("CREATE TABLE far AS SELECT * REPLACE (if(id = 3, 'inf'::DOUBLE, x1) AS x1) FROM release")
    for masked, limits in (("leaky", {"r2": None}), ("customers", {"r2": 0.5}), ("far", OFF | {"mean": 5})):
        with pytest.raises(ppduck.ReleaseRefused, match="must not be released") as refused:
            ppduck.assert_release(release, "customers", masked, **CONF, limits=limits)
        call = f"FROM assert_release('customers', '{masked}', conf=['x1', 'x2'], key='id', limits={literal(limits)})"
        with pytest.raises(duckdb.InvalidInputException, match="must not be released") as raised:
            release.execute(call).fetchall()
        assert str(raised.value).endswith(str(refused.value))


def test_a_verdict_alone_does_not_raise(release: duckdb.DuckDBPyConnection) -> None:
    verdict = ppduck.release_verdict(release, "customers", "customers", **CONF, limits=LINKAGE)
    assert verdict["passed"] is False
    assert [rule["value"] for rule in verdict["rules"] if rule["rule"] == "linkage"] == [1.0]


def test_all_that_release_check_takes(release: duckdb.DuckDBPyConnection) -> None:
    """What is new is declared by keep, quasi-identifiers are counted, and a design is told."""
    release.execute("""
        CREATE TABLE wide AS SELECT r.*, c.region = 'east' AS east FROM release r JOIN customers c USING (id);
        CREATE TABLE drawn AS FROM rr_mask('release', p={'region': 0.8}, key='id', seed=1);
    """)
    assert failing(ppduck.release_verdict(release, "customers", "wide", **CONF)) == [("declared", "east")]
    kept = ppduck.assert_release(release, "customers", "wide", **CONF, keep="east", qi=("region", "member"))
    assert (kept["keep"], kept["qi"]) == (["east"], ["region", "member"])
    [(k, value)] = [(rule["passed"], rule["value"]) for rule in kept["rules"] if rule["rule"] == "k"]
    assert (k, value) == (True, pytest.approx(1 / 83))
    design = {
        "conf": "region",
        "key": "id",
        "nonconf": ["s1", "s2"],
        "levels": {"region": ["east", "north", "south", "west"]},
    }
    matrix = np.full((4, 4), 0.2 / 3)
    np.fill_diagonal(matrix, 0.8)
    without = ppduck.release_verdict(release, "release", "drawn", conf="region", key="id", nonconf=["s1", "s2"])
    assert ("agreement", "region") in failing(without)
    for told in ({"p": 0.8}, {"p": {"region": np.float32(0.8)}}, {"matrix": {"region": matrix}}):
        verdict = ppduck.release_verdict(release, "release", "drawn", **design, **told)
        assert ("agreement", "region") not in failing(verdict)
        schema.validate(verdict)
    names = [parameter.name for parameter in release_check.FUNCTION.parameters]
    assert [name for name in verdict if name in names] == names, "a verdict tells all that was asked"


@pytest.mark.parametrize("named", ["name", ["name"], {"name": "name"}])
def test_pseudonyms_in_every_form(release: duckdb.DuckDBPyConnection, named: Any) -> None:
    release.execute(
        "CREATE TABLE named AS SELECT r.*, md5('a secret' || c.name) AS name FROM release r JOIN customers c USING (id)"
    )
    verdict = ppduck.assert_release(release, "customers", "named", **CONF, pseudonyms=named)
    schema.validate(verdict)
    assert verdict["pseudonyms"] == (["name"] if isinstance(named, str) else named)
    assert ("identifier", "name") in failing(ppduck.release_verdict(release, "customers", "named", **CONF))


def test_rules_that_are_not_asked_are_neither_kept_nor_failed(release: duckdb.DuckDBPyConnection) -> None:
    off = dict.fromkeys(["linkage", "order", "r2_gain"])
    verdict = ppduck.assert_release(release, "customers", "release", **CONF, limits=off)
    schema.validate(verdict)
    found = {rule["rule"]: rule for rule in verdict["rules"]}
    for name in off:
        assert found[name]["passed"] is None
        assert (found[name]["value"], found[name]["at_most"]) == (None, None)
    copied = ppduck.release_verdict(release, "customers", "customers", **CONF, limits=off)
    assert not {*off} & {rule for rule, _ in failing(copied)}
    assert {("copy", "x1"), ("copy", "x2")} <= {*failing(copied)}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda verdict: verdict.pop("rules"),
        lambda verdict: verdict.update(meaning="a key of its own"),
        lambda verdict: verdict.update(version=1),
        lambda verdict: verdict.update(pseudonyms={"token": 5}),
        lambda verdict: verdict.pop("pseudonyms"),
        lambda verdict: verdict.update(schema="ppduck"),
        lambda verdict: verdict.update(conf=[]),
        lambda verdict: verdict.update(conf="x1"),
        lambda verdict: verdict.update(limits={"linkage": "low"}),
        lambda verdict: verdict.update(p={"region": 1.5}),
        lambda verdict: verdict.update(time="yesterday"),
        lambda verdict: verdict.update(passed=False),
        lambda verdict: verdict.update(rules=[]),
        lambda verdict: verdict["rules"][0].update(passed=False),
        lambda verdict: verdict["rules"][0].update(value=None),
        lambda verdict: verdict["rules"][0].update(meaning="a key of its own"),
        lambda verdict: verdict["rules"][0].pop("column_name"),
        lambda verdict: verdict["rules"][0].update(why=None),
    ],
)
def test_the_schema_refuses_what_is_no_verdict(spoil: Callable[[dict[str, Any]], object]) -> None:
    rule = {"rule": "linkage", "column_name": None, "passed": True, "value": 0.01, "at_most": 0.05, "why": "share"}
    off = rule | {"rule": "k", "passed": None, "value": None, "at_most": None}
    nothing = dict.fromkeys(("nonconf", "limits", "qi", "p", "matrix", "levels"))
    verdict = {
        **{"schema": SCHEMA, "version": VERSION, "passed": True, "original": "t", "release": "r", "conf": ["x"]},
        **{"key": ["id"], "keep": [], "pseudonyms": [], "rules": [rule, off], "ppduck": "1", "duckdb": "v2", **nothing},
        "time": "2026-01-01T00:00:00+00:00",
    }
    Draft202012Validator.check_schema(schema.schema)
    schema.validate(verdict)
    spoil(verdict)
    assert not schema.is_valid(verdict)


def test_refused_is_one_of_ppducks_errors() -> None:
    assert issubclass(ppduck.ReleaseRefused, ppduck.errors.PpduckError)


def test_names_and_limits_are_quoted(release: duckdb.DuckDBPyConnection) -> None:
    release.execute("""
        CREATE TABLE "o'd ""t" AS SELECT id // 2 AS "k'1", id % 2 AS "k\\2", x1 AS "x'""1", s1 FROM customers;
        CREATE TABLE "o'd ""r" AS SELECT id // 2 AS "k'1", id % 2 AS "k\\2", x1 AS "x'""1", s1 FROM release;
    """)
    names = {"conf": "x'\"1", "key": ("k'1", "k\\2"), "nonconf": "s1"}
    tables = ('"o\'d ""t"', '"o\'d ""r"')
    verdict = ppduck.assert_release(release, *tables, **names, limits={"r2": np.float64(0.99), "cc_gain": "chance"})
    assert (verdict["conf"], verdict["key"]) == (["x'\"1"], ["k'1", "k\\2"])
    assert verdict["limits"] == {"r2": 0.99, "cc_gain": "chance"}
    assert [rule["at_most"] for rule in verdict["rules"] if rule["rule"] == "r2"] == [0.99]
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
    ("masked", "outcome"), [("release", "passed every rule"), ("customers", "fails .* linkage is 1, above")]
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
        ppduck.assert_release(release, "customers", "infinite", **CONF, limits=OFF | {"mean": 5}, verdict=path)
    written = json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert [rule["value"] for rule in written["rules"] if rule["rule"] == "mean"] == [None]


def test_values_in_json_and_in_sql() -> None:
    given = [
        float("nan"),
        float("-inf"),
        1.5,
        "a'b",
        Decimal("0.5"),
        np.int64(3),
        True,
        None,
        date(2026, 1, 2),
        (1, [2]),
    ]
    assert _plain(given) == [None, None, 1.5, "a'b", 0.5, 3, True, None, "2026-01-02", [1, [2]]]
    assert literal(given) == "['nan', '-inf', 1.5, 'a''b', 0.5, 3, true, NULL, '2026-01-02', [1, [2]]]"
    assert literal({"a": np.eye(2)}) == "{'a': [[1.0, 0.0], [0.0, 1.0]]}"


def test_an_open_transaction_is_left_as_it_was(release: duckdb.DuckDBPyConnection) -> None:
    """The verdict reads what the transaction sees, and failing rules do not abort it."""
    release.execute("BEGIN")
    release.execute(
        "UPDATE release SET x1 = customers.x1, x2 = customers.x2 FROM customers WHERE release.id = customers.id"
    )
    with pytest.raises(ppduck.ReleaseRefused, match="linkage is"):
        ppduck.assert_release(release, "customers", "release", **CONF, limits=LINKAGE)
    release.execute("ROLLBACK")
    assert ppduck.release_verdict(release, "customers", "release", **CONF, limits=LINKAGE)["passed"]
