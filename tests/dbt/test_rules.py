"""Masking rules: what meta may say, and how it is refused."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from ppduck.call import registry
from ppduck.dbt.rules import LATER, literal, masks, read_rule, roles_of
from ppduck.errors import PpduckError


def test_every_mask_of_the_registry_has_a_short_name() -> None:
    assert {mask.name for mask in masks().values()} == {
        name
        for name, mask in registry.masks().items()
        if all(parameter.name != "secret" for parameter in mask.parameters)
    }
    assert masks()["egadp"].name == "egadp_mask"


def test_roles_are_the_parameters_that_take_columns() -> None:
    assert roles_of(masks()["egadp"]) == ["conf", "nonconf", "strata", "key", "drop"]
    assert roles_of(masks()["anatomy"]) == ["qi", "sensitive", "keep", "key"]


def test_a_rule_of_the_model() -> None:
    rule = read_rule("m", {"mask": "egadp", "conf": ["x1", "x2"], "key": "id", "nonconf": [], "round": False}, {})
    assert rule.statement('"db"."main"."o\'dd"') == (
        "select * from egadp_mask('\"db\".\"main\".\"o''dd\"', conf := ['x1', 'x2'], key := 'id', "
        "nonconf := []::VARCHAR[], round := false)"
    )
    assert rule.roles == {"conf": ["x1", "x2"], "nonconf": [], "key": ["id"]}
    assert rule.own == {"round": False}


def test_a_rule_of_columns_and_of_the_call() -> None:
    columns = {"disease": {"role": "conf", "p": 0.8}, "gender": {"p": 0.9}, "id": "key", "name": "drop"}
    rule = read_rule("m", {"mask": "rr_mask", "drop": "street"}, columns, {"seed": 3})
    assert rule.given == {
        "drop": ["street", "name"], "conf": ["disease"], "p": {"disease": 0.8, "gender": 0.9}, "key": ["id"], "seed": 3,
    }  # fmt: skip
    assert rule.conf == ["disease"]
    assert read_rule("m", {"mask": "rr", "p": {"a": 0.5, "b": 0.6}}, {}).conf == ["a", "b"]
    anatomy = read_rule("m", {"mask": "anatomy", "l": 2}, {"age": "qi", "zip": "qi", "disease": "sensitive"})
    assert anatomy.given == {"l": 2, "qi": ["age", "zip"], "sensitive": "disease"}


def test_what_only_the_gate_asks() -> None:
    columns = {"x": "conf", "id": "key", "region": "keep", "age": "qi"}
    rule = read_rule("m", {"mask": "egadp", "keep": "sex", "qi": ["sex"]}, columns)
    assert rule.given == {"conf": ["x"], "key": ["id"]}
    assert rule.gate == {"keep": ["sex", "region"], "qi": ["sex", "age"]}
    assert rule.keep == ["sex", "region"]
    assert "region" not in rule.statement("t")
    rule.check_columns("t", ["x", "id"])  # the release may have more columns than what is masked
    anatomy = read_rule("m", {"mask": "anatomy", "l": 2, "keep": "sex", "qi": "age", "sensitive": "plan"}, {})
    assert (anatomy.gate, anatomy.keep, anatomy.conf) == ({}, ["sex"], ["plan"]), "it takes both itself"
    with pytest.raises(PpduckError, match=r"keep takes .*, got 5"):
        read_rule("m", {"mask": "egadp", "conf": "x", "keep": 5}, {})


def test_columns_with_pseudonyms() -> None:
    rule = read_rule("m", {"mask": "egadp", "conf": "x"}, {"name": "pseudonyms", "email": "pseudonyms"})
    assert rule.gate == {"pseudonyms": ["name", "email"]}
    said = {"mask": "egadp", "conf": "x", "pseudonyms": {"token": "id"}}
    assert read_rule("m", said, {"name": "pseudonyms"}).gate == {"pseudonyms": {"token": "id", "name": "name"}}
    with pytest.raises(PpduckError, match=r"pseudonyms takes .*, or \{'token': 'customer_id'\} .*, got 5"):
        read_rule("m", {"mask": "egadp", "conf": "x", "pseudonyms": 5}, {})


def test_masks_in_capitals() -> None:
    assert read_rule("m", {"mask": "EGADP_mask", "conf": "x"}, {}).mask.name == "egadp_mask"


def test_arguments_that_are_known_later() -> None:
    columns = {"x": "conf", "id": "key", "y": {"level": 0.3}}
    rule = read_rule("m", {"mask": "noise"}, columns, {"conf": LATER, "level": LATER})
    assert (rule.given, rule.later) == ({"key": ["id"]}, ("conf", "level"))
    with pytest.raises(PpduckError, match='noise_mask has no parameter "konf"'):
        read_rule("m", {"mask": "noise"}, {}, {"konf": LATER})


@pytest.mark.parametrize(
    ("meta", "keeps"),
    [
        ({"mask": "egadp"}, True),
        ({"mask": "ipso"}, True),
        ({"mask": "sufficiency", "alpha": 0.5}, True),
        ({"mask": "nm_egadp"}, True),
        ({"mask": "egadp", "round": True}, False),
        ({"mask": "egadp", "on_null": "mean"}, False),
        ({"mask": "nm_egadp", "variant": 2}, False),
        ({"mask": "nm_egadp", "extra_noise": 0.1}, False),
        ({"mask": "gadp"}, False),
        ({"mask": "noise", "level": 0.1}, False),
        ({"mask": "rr", "p": 0.7}, False),
    ],
)
def test_who_promises_moments(meta: dict[str, Any], keeps: bool) -> None:
    assert read_rule("m", {**meta, "conf": "x"}, {}).keeps_moments is keeps


@pytest.mark.parametrize(
    ("whole", "columns", "message"),
    [
        ({"mask": "egad", "conf": "x"}, {}, r'model "m": there is no mask "egad". Did you mean "egadp"\? Masks: "anatomy"'),
        ({"conf": "x"}, {}, 'model "m": it names no mask; add mask: to meta.ppduck of the model'),
        ("egadp", {}, r"meta.ppduck takes a mapping such as \{mask: egadp, .*, got 'egadp'"),
        ({"mask": "egadp"}, {}, 'parameter "conf" of egadp_mask is missing'),
        ({"mask": "egadp", "conf": "x", "nonkonf": "y"}, {}, r'has no parameter "nonkonf". Did you mean "nonconf"\?'),
        ({"mask": "egadp", "conf": "x", "tbl": "y"}, {}, 'has no parameter "tbl"'),
        ({"mask": "noise", "conf": "x", "level": "high"}, {}, "level of noise_mask takes a number .*, got 'high'"),
        ({"mask": "egadp"}, {"x": "konf"}, r'column "x" has role "konf", which egadp_mask does not know. Did you mean "conf"\?'),
        ({"mask": "noise", "level": 0.2}, {"x": {"role": "conf", "level": 0.3}}, 'level is given for the model and for column "x"'),
        ({"mask": "anatomy", "qi": "a", "l": 2}, {"b": "sensitive", "c": "sensitive"}, "sensitive of anatomy_mask takes a text"),
    ],
)  # fmt: skip
def test_refused(whole: Any, columns: dict[str, Any], message: str) -> None:
    with pytest.raises(PpduckError, match=message):
        read_rule("m", whole, columns)


def test_missing_columns_are_named_together() -> None:
    rule = read_rule("m", {"mask": "noise", "conf": ["x1", "X2"], "key": "idd", "level": {"x1": 0.1, "y": 0.2}}, {})
    with pytest.raises(PpduckError, match="ppduck rule of model") as refused:
        rule.check_columns("stg", ["id", "x1", "x2"])
    assert str(refused.value) == (
        'ppduck rule of model "m": key names column "idd", which "stg" does not have. Did you mean "id"? '
        'Columns: "id", "x1", "x2".\n'
        '  also: level names column "y", which "stg" does not have. Columns: "id", "x1", "x2".'
    )


def test_the_statement_is_what_the_mask_takes(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        'CREATE TABLE t AS SELECT i AS id, i % 7 AS "by", sin(i) AS "x ""1""", cos(i) AS x2 FROM range(200) r(i)'
    )
    meta = {
        "mask": "sufficiency",
        "conf": ['x "1"', "x2"],
        "strata": "by",
        "nonconf": [],
        "key": ["id"],
        "alpha": {"x2": 0.5, 'x "1"': 0},
    }
    statement = read_rule("m", meta, {}).statement("t")
    assert len(con.execute(statement).fetchall()) == 200


@pytest.mark.parametrize("value", [None, True, 3, -0.5, 1e-12, "it's", ["a", 1], {"a'b": [1, 2], "c": {"d": False}}])
def test_literals_come_back(con: duckdb.DuckDBPyConnection, value: Any) -> None:
    if value == ["a", 1]:
        value = ["a", "1"]
    [(back,)] = con.execute(f"SELECT {literal(value)}").fetchall()
    assert (float(back) if isinstance(value, float) else back) == value
