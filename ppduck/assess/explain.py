"""mask_explain(): what a masking call would do with each column, before it is run."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from ppduck import masks
from ppduck.errors import Faults, listed, near_miss
from ppduck.plan import arguments, statistics
from ppduck.plan import sqlbuild as sql
from ppduck.plan.arguments import Parameter
from ppduck.plan.catalog import Catalog
from ppduck.plan.linear import COMMON, COMMON_NAMES, LinearMask
from ppduck.plan.registry import Function, functions, register
from ppduck.plan.roles import FEW_LEVELS, Roles, assign

NAME = "mask_explain"
COLUMNS = ("column", "role", "note")
Row = tuple[str | None, str, str]


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    mask = _mask(given["mask"])
    own = {name: value for name, value in given.items() if name != "mask"}
    _refuse_other_parameters(mask, own)
    roles = assign(mask.name, catalog, own, uses_nonconf=mask.reads_s)
    mask.plan(catalog, own)  # whatever the mask would refuse while planning, refuse here too
    rows = [*_columns(mask, roles, own), *_promises(mask, own)]
    return f"{sql.table_of(COLUMNS, rows)} UNION ALL {_key(roles)}"


def _mask(name: str) -> LinearMask:
    masks = {function.name: function for function in functions() if isinstance(function, LinearMask)}
    if name not in masks:
        raise Faults(NAME).refuse(f"there is no mask {name!r}.{near_miss(name, masks)} Masks: {listed(masks)}.")
    return masks[name]


def _refuse_other_parameters(mask: LinearMask, given: dict[str, Any]) -> None:
    """The explanation takes what any mask takes; a mask takes only its own."""
    faults = Faults(NAME)
    for name in given:
        if name not in {parameter.name for parameter in mask.parameters}:
            faults.add(f"{mask.name} has no parameter {name!r}.")
    for parameter in mask.parameters:
        if parameter.default is None and parameter.name not in given:
            faults.add(f"parameter {parameter.name!r} of {mask.name} is missing: {parameter.doc}.")
    faults.raise_if_any()


def _columns(mask: LinearMask, roles: Roles, given: dict[str, Any]) -> list[Row]:
    conf = {column.name for column in roles.conf}
    used = set(roles.nonconf)
    known = roles.source.columns
    names = [column.name for column in known] if known else [*(c.name for c in roles.conf), *roles.nonconf]
    rows: list[Row] = []
    for name in names:
        if name in conf:
            kind = "rounded to its type" if given.get("round") else "as DOUBLE"
            rows.append((name, "confidential", f"replaced by its masked value, {kind}; NULL stays NULL"))
        elif name in roles.drop:
            rows.append((name, "dropped", "left out of the output"))
        elif name in roles.by:
            rows.append((name, "group", "every group is masked by itself and keeps its own moments"))
        elif name in used and name in roles.levels:
            levels = roles.levels[name]
            rows.append(
                (name, "nonconfidential", f"used as {len(levels) - 1} indicators against its level {levels[0]!r}")
            )
        elif name in used:
            rows.append((name, "nonconfidential", "used as a number; released as it is"))
        else:
            rows.append((name, "not used", _why_not_used(mask, name in roles.levels)))
    return rows


def _why_not_used(mask: LinearMask, one_level: bool) -> str:
    released = "released as it is: drop it if it tells who somebody is"
    if not mask.reads_s:
        return f"{mask.name} looks at conf only; {released}"
    if one_level:
        return f"has a single level; {released}"
    return f"not in nonconf, or neither a number nor a text of at most {FEW_LEVELS} levels; {released}"


def _promises(mask: LinearMask, given: dict[str, Any]) -> list[Row]:
    rows: list[Row] = [(None, "guaranteed", text) for text in mask.keeps]
    rows += [(None, "not guaranteed", text) for text in mask.loses]
    if given.get("round"):
        rows.append((None, "not guaranteed", "exact moments: rounding moves them a little"))
        rows.append(
            (None, "not guaranteed", "protection where the noise is small beside the rounding unit: it vanishes")
        )
    if given.get("on_null") == "mean":
        rows.append((None, "not guaranteed", "exact covariances with nonconf columns that have NULLs"))
    if "seed" in given:
        rows.append(
            (None, "not guaranteed", "protection: seeded noise can be generated again by anybody; for tests only")
        )
    return rows


def _key(roles: Roles) -> str:
    """The row about the noise key; whether it is unique is counted when the explanation is read."""
    if roles.key:
        label, what = ", ".join(roles.key), "named as key"
        key = [sql.column(name) for name in roles.key]
    elif roles.source.has_rowid:
        label, what, key = "rowid", "the table's row number, as no key is named", [sql.column("rowid")]
    else:
        label, what = "all used columns", "the content of the row, as there is no row number and no key is named"
        key = [sql.column(name) for name in [*(column.name for column in roles.conf), *roles.nonconf, *roles.by]]
    distinct = sql.call("count", exp.Distinct(expressions=[sql.call("hash", *key)]))
    verdict = sql.call(
        "if",
        exp.EQ(this=distinct.copy(), expression=statistics.rows()),
        sql.text("unique"),
        sql.text("NOT unique; rows that agree in it and in all used columns get the same masked values"),
    )
    note = sql.call(
        "concat", sql.text(f"noise key: {what}; "), distinct, sql.text(" values in "), statistics.rows(),
        sql.text(" rows: "), verdict,
    )  # fmt: skip
    columns = [sql.text(label), sql.text("key"), note]
    return sql.select(columns, f'{roles.source.sql} AS "_pp_row"')


def _parameters() -> tuple[Parameter, ...]:
    """tbl and conf as everywhere, then whatever any mask takes."""
    seen: dict[str, Parameter] = {}
    for function in functions():
        if isinstance(function, LinearMask):
            for parameter in function.parameters:
                if parameter.name not in COMMON_NAMES:
                    seen[parameter.name] = Parameter(parameter.name, parameter.read, parameter.doc, "NULL")
    mask = Parameter("mask", arguments.words, "the name of a mask, such as 'egadp_mask'")
    return (mask, *COMMON[:2], *seen.values(), *COMMON[2:])


assert masks.__all__, "the masks must be registered before their parameters can be gathered"
FUNCTION = register(
    Function(
        NAME,
        _parameters(),
        plan,
        "What a masking call does with each column, which key its noise has, what is guaranteed and what is not.",
        "",
    )
)
