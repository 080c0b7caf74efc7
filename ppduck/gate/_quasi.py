"""Groups of rows that share what an intruder may know of a person: rule k.

Which columns those are the call says, by qi. Of a release that nobody says it of no group is judged, as most releases
have people who are alone in all columns together; but how many are alone in its categories is told.
"""

from __future__ import annotations

from collections.abc import Sequence

from ppduck.catalogue.source import Column
from ppduck.errors import listed
from ppduck.gate._parts import Parts
from ppduck.gate.rules import Limits, arm, nobody
from ppduck.pairs.one_to_one import MASKED
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.values import folded

K, DEFAULT_K = "k", 3
NOT_ASKED = "not asked: name in qi what an intruder may know of a person"
_PLACE = -120_000  # behind the rules that look at the whole table


def row(parts: Parts, limits: Limits) -> sql.Expr | None:
    """The smallest group of rows that share all quasi-identifiers, as 1/k."""
    if not limits.asks(K):
        return None
    if not parts.qi:
        return _not_asked(parts)
    k = limits.numbers.get(K, DEFAULT_K)
    names = [column.name for column in parts.qi]
    why = (
        f"1 by the rows of the smallest group that shares the quasi-identifiers {listed(names)}, at most 1/{k:g}; "
        "coarsen them (generalize_mask), or drop one"
    )
    own = arm(
        sql.number(_PLACE),
        sql.text(K),
        column=nobody(),
        value=_risk(),
        at_most=sql.number(1 / k),
        why=sql.text(why),
    )
    return sql.query(own, _sizes([_released(parts, column) for column in parts.qi]))


def _not_asked(parts: Parts) -> sql.Expr:
    """What the release's categories would say, of which the catalogue knows that they have few levels."""
    few = {folded(name) for name in parts.columns.levels}
    open_ = [
        (i, other.name)
        for i, other in enumerate(parts.others)
        if other.column.is_boolean or folded(other.name) in few
    ]
    why, value, rows = sql.text(NOT_ASKED), sql.null(), None
    if open_:
        size = sql.column("_pp_size")
        alone = sql.call("count_if", size.eq(sql.number(1)))
        every = sql.cast(sql.call("sum", size.copy()), "BIGINT")
        said = sql.text(f" rows are the only ones of their {listed(name for _, name in open_)}")
        why = sql.call("concat", sql.text(f"{NOT_ASKED}; "), alone, sql.text(" of "), every, said)
        value, rows = _risk(), _sizes([sql.column(f"_pp_other{i}") for i, _ in open_])
    own = arm(
        sql.number(_PLACE),
        sql.text(K),
        column=nobody(),
        value=value,
        at_most=sql.null(),
        why=why,
        asked=False,
    )
    return sql.query(own, rows)


def _sizes(group: Sequence[sql.Expr]) -> sql.Rows:
    size = sql.named(aggregates.rows(), "_pp_size")
    return sql.derived(sql.query([size], sql.table(MASKED), group=group), "_pp_sizes")


def _risk() -> sql.Expr:
    return sql.double(sql.number(1.0)) / sql.call("min", sql.column("_pp_size"))


def _released(parts: Parts, column: Column) -> sql.Expr:
    """A column of the release, by the name that it has in the pairs."""
    of = parts.columns

    def place(among: Sequence[Column]) -> int | None:
        found = [i for i, each in enumerate(among) if folded(each.name) == folded(column.name)]
        return found[0] if found else None

    for kind, among in (
        ("other", [after for _, after in of.others]),
        ("y", of.numbers),
        ("b", of.categories),
        ("k", of.key),
    ):
        found = place(among)
        if found is not None:
            return sql.column(f"_pp_{kind}{found}")
    return sql.column(f"_pp_carried{parts.hidden.generalised[column.name]}_masked")
