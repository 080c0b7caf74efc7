"""What a manifest tells of rules, and which columns a model will have before it is built."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ppduck.dbt.project import Project, called, calls_of, calls_the_macro, has_policy, release_of, rules_of
from ppduck.dbt.rules import LATER
from ppduck.errors import PpduckError


def model(name: str, code: str, *made_of: str, materialized: str = "view", **more: Any) -> dict[str, Any]:
    return {
        "name": name, "resource_type": "model", "raw_code": code, "config": {"materialized": materialized},
        "depends_on": {"nodes": list(made_of), "macros": []}, "columns": {}, **more,
    }  # fmt: skip


@pytest.fixture
def nodes(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "people.csv").write_text("id;Income\n1;2.5\n", encoding="utf-8")
    seed = {
        "name": "people", "resource_type": "seed", "root_path": str(tmp_path), "original_file_path": "people.csv",
        "config": {"delimiter": ";", "materialized": "seed"},
    }  # fmt: skip
    built = {
        "name": "raw",
        "resource_type": "source",
        "columns_in_database": [["a", "DECIMAL(9,2)"], ["o'b", "VARCHAR"]],
    }
    return {"seed": seed, "source": built}


def columns(nodes: dict[str, Any], node: dict[str, Any]) -> list[str] | None:
    return Project({**nodes, "model": node}).columns("model")


def test_columns_before_anything_is_built(nodes: dict[str, Any]) -> None:
    assert columns(nodes, model("m", "select id, income * 2 as twice from {{ ref('people') }};", "seed")) == [
        "id",
        "twice",
    ]
    both = "{{ config(tags=['x']) }} select * from {{ source('s', 'raw') }}, {{ ref('p', 'people') }}"
    assert columns(nodes, model("m", both, "source", "seed")) == ["a", "o'b", "id", "Income"]
    chain = nodes | {"between": model("between", "select id as key from {{ ref('people') }}", "seed")}
    assert columns(chain, model("m", "select * from {{ ref('between') }}", "between")) == ["key"]


@pytest.mark.parametrize(
    ("code", "materialized"),
    [
        ("select {{ my_macro() }} from {{ ref('people') }}", "view"),
        ("select nothing from {{ ref('people') }}", "view"),
        ("select * from {{ ref('m') }}", "view"),
        ("select * from {{ ref('people') }}", "incremental"),
        ("def model(dbt, session): ...", "table"),
    ],
)
def test_columns_that_cannot_be_known(nodes: dict[str, Any], code: str, materialized: str) -> None:
    assert columns(nodes, model("m", code, "seed", "model", materialized=materialized)) is None


def test_the_source_is_what_the_call_names(nodes: dict[str, Any]) -> None:
    project = Project(nodes)
    two = model("m", "{{ ppduck_mask( ref('people')) }} join {{ source('s', 'raw') }}", "source", "seed")
    assert project.sources(two) == ["seed"]
    assert project.sources(model("m", "{{ ppduck_mask(source('s', \"raw\")) }}", "source", "seed")) == ["source"]
    assert project.sources(model("m", "{% set r = ref('people') %}{{ ppduck_mask(r) }}", "seed")) == ["seed"]


def test_faults_and_warnings_of_the_selected_models(nodes: dict[str, Any]) -> None:
    meta = {"ppduck": {"mask": "noise", "level": 0.1, "conf": "incom"}}
    wrong = model("wrong", "{{ ppduck_mask(ref('people')) }}", "seed", meta=meta)
    wrong["depends_on"]["macros"] = ["macro.dbt.run_query", "macro.mine.ppduck_mask"]
    idle = model("idle", "select 1", "seed", columns={"income": {"config": {"meta": {"ppduck": "conf"}}}})
    idle["config"]["meta"] = {"ppduck": {"mask": "egadp"}}
    project = Project({**nodes, "wrong": wrong, "idle": idle, "plain": model("plain", "select 1")})
    assert project.faults() == [
        'ppduck rule of model "wrong": conf names column "incom", which "people" does not have. Did you mean "Income"? '
        'Columns: "id", "Income".'
    ]
    assert project.faults(["idle"]) == []
    [warning] = project.warnings()
    assert warning.startswith('model "idle" has a masking rule and does not call ppduck_mask')
    assert project.warnings(["wrong"]) == []
    assert calls_the_macro(wrong)


def noted(over_text: bool = False, **arguments: str) -> dict[str, Any]:
    """A call as the macro writes it down; each in a list of its own."""
    return {"arguments": {name: f"[{text}]" for name, text in arguments.items()}, "over_text": over_text}


def test_calls_are_rules(nodes: dict[str, Any]) -> None:
    meta = {"ppduck": {"mask": "egadp", "key": "id"}, "ppduck_call_1": noted(conf="['income']", drop="none_yet")}
    node = model("m", "{{ my_macro(ref('people')) }}", "seed", config={"meta": meta})
    assert [call.arguments for call in calls_of(node)] == [{"conf": ["income"], "drop": LATER}]
    [rule] = Project({**nodes, "m": node}).check(node)
    assert (rule.given, rule.later) == ({"key": "id", "conf": ["income"]}, ("drop",))
    assert calls_the_macro(node)
    assert Project({**nodes, "m": node}).warnings() == []
    meta["ppduck_call_2"] = noted(mask="'noise'", conf="'incom'", level="0.5")
    [fault] = Project({**nodes, "m": node}).faults()
    assert 'conf names column "incom", which "people" does not have. Did you mean "Income"?' in fault


def test_what_a_call_tells_only_when_it_runs(nodes: dict[str, Any]) -> None:
    for text in ("None", "Undefined", '<DuckDBRelation "a">', "{[]: 1}"):
        node = model("m", "", "seed", config={"meta": {"ppduck_call_1": noted(mask=text)}})
        assert calls_of(node)[0].arguments == {"mask": LATER}
        assert rules_of(node) == []
    looked_up = model("m", "", config={"meta": {"ppduck_call_1": noted(conf="[]", nonconf="[]")}})
    assert calls_of(looked_up)[0].arguments == {"conf": LATER, "nonconf": []}
    monthly = {"ppduck_call_1": noted(over_text=True, mask="'egadp'", conf="'monthly'")}
    assert Project({**nodes, "m": model("m", "", "seed", config={"meta": monthly})}).faults() == []


def test_snapshots_have_rules(nodes: dict[str, Any]) -> None:
    meta = {"ppduck": {"mask": "egadp", "conf": "incom"}}
    node = model("m", "", "seed", config={"meta": meta}, resource_type="snapshot")
    assert len(Project({**nodes, "m": node}).faults()) == 1


POLICY = {"key": "id", "batch": "day", "columns": {"id": "drop", "day": "keep", "Income": {"mask": "egadp"}}}


def released(code: str, **config: Any) -> dict[str, Any]:
    node = model("m", code, "seed")
    node["config"] |= {"meta": {"ppduck": POLICY, "ppduck_release_1": {"over_text": False}}, **config}
    return node


def test_the_macro_that_is_called_says_what_the_metas_are(nodes: dict[str, Any]) -> None:
    made = released("{{ ppduck_release_table(ref('people')) }}")
    assert has_policy(made)
    assert (called(made), calls_of(made)) == ({"ppduck_release_table"}, [])
    role = {"config": {"meta": {"ppduck": "keep"}}}
    treated = {"config": {"meta": {"ppduck": {"pseudonym": "token"}}}}
    assert not has_policy(model("m", "", columns={"x": role}))
    assert has_policy(model("m", "", columns={"x": role, "y": treated}))
    used = {"nodes": [], "macros": ["macro.mine.ppduck_mask"]}
    assert not has_policy(model("m", "", columns={"y": treated}, depends_on=used))
    [fault] = Project({**nodes, "m": made}).faults()
    assert fault.startswith('ppduck policy of model "m", released from "people": columns.day: the table has no column')
    idle = model("idle", "select 1", columns={"y": treated})
    [warning] = Project({"idle": idle}).warnings()
    assert warning.startswith('model "idle" has a release policy and does not call ppduck_release_table')


@pytest.mark.parametrize(
    ("code", "alone"),
    [
        (
            "{{ config(materialized='incremental') }}\n-- all of them\n{{ ppduck_release_table(source('s', 't')) }}\n",
            True,
        ),
        ("{% set r = ref('people') %}{{- ppduck_release_table(r) -}}", True),
        ("select *, 1 as more from ({{ ppduck_release_table(ref('people')) }})", False),
        ("{{ ppduck_release_table(ref('people')) }} where id > 3", False),
        ("{{ my_macro(ref('people')) }}", False),
        ("{{ ppduck_release_table(ref('people')", False),
    ],
)
def test_an_incremental_model_is_the_call_alone(code: str, alone: bool) -> None:
    node = released(code, materialized="incremental")
    if alone:
        assert release_of(node).policy.batch == "day"
    else:
        with pytest.raises(PpduckError, match="let its SQL be the call of ppduck_release_table alone"):
            release_of(node)
