"""mask_explain(): what a masking call would do with each column, before it is run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from sqlglot import exp

from ppduck.call import arguments
from ppduck.call.numeric_mask import NumericCall, NumericMask
from ppduck.call.parameters import MisreadError, Parameter
from ppduck.call.registry import Function, PlainMacro, functions, register
from ppduck.call.roles import FEW_LEVELS, Roles, assign
from ppduck.catalogue.tables import Catalog, Source
from ppduck.designs.mechanism import RandomizingCall, RandomizingMask, resolve
from ppduck.errors import Faults, listed, near_miss
from ppduck.guide import explain_groups, explain_relation, explain_response
from ppduck.masks import egadp, egadp_plain, nm_egadp
from ppduck.masks._quasi import GroupingMask
from ppduck.measures.relation_plan import LookCall
from ppduck.query import aggregates
from ppduck.query import tree as sql

NAME = "mask_explain"
COLUMNS = ("column_name", "role", "note")
UNTOLD = ("secret",)  # an explanation needs none, and it would stand in the query's text
Row = tuple[str | None, str, str]


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    mask = _mask(given["mask"])
    own = _own_parameters(mask, {name: value for name, value in given.items() if name != "mask"})
    if isinstance(mask, RandomizingMask):
        assert isinstance(mask.takes, type)
        call = resolve(mask.name, catalog, cast(RandomizingCall, mask.takes(**own)))
        shared = "NOT unique; " + ("rr_mask and pram_mask refuse it" if call.key else "equal rows are numbered")
        named = [column.name for column in call.key]
        key = _key(call.source, named, "the whole row, and which of equal rows it is", [sql.column("_pp_row")], shared)
        return f"{sql.table_of(COLUMNS, explain_response.rows(call))} UNION ALL {key}"
    if isinstance(mask, GroupingMask):
        grouped: Any = mask.takes(**own)  # type: ignore[operator]
        mask.plan(catalog, grouped)  # whatever the mask would refuse while planning, refuse here too
        return sql.table_of(COLUMNS, explain_groups.rows(mask, catalog, grouped))
    if isinstance(mask, PlainMacro):
        return _plain(mask, catalog, own)
    assert isinstance(mask, NumericMask)
    unseen = all(parameter.name != "nonconf" for parameter in mask.parameters)
    asked: Any = mask.takes(**own)  # type: ignore[operator]
    roles = assign(mask.name, catalog, asked, uses_nonconf=mask.reads_s, may_be_unseen=unseen)
    mask.plan(catalog, asked)  # whatever the mask would refuse while planning, refuse here too
    rows = [*_columns(mask, roles, asked), *_promises(mask, asked)]
    used = [*(column.name for column in roles.conf), *roles.nonconf, *roles.strata]
    shared = "NOT unique; rows that agree in it and in all used columns get the same masked values"
    key = _key(roles.source, roles.key, "all used columns", [sql.column(name) for name in used], shared)
    explained = f"{sql.table_of(COLUMNS, rows)} UNION ALL {key}"
    if mask.name == nm_egadp.MASK.name:
        told = LookCall(
            tbl=asked.tbl,
            conf=asked.conf,
            nonconf=asked.nonconf,
            strata=asked.strata,
            key=asked.key,
            on_null=asked.on_null,
        )
        explained += f" UNION ALL {sql.render(explain_relation.explained(mask.name, catalog, told))}"
    return explained


def _plain(mask: PlainMacro, catalog: Catalog, own: dict[str, Any]) -> str:
    """egadp_plain does what egadp_mask does, but with no nonconf that is not named, and with a key that is unique."""
    key = () if own["key"] == ["rowid"] else own["key"]
    told = NumericCall(tbl=own["tbl"], conf=own["conf"], key=key, nonconf=own.get("nonconf", []))
    roles = assign(mask.name, catalog, told, uses_nonconf=True)
    nulls = "; NULL stays NULL"  # which the plain macro refuses
    rows = [(column, role, note.removesuffix(nulls)) for column, role, note in _columns(egadp.MASK, roles, told)]
    rows += [(None, "guaranteed", str(text)) for text in mask.keeps]
    rows += [(None, "not guaranteed", str(text)) for text in mask.loses]
    noted = _key(roles.source, roles.key, "", [], f"NOT unique; {mask.name} refuses it")
    return f"{sql.table_of(COLUMNS, rows)} UNION ALL {noted}"


def _masks() -> dict[str, Function]:
    kinds = (NumericMask, RandomizingMask, GroupingMask)
    masks = {function.name: function for function in functions() if isinstance(function, kinds)}
    return masks | {egadp_plain.MACRO.name: egadp_plain.MACRO}


def _mask(name: str) -> Function:
    masks = _masks()
    if name not in masks:
        raise Faults(NAME).refuse(f"there is no mask {name!r}.{near_miss(name, masks)} Masks: {listed(masks)}.")
    return masks[name]


def _own_parameters(mask: Function, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments as the mask itself reads them: the explanation takes what any mask takes."""
    faults = Faults(NAME)
    known = {parameter.name: parameter for parameter in mask.parameters}
    own = {}
    for name, value in given.items():
        if name not in known:
            faults.add(f"{mask.name} has no parameter {name!r}.")
            continue
        try:
            own[name] = known[name].read(value)
        except MisreadError as misread:
            faults.add(f"{name} of {mask.name} {misread}, got {value!r}.")
    for parameter in mask.parameters:
        if parameter.default is None and parameter.name not in (*given, *UNTOLD):
            faults.add(f"parameter {parameter.name!r} of {mask.name} is missing: {parameter.doc}.")
    faults.raise_if_any()
    return own


