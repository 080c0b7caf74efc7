"""What mask_explain() says of a mask of numbers: what becomes of each column, what is promised, and its noise's key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from ppduck.call.numeric_mask import NumericMask
from ppduck.call.registry import Function
from ppduck.call.roles import FEW_LEVELS, Roles, assign
from ppduck.catalogue.source import Source
from ppduck.catalogue.tables import ROWS_PER_LEVEL, Catalog
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.query.text_rows import text_rows
from ppduck.stages import keys

ROW = "_pp_row"  # a row of the table as a whole
COLUMNS = ("column_name", "role", "note")
Row = tuple[str | None, str, str]


def explained(mask: NumericMask, catalog: Catalog, call: Any) -> sql.Expr:
    unseen = all(parameter.name != "nonconf" for parameter in mask.parameters)
    roles = assign(mask.name, catalog, call, uses_nonconf=mask.reads_s, may_be_unseen=unseen)
    mask.plan(catalog, call)  # whatever the mask would refuse while planning, refuse here too
    used = [*(column.name for column in roles.conf), *roles.nonconf, *roles.strata]
    shared = "NOT unique; rows that agree in it and in all used columns get the same masked values"
    key = noise_key(
        roles.source, roles.key, "all used columns", [sql.column(name) for name in used], shared
    )
    return sql.union_all([table(columns(mask, roles, call) + _promises(mask, call)), key])


def table(rows: Sequence[Row]) -> sql.Expr:
    return text_rows(COLUMNS, rows)


def promised(mask: Function, call: Any) -> list[Row]:
    """What this call promises and what it does not."""
    kept: list[Row] = [(None, "guaranteed", str(each)) for each in mask.kept(call)]
    return kept + [(None, "not guaranteed", str(each)) for each in mask.lost(call)]


def columns(mask: NumericMask, roles: Roles, call: Any, *, refuses_null: bool = False) -> list[Row]:
    """What becomes of each column; NULL in conf stays NULL, unless the mask ``refuses_null``."""
    conf = {column.name for column in roles.conf}
    used = set(roles.nonconf)
    known = roles.source.columns
    names = (
        [column.name for column in known]
        if known
        else [*(c.name for c in roles.conf), *roles.nonconf]
    )
    rows: list[Row] = []
    for name in names:
        if name in conf:
            kind = "its masked value, " + ("rounded to its type" if call.round else "as DOUBLE")
            if mask.permutes(call):
                kind = "a value of the column, by chance its own, in its own type"
            null = "" if refuses_null else "; NULL stays NULL"
            rows.append((name, "confidential", f"replaced by {kind}{null}"))
        elif name in roles.drop:
            rows.append((name, "dropped", "left out of the output"))
        elif name in roles.strata:
            rows.append(
                (name, "group", "every group is masked by itself and keeps its own moments")
            )
        elif name in used and name in roles.levels:
            levels = roles.levels[name]
            indicators = len(levels) - 1 + (name in roles.null_levels)
            told = ", one of them of NULL" if name in roles.null_levels else ""
            rows.append(
                (
                    name,
                    "nonconfidential",
                    f"used as {indicators} indicators against its level {levels[0]!r}{told}",
                )
            )
        elif name in used:
            beside = (
                "as a number, beside an indicator of NULL"
                if name in roles.null_levels
                else "as a number"
            )
            rows.append((name, "nonconfidential", f"used {beside}; released as it is"))
        elif name in roles.key:
            rows.append(
                (
                    name,
                    "not used",
                    "named as key; released as it is: drop it if it tells who somebody is",
                )
            )
        else:
            rows.append((name, "not used", _why_not_used(mask, name in roles.levels)))
    return rows


def _why_not_used(mask: NumericMask, one_level: bool) -> str:
    released = "released as it is: drop it if it tells who somebody is"
    if not mask.reads_s:
        return f"{mask.name} looks at conf only; {released}"
    if one_level:
        return f"has a single level; {released}"
    return (
        f"not in nonconf, or neither a number nor a text of at most {FEW_LEVELS} levels and {ROWS_PER_LEVEL} rows or "
        f"more a level; {released}"
    )


def _promises(mask: NumericMask, call: Any) -> list[Row]:
    rows = promised(mask, call)
    if call.round and not mask.permutes(call):
        rows.append((None, "not guaranteed", "exact moments: rounding moves them a little"))
        rows.append(
            (
                None,
                "not guaranteed",
                "protection where the noise is small beside the rounding unit: it vanishes",
            )
        )
    if call.on_null == "mean":
        rows.append(
            (None, "not guaranteed", "exact covariances with nonconf columns that have NULLs")
        )
    if call.seed is not None:
        rows.append(
            (
                None,
                "not guaranteed",
                "protection: seeded noise can be generated again by anybody; for tests only",
            )
        )
    return rows


def noise_key(
    source: Source, named: Sequence[str], content: str, of: Sequence[sql.Expr], shared: str
) -> sql.Expr:
    """The row about the noise key; whether it is unique is counted when the explanation is read."""
    if named:
        label, what = ", ".join(named), "named as key"
        key = [sql.column(name) for name in named]
    elif source.has_rowid:
        label, what, key = (
            "rowid",
            "the table's row number, as no key is named",
            [sql.column("rowid")],
        )
    else:
        label, what = (
            content,
            "the content of the row, as there is no row number and no key is named",
        )
        key = list(of)
    distinct = aggregates.count_distinct(keys.told_apart(key))
    verdict = sql.call(
        "if",
        exp.EQ(this=distinct.copy(), expression=aggregates.rows()),
        sql.text("unique"),
        sql.text(shared),
    )
    note = sql.call(
        "concat", sql.text(f"noise key: {what}; "), distinct, sql.text(" values in "), aggregates.rows(),
        sql.text(" rows: "), verdict,
    )  # fmt: skip
    return sql.query([sql.text(label), sql.text("key"), note], sql.source(source.sql, ROW))
