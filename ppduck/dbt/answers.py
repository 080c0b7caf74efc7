"""What the macros ask Python, through one SQL function: Jinja in dbt knows neither the registry nor near misses.

``ppduck_dbt(task, request)`` takes and returns JSON. A refusal comes back as ``{"error": …}``, for dbt to raise.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import duckdb
from sqlglot import exp

from ppduck.catalogue.functions import sees_function
from ppduck.dbt import release_answers
from ppduck.dbt.project import Project, has_policy, has_rule, name_of, rule_of, rules_of
from ppduck.dbt.requests import (
    CheckRequest,
    CommentRequest,
    MaskRequest,
    Names,
    ReleaseGiven,
    ReleaseRequest,
    TableRequest,
)
from ppduck.dbt.rules import DESIGN, Rule
from ppduck.dbt.statements import (
    as_table,
    failed_rules,
    in_from,
    refuse_source,
    rows_given,
    written,
)
from ppduck.errors import Faults, PpduckError, quoted
from ppduck.measures import moments_check
from ppduck.query import tree as sql
from ppduck.values import folded

FUNCTION = "ppduck_dbt"
TOLERANCE = 1e-9


def register(con: duckdb.DuckDBPyConnection) -> None:
    """Adds the function to a database, once: another connection may have added it."""
    if not sees_function(con, FUNCTION, "system"):
        create: Any = con.create_function  # its stubs know the types only as enumerations
        create(FUNCTION, answer, ["VARCHAR", "VARCHAR"], "VARCHAR", null_handling="special")


def answer(task: str, request: str) -> str:
    tasks: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
        "mask": lambda given: _mask(MaskRequest.read(given)),
        "check": lambda given: _check(CheckRequest.read(given)),
        "release": lambda given: _release(ReleaseRequest.read(given)),
        "release_table": lambda given: release_answers.table(TableRequest.read(given)),
        "comment": lambda given: release_answers.comment(CommentRequest.read(given)),
    }
    try:
        return json.dumps(tasks[task](json.loads(request)))
    except PpduckError as error:
        return json.dumps({"error": str(error)})


def _mask(request: MaskRequest) -> dict[str, Any]:
    """The masking statement of a model over a source, whose columns are given once it is there."""
    source = request.source
    faults = Faults(f"ppduck rule of model {quoted(name_of(request.node))}")
    refuse_source(faults, request.node, source)
    rule = rule_of(request.node, request.call)
    if source.columns:
        rule.check_columns(source.name, source.columns)
    return {
        "sql": rule.statement(as_table(source.table)),
        "empty": sql.render(sql.query([_all_but(rule.roles.get("drop", []))])),
    }


def _all_but(dropped: Sequence[str]) -> sql.Expr:
    return exp.Star(except_=[*map(sql.name, dropped)]) if dropped else exp.Star()


def _check(request: CheckRequest) -> dict[str, Any]:
    """Whether the rules of the selected models can be carried out, before the first model is built."""
    project = Project(request.nodes)
    faults = project.faults(request.selected)
    return (
        {"error": "\n".join(faults)} if faults else {"warnings": project.warnings(request.selected)}
    )


def _release(request: ReleaseRequest) -> dict[str, Any]:
    """The statement whose rows are the rules that a release fails. What is not given is that of the model's rule.

    Once the columns of the release are told, its moments are of those only that it still has.
    """
    node, given = request.node, request.given
    if has_policy(node):
        return release_answers.check(request)
    faults = Faults(f"ppduck_release on {quoted(name_of(node))}")
    rules = rules_of(node) if has_rule(node) else []
    rule = rules[0] if len(rules) == 1 else None
    original = given.original or Project(request.made_of).only_source(node)
    if not original:
        faults.add(
            "parameter 'original' is missing: the table before masking, such as ref('stg_customers')."
        )
    conf = given.conf or (rule.conf if rule else None)
    key = given.key or (rule.roles.get("key") if rule else None)
    for name, value in (("conf", conf), ("key", key)):
        if not value:
            faults.add(f"parameter {name!r} is missing, and {_why_unknown(rules, name)}.")
    faults.raise_if_any()
    assert original
    assert conf
    assert key
    nonconf = given.nonconf
    if nonconf is None and rule is not None:
        nonconf = rule.roles.get("nonconf")
    both = as_table(original), as_table(request.masked)
    asked = {"conf": conf, "nonconf": nonconf, "key": key, "limits": given.limits}
    asked |= _of_columns(given, rule, _names(conf))
    found = [failed_rules(both, {name: v for name, v in asked.items() if v is not None})]
    if _wants_moments(given.moments, rule):
        named = _compared(request, conf, nonconf)
        columns = {"key": key} if named is None else {"conf": named}
        tolerance = TOLERANCE if given.tolerance is None else float(given.tolerance)
        found += [] if named == [] else [_lost_moments(both, columns, tolerance)]
    return {"sql": written(sql.union_all(found)), "release": in_from(both[1])}


def _of_columns(given: ReleaseGiven, rule: Rule | None, conf: Sequence[str]) -> dict[str, Any]:
    """What else the gate is told of columns: those that are kept or known, and how categories are randomized.

    A design is taken whole from the test's arguments or from the rule, of the columns that are asked of.
    """
    kept = given.keep if given.keep is not None or rule is None else rule.keep
    known, replaced = (
        own if own is not None or rule is None else rule.gate.get(name)
        for name, own in (("qi", given.qi), ("pseudonyms", given.pseudonyms))
    )
    design = {name: getattr(given, name) for name in DESIGN if getattr(given, name) is not None}
    if not design and rule is not None:
        design = {name: _of_conf(value, conf) for name, value in rule.design.items()}
    return {
        "keep": kept or None,
        "qi": known or None,
        **{n: v for n, v in design.items() if v != {}},
        "pseudonyms": replaced or None,
    }


def _of_conf(value: Any, conf: Sequence[str]) -> Any:
    if not isinstance(value, Mapping):
        return value
    masked = {folded(name) for name in conf}
    return {name: part for name, part in value.items() if folded(str(name)) in masked}


def _why_unknown(rules: Sequence[Rule], name: str) -> str:
    if len(rules) > 1:
        return "the model calls ppduck_mask more than once"
    if rules and name in rules[0].later:
        return "the model's call of ppduck_mask tells it only when it runs"
    return "the model's rule does not name it either"


def _names(given: Names) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _compared(request: ReleaseRequest, conf: Names, nonconf: Names | None) -> list[str] | None:
    """The columns whose moments are compared; None for all that both tables have."""
    if nonconf is None:
        return None
    named = [*_names(conf), *_names(nonconf)]
    there = {folded(name) for name in request.columns} if request.columns else None
    return [name for name in named if there is None or folded(name) in there]


def _wants_moments(given: bool | None, rule: Rule | None) -> bool:
    return bool(given) if given is not None else rule is not None and rule.keeps_moments


def _lost_moments(tables: tuple[str, str], given: Mapping[str, Any], tolerance: float) -> sql.Expr:
    rows = "rows that the release has more or fewer than the original (moments_check)"
    moment = (
        " that the mask promises to keep, as a difference in standard deviations (moments_check)"
    )
    statistic, difference = sql.column("statistic"), sql.call("abs", sql.column("difference"))
    both = sql.call("concat_ws", sql.text(", "), sql.column("column_a"), sql.column("column_b"))
    why = sql.cases(
        (statistic.eq(sql.text("count")), sql.text(rows)),
        otherwise=sql.call("concat", statistic.copy(), sql.text(moment)),
    )
    columns = [
        sql.text("moments"),
        sql.call("nullif", both, sql.text("")),
        sql.double(sql.number(tolerance)),
        difference,
        why,
    ]
    kept = sql.call("coalesce", difference.copy() <= sql.number(tolerance), exp.false())
    moments = rows_given(moments_check.NAME, tables, given)
    return sql.query(columns, moments, where=exp.Not(this=kept))