def _columns(mask: NumericMask, roles: Roles, call: Any) -> list[Row]:
    conf = {column.name for column in roles.conf}
    used = set(roles.nonconf)
    known = roles.source.columns
    names = [column.name for column in known] if known else [*(c.name for c in roles.conf), *roles.nonconf]
    rows: list[Row] = []
    for name in names:
        if name in conf:
            kind = "its masked value, " + ("rounded to its type" if call.round else "as DOUBLE")
            if mask.permutes(call):
                kind = "a value of the column, by chance its own, in its own type"
            rows.append((name, "confidential", f"replaced by {kind}; NULL stays NULL"))
        elif name in roles.drop:
            rows.append((name, "dropped", "left out of the output"))
        elif name in roles.strata:
            rows.append((name, "group", "every group is masked by itself and keeps its own moments"))
        elif name in used and name in roles.levels:
            levels = roles.levels[name]
            indicators = len(levels) - 1 + (name in roles.null_levels)
            told = ", one of them of NULL" if name in roles.null_levels else ""
            rows.append(
                (name, "nonconfidential", f"used as {indicators} indicators against its level {levels[0]!r}{told}")
            )
        elif name in used:
            beside = "as a number, beside an indicator of NULL" if name in roles.null_levels else "as a number"
            rows.append((name, "nonconfidential", f"used {beside}; released as it is"))
        elif name in roles.key:
            rows.append((name, "not used", "named as key; released as it is: drop it if it tells who somebody is"))
        else:
            rows.append((name, "not used", _why_not_used(mask, name in roles.levels)))
    return rows


def _why_not_used(mask: NumericMask, one_level: bool) -> str:
    released = "released as it is: drop it if it tells who somebody is"
    if not mask.reads_s:
        return f"{mask.name} looks at conf only; {released}"
    if one_level:
        return f"has a single level; {released}"
    return f"not in nonconf, or neither a number nor a text of at most {FEW_LEVELS} levels; {released}"


def _promises(mask: NumericMask, call: Any) -> list[Row]:
    rows: list[Row] = [(None, "guaranteed", str(text)) for text in mask.keeps]
    rows += [(None, "not guaranteed", str(text)) for text in mask.loses]
    if call.round and not mask.permutes(call):
        rows.append((None, "not guaranteed", "exact moments: rounding moves them a little"))
        rows.append(
            (None, "not guaranteed", "protection where the noise is small beside the rounding unit: it vanishes")
        )
    if call.on_null == "mean":
        rows.append((None, "not guaranteed", "exact covariances with nonconf columns that have NULLs"))
    if call.seed is not None:
        rows.append(
            (None, "not guaranteed", "protection: seeded noise can be generated again by anybody; for tests only")
        )
    return rows


def _key(source: Source, named: Sequence[str], content: str, of: Sequence[sql.Expr], shared: str) -> str:
    """The row about the noise key; whether it is unique is counted when the explanation is read."""
    if named:
        label, what = ", ".join(named), "named as key"
        key = [sql.column(name) for name in named]
    elif source.has_rowid:
        label, what, key = "rowid", "the table's row number, as no key is named", [sql.column("rowid")]
    else:
        label, what = content, "the content of the row, as there is no row number and no key is named"
        key = list(of)
    distinct = sql.call("count", exp.Distinct(expressions=[sql.call("hash", *key)]))
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
    columns = [sql.text(label), sql.text("key"), note]
    return sql.select(columns, f'{source.sql} AS "_pp_row"')


@arguments.reader("what the mask takes")
def _as_it_is(value: Any) -> Any:
    return value


def _parameters() -> tuple[Parameter, ...]:
    """tbl and conf first, then whatever any mask takes, to be read by the mask itself."""
    docs: dict[str, dict[str, None]] = {"conf": {"the columns to mask": None}}
    for function in _masks().values():
        for parameter in function.parameters[1:]:
            if parameter.name not in ("conf", *UNTOLD):
                docs.setdefault(parameter.name, {})[parameter.doc] = None
    mask = Parameter("mask", arguments.words, "the name of a mask, such as 'egadp_mask'")
    return (mask, arguments.TBL, *(Parameter(name, _as_it_is, _either(own), "NULL") for name, own in docs.items()))


def _either(docs: Iterable[str]) -> str:
    """What a parameter means, all of it: p is a probability for one mask, and a share of the ranks for another."""
    every = list(docs)
    return "; or ".join(doc for doc in every if not any(other != doc and other.startswith(doc) for other in every))


FUNCTION = register(
    Function(
        NAME,
        _parameters,
        plan,
        "What a masking call does with each column, which key its noise has, what is guaranteed and what is not.",
        "",
        udfs=(explain_relation.UDF,),
    )
)
