"""What the macros ask Python, through one SQL function: Jinja in dbt knows neither the registry nor near misses.

``ppduck_dbt(task, request)`` takes and returns JSON. A refusal comes back as ``{"error": …}``, for dbt to raise.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import duckdb
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from ppduck.assess import moments_check, release_check
from ppduck.dbt.project import Project, has_rule, rule_of
from ppduck.dbt.rules import Rule, literal
from ppduck.errors import Faults, PpduckError, quoted

FUNCTION = "ppduck_dbt"
TOLERANCE = 1e-9
Request = Mapping[str, Any]
_PLAIN_NAMES = re.compile(r'"[a-z_][a-z0-9_]*"(\."[a-z_][a-z0-9_]*")*')


def register(con: duckdb.DuckDBPyConnection) -> None:
    """Adds the function to a database, once: another connection may have added it."""
    query = "SELECT count(*) FROM duckdb_functions() WHERE function_name = ?"
    if con.execute(query, [FUNCTION]).fetchall() == [(0,)]:
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
    if source["is_cte"]:
        raise Faults(f"ppduck rule of model {quoted(node['name'])}").refuse(
            f"its source {quoted(source['name'])} is ephemeral and cannot be masked; materialize it as a view or table."
        )
    rule = rule_of(node, request["call"])
    if source["columns"]:
        rule.check_columns(source["name"], source["columns"])
    return {"sql": rule.statement(_as_table(source["table"]))}


def _check(request: Request) -> dict[str, Any]:
    """Whether the rules of the selected models can be carried out, before the first model is built."""
    project = Project(request["nodes"])
    faults = project.faults(request["selected"])
    return {"error": "\n".join(faults)} if faults else {"warnings": project.warnings(request["selected"])}


def _release(request: Request) -> dict[str, Any]:
    """The statement whose rows are the rules that a release fails. What is not given is that of the model's rule."""
    node, given = request["node"], request["given"]
    faults = Faults(f"ppduck_release on {quoted(node['name'])}")
    rule = rule_of(node) if has_rule(node) else None
    made_of = Project(request["made_of"])
    sources = made_of.sources(node)
    only = made_of.nodes[sources[0]].get("relation_name") if len(sources) == 1 else None
    original = str(given["original"] or only or "")
    if not original:
        faults.add("parameter 'original' is missing: the table before masking, such as ref('stg_customers').")
    conf = given["conf"] or (rule.conf if rule else None)
    key = given["key"] or (rule.roles.get("key") if rule else None)
    for name, value in (("conf", conf), ("key", key)):
        if not value:
            faults.add(f"parameter {name!r} is missing, and the model's meta.ppduck does not name it either.")
    faults.raise_if_any()
    nonconf = given["nonconf"] if given["nonconf"] is not None else (rule.roles.get("nonconf") if rule else None)
    asked = {"conf": conf, "nonconf": nonconf, "key": key, "limits": given["limits"]}
    told = "".join(f", {name} := {literal(value)}" for name, value in asked.items() if value is not None)
    tables = f"{literal(_as_table(original))}, {literal(_as_table(request['masked']))}"
    statement = f'select rule, "limit", "value", meaning\nfrom {release_check.NAME}({tables}{told})\nwhere not passed'
    if _wants_moments(given["moments"], rule):
        tolerance = TOLERANCE if given["tolerance"] is None else given["tolerance"]
        statement += f"\nunion all\n{_lost_moments(tables, conf, nonconf, float(tolerance))}"
    return {"sql": statement}


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


def _lost_moments(tables: str, conf: Any, nonconf: Any, tolerance: float) -> str:
    names = [conf] if isinstance(conf, str) else list(conf)
    named = [*names, *([nonconf] if isinstance(nonconf, str) else nonconf)] if nonconf is not None else None
    columns = f", columns := {literal(named)}" if named is not None else ""
    meaning = literal("moment that the mask promises to keep, as a difference in standard deviations (moments_check)")
    return (
        "select concat_ws(' ', 'moments:', statistic, column_a, column_b), "
        f"{tolerance!r}::double, abs(difference), {meaning}\n"
        f"from {moments_check.NAME}({tables}{columns})\n"
        f"where not coalesce(abs(difference) <= {tolerance!r}, false)"
    )
