"""What the macros ask Python, through one SQL function: Jinja in dbt knows neither the registry nor near misses.

``ppduck_dbt(task, request)`` takes and returns JSON. A refusal comes back as ``{"error": …}``, for dbt to raise.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from ppduck.catalogue.functions import sees_function
from ppduck.dbt.copies import copies
from ppduck.dbt.project import Project, has_rule, rule_of, rules_of
from ppduck.dbt.rules import Rule, literal
from ppduck.errors import Faults, PpduckError, quoted
from ppduck.gate import release_check
from ppduck.measures import moments_check
from ppduck.query import tree as sql
from ppduck.values import folded

FUNCTION = "ppduck_dbt"
TOLERANCE = 1e-9
Request = Mapping[str, Any]
_FILE = re.compile(r"[^\s;()\"]+(/[^\s;()\"]+|\.(csv|json|parquet)(\.gz|\.zst)?)", re.IGNORECASE)
_PLAIN_NAMES = re.compile(r'"[a-z_][a-z0-9_]*"(\."[a-z_][a-z0-9_]*")*')


def register(con: duckdb.DuckDBPyConnection) -> None:
    """Adds the function to a database, once: another connection may have added it."""
    if not sees_function(con, FUNCTION, "system"):
        create: Any = con.create_function  # its stubs know the types only as enumerations
        create(FUNCTION, answer, ["VARCHAR", "VARCHAR"], "VARCHAR", null_handling="special")


def answer(task: str, request: str) -> str:
    tasks = {"mask": _mask, "check": _check, "release": _release}
    try:
        return json.dumps(tasks[task](json.loads(request)))
    except PpduckError as error:
        return json.dumps({"error": str(error)})


def _mask(request: Request) -> dict[str, Any]:
    """The masking statement of a model over a source, whose columns are given once it is there."""
    node, source = request["node"], request["source"]
    faults = Faults(f"ppduck rule of model {quoted(node['name'])}")
    if node.get("resource_type") == "unit_test":
        raise faults.refuse(
            "masks cannot be unit-tested: what they give depends on the whole table and on the secret. Test the masked "
            "model by data tests such as ppduck_release, and other models with it as their given input."
        )
    if source["is_cte"]:
        raise faults.refuse(
            f"its source {quoted(source['name'])} is ephemeral and cannot be masked; materialize it as a view or table."
        )
    rule = rule_of(node, request["call"])
    if source["columns"]:
        rule.check_columns(source["name"], source["columns"])
    return {
        "sql": rule.statement(_as_table(source["table"])),
        "empty": _all_but(rule.roles.get("drop", [])),
    }


def _all_but(dropped: Sequence[str]) -> str:
    names = ", ".join(sql.render(sql.name(name)) for name in dropped)
    return f"select * exclude ({names})" if dropped else "select *"


def _check(request: Request) -> dict[str, Any]:
    """Whether the rules of the selected models can be carried out, before the first model is built."""
    project = Project(request["nodes"])
    faults = project.faults(request["selected"])
    return (
        {"error": "\n".join(faults)}
        if faults
        else {"warnings": project.warnings(request["selected"])}
    )


def _release(request: Request) -> dict[str, Any]:
    """The statement whose rows are the rules that a release fails. What is not given is that of the model's rule.

    Where the columns of both tables are given, columns that repeat confidential ones are looked for too, and the
    moments are of those columns only that the release still has.
    """
    node, given = request["node"], request["given"]
    faults = Faults(f"ppduck_release on {quoted(node['name'])}")
    rules = rules_of(node) if has_rule(node) else []
    rule = rules[0] if len(rules) == 1 else None
    made_of = Project(request["made_of"])
    sources = made_of.sources(node)
    only = made_of.nodes[sources[0]].get("relation_name") if len(sources) == 1 else None
    original = str(given["original"] or only or "")
    if not original:
        faults.add(
            "parameter 'original' is missing: the table before masking, such as ref('stg_customers')."
        )
    conf = given["conf"] or (rule.conf if rule else None)
    key = given["key"] or (rule.roles.get("key") if rule else None)
    for name, value in (("conf", conf), ("key", key)):
        if not value:
            faults.add(f"parameter {name!r} is missing, and {_why_unknown(rules, name)}.")
    faults.raise_if_any()
    nonconf = (
        given["nonconf"]
        if given["nonconf"] is not None
        else (rule.roles.get("nonconf") if rule else None)
    )
    asked = {"conf": conf, "nonconf": nonconf, "key": key, "limits": given["limits"]}
    told = "".join(
        f", {name} := {literal(value)}" for name, value in asked.items() if value is not None
    )
    both = _as_table(original), _as_table(request["masked"])
    tables = ", ".join(map(literal, both))
    statement = f'select rule, at_most, "value", meaning\nfrom {release_check.NAME}({tables}{told})\nwhere not passed'
    if _wants_moments(given["moments"], rule):
        tolerance = TOLERANCE if given["tolerance"] is None else given["tolerance"]
        statement += f"\nunion all\n{_lost_moments(tables, _compared(request, conf, nonconf), key, float(tolerance))}"
    readable = (_in_from(both[0]), _in_from(both[1]))
    copied = (
        copies(readable, request["columns"], _names(conf), _names(key))
        if request.get("columns")
        else None
    )
    return {"sql": statement + (f"\nunion all\n{copied}" if copied else ""), "tables": readable}


def _why_unknown(rules: Sequence[Rule], name: str) -> str:
    if len(rules) > 1:
        return "the model calls ppduck_mask more than once"
    if rules and name in rules[0].later:
        return "the model's call of ppduck_mask tells it only when it runs"
    return "the model's rule does not name it either"


def _in_from(table: str) -> str:
    """What ppduck takes for a table, as it stands in a FROM clause: the name of a file needs quotes."""
    return sql.render(sql.name(table)) if _FILE.fullmatch(table) else table


def _names(given: Any) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _compared(request: Request, conf: Any, nonconf: Any) -> list[str] | None:
    """The columns whose moments are compared; None for all that both tables have."""
    if nonconf is None:
        return None
    named = [*_names(conf), *_names(nonconf)]
    there = {folded(name) for name in request["columns"][1]} if request.get("columns") else None
    return [
        name for name in named if there is None or folded(name) in there or name in _names(conf)
    ]


def _as_table(relation: str) -> str:
    """What dbt writes into a FROM clause, as ppduck takes it, and as a user would write it."""
    text = relation.strip()
    if text.startswith("("):  # a subquery of dbt's, which may have an alias behind it
        return text if text.endswith(")") else f"(select * from {text})"
    return text.replace('"', "") if _PLAIN_NAMES.fullmatch(text) and _reads_the_same(text) else text


def _reads_the_same(name: str) -> bool:
    """Whether a name may be written without its quotes: a keyword may not."""
    try:
        plain = sqlglot.parse_one(name.replace('"', ""), into=exp.Table, dialect="duckdb")
    except SqlglotError:
        return False
    return [part.name for part in plain.parts] == name.replace('"', "").split(".")


def _wants_moments(given: bool | None, rule: Rule | None) -> bool:
    return bool(given) if given is not None else rule is not None and rule.keeps_moments


def _lost_moments(tables: str, named: Sequence[str] | None, key: Any, tolerance: float) -> str:
    columns = f", conf := {literal(named)}" if named is not None else f", key := {literal(key)}"
    rows, moment = (
        literal(f"{what} (moments_check)")
        for what in (
            "rows that the release has more or fewer than the original",
            "moment that the mask promises to keep, as a difference in standard deviations",
        )
    )
    meaning = f"case when statistic = 'count' then {rows} else {moment} end"
    return (
        "select concat_ws(' ', 'moments:', statistic, column_a, column_b), "
        f"{tolerance!r}::double, abs(difference), {meaning}\n"
        f"from {moments_check.NAME}({tables}{columns})\n"
        f"where not coalesce(abs(difference) <= {tolerance!r}, false)"
    )
