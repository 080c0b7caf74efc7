"""The plan of masks that see all values of a group at once: lists go into Python, and come back row by row.

What such a mask does with one row depends on all others, so that neither SQL nor batches can do it. Values go in as
doubles, eight bytes each on either side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from ppduck.call.numeric_mask import NumericCall, NumericMask
from ppduck.call.parameters import fixed, parameters
from ppduck.call.registry import Kind
from ppduck.call.roles import assign
from ppduck.call.udf import Udf
from ppduck.catalogue.hash_function import refuse_another_hash
from ppduck.catalogue.tables import Catalog
from ppduck.query import normals
from ppduck.query import tree as sql
from ppduck.runtime.check import CHECK
from ppduck.runtime.nearness import LIMITS
from ppduck.runtime.noise import WORDS
from ppduck.stages.explain import explained
from ppduck.stages.look import look, specification
from ppduck.stages.masking import KEY, LOOK, QUERY_NUMBER, ROW, SOURCE, TWEAK, Masking
from ppduck.stages.plan import Plan, Sorted, Stage
from ppduck.stages.projection import joined_back
from ppduck.stages.source import source
from ppduck.stages.terms import own_terms
from ppduck.values import folded

LISTS, MASKED = "_pp_lists", "_pp_masked"
ROWS, VALUES = "_pp_rows", "_pp_values"


@parameters
class ConfCall(NumericCall):
    """A call of a mask that looks at conf only."""

    nonconf: None = fixed(None)
    on_null: str = fixed("error")


def group_mask(
    name: str,
    call: type[ConfCall],
    *,
    stages: Callable[[Masking], Plan],
    udfs: tuple[Udf, ...],
    **registered: Any,
) -> NumericMask:
    """A mask ready to be registered, which looks at conf only."""

    def plan(catalog: Catalog, call: ConfCall) -> Plan:
        refuse_another_hash(name, catalog)
        roles = assign(name, catalog, call, uses_nonconf=False, may_be_unseen=True)
        return stages(Masking(mask, roles, call))

    registered["loses"] = (*registered["loses"], LIMITS)
    registered.setdefault("explain", explained)
    mask = NumericMask(
        name,
        call,
        plan,
        kind=Kind.MASK,
        reads_s=False,
        stays_near=lambda call: True,
        udfs=(CHECK, *WORDS, *udfs),
        **registered,
    )
    return mask


def list_plan(masking: Masking, udf: Udf, *, shared_keys: bool = False) -> Plan:
    """Values in an order that tells nothing, masked by a function, back by row."""
    stages = [
        *looking(masking, shared_keys=shared_keys),
        Sorted(LISTS, True, _lists(masking, udf)),
        Sorted(MASKED, True, _unlisted(masking)),
    ]
    results = [(MASKED, f"_pp_y{j}") for j in range(masking.q)]
    return Plan(tuple(stages), joined_back(masking, results))


def looking(masking: Masking, *, shared_keys: bool = False) -> list[Stage]:
    """Source and first look."""
    return [
        source(masking, numbered=True),
        *look(masking, own_terms(masking), shared_keys=shared_keys),
    ]


def in_order_of_names(masking: Masking) -> list[int]:
    """Conf in the order of names: in which order a call names columns must not show."""
    return sorted(range(masking.q), key=lambda j: folded(masking.roles.conf[j].name))


def secret(masking: Masking) -> sql.Expr:
    """128 bits that only the owner's secret gives, others for every release."""
    words = normals.word_function(1, seeded=masking.seeded)
    return sql.cast(
        sql.call(words, sql.cast(sql.number(0), "UBIGINT"), sql.column(TWEAK, LOOK)), "VARCHAR"
    )


def group_told(masking: Masking) -> dict[str, sql.Expr]:
    """What Python is told of a group, whatever the mask."""
    return {
        "group": masking.label(LOOK),
        "secret": secret(masking),
        "query": sql.call(QUERY_NUMBER),
    }


def _lists(masking: Masking, udf: Udf) -> sql.Expr:
    """For each group the numbers of its rows, and their masked values column by column."""
    order = [sql.column(KEY), sql.column(ROW)]
    terms, columns = own_terms(masking), in_order_of_names(masking)
    lists = [sql.named(sql.in_order("list", sql.column(ROW), order), ROWS)]
    for j in columns:
        value = sql.double(terms.values[j].copy())
        lists.append(sql.named(sql.in_order("list", value, order), f"_pp_list{j}"))
    groups = [sql.named(value.copy(), alias) for alias, value in masking.groups]
    listed = sql.query(
        [*groups, *lists], sql.table(SOURCE), group=[value.copy() for _, value in masking.groups]
    )
    flat = sql.call(
        "flatten", sql.call("list_value", *(sql.column(f"_pp_list{j}") for j in columns))
    )
    asked = udf.in_sql(specification(masking, terms), {**group_told(masking), "flat": flat})
    tables = sql.derived(listed, VALUES).matched(sql.table(LOOK), masking.same_group(VALUES, LOOK))
    return sql.query([sql.column(ROWS), sql.named(asked, "_pp_masked_values")], tables)


def _unlisted(masking: Masking) -> sql.Expr:
    """Masked values by row."""
    size = sql.call("len", sql.column(ROWS))
    columns = [sql.named(sql.call("unnest", sql.column(ROWS)), ROW)]
    for place, j in enumerate(in_order_of_names(masking)):
        first = exp.Add(this=sql.number(1), expression=sql.product(sql.number(place), size))
        part = sql.call(
            "list_slice",
            sql.column("_pp_masked_values"),
            first,
            sql.product(sql.number(place + 1), size),
        )
        columns.append(sql.named(sql.call("unnest", part), f"_pp_y{j}"))
    rows = sql.query(columns, sql.table(LISTS))
    # What comes from Python has NaN for NULL; NaN of the user's was refused.
    shown = []
    for j in range(masking.q):
        value = sql.column(f"_pp_y{j}")
        there = exp.Not(this=sql.call("isnan", value.copy()))
        shown.append(sql.named(sql.cases((there, value)), f"_pp_y{j}"))
    return sql.query([sql.column(ROW), *shown], sql.derived(rows, "_pp_unlisted"))
