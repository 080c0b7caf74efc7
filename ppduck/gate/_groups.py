"""What the gate asks of conf columns that a release hides in groups: ranges in their place, or group numbers.

A column that the release has as text and the original as a number, a date or a truth value was generalised: whoever
knows the original looks for the rows whose ranges fit, and finds one of the n that share them with 1/n. A column that
the release does not have, where it has ``group_id``, was anatomized: what a group's rows have in common is known of
each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from ppduck.frozen import frozen
from ppduck.gate.rules import COPIED, COPY, Limits, arm, nobody
from ppduck.masks.groups import GROUP_ID
from ppduck.pairs.columns import Compared
from ppduck.pairs.one_to_one import CHECK
from ppduck.pairs.rows import SHARED
from ppduck.query import aggregates
from ppduck.query import tree as sql


@frozen
class Hidden:
    """The conf columns of a call that are hidden in groups: their places among what the pairs carry along."""

    columns: Compared
    generalised: dict[str, int]
    anatomized: dict[str, int]

    @property
    def names(self) -> list[str]:
        return [*self.generalised, *self.anatomized]

    @property
    def rules(self) -> list[str]:
        return [name for name, rule in RULES.items() if rule.of(self)]

    def group_risk(self) -> sql.Expr:
        """Categories of conf, too, make a group smaller."""
        group = [_after(place) for place in self.generalised.values()]
        group += [sql.column(f"_pp_b{j}") for j in range(len(self.columns.categories))]
        sizes = sql.query(
            [sql.named(aggregates.rows(), "_pp_size")], sql.table(SHARED), group=group
        )
        risk = sql.double(sql.number(1.0)) / sql.call("min", sql.column("_pp_size"))
        return sql.query([sql.named(risk, "value")], sql.derived(sizes, "_pp_sizes"))

    def ungeneralised(self) -> sql.Expr:
        shares = []
        for place in self.generalised.values():
            before, after = _before(place), _after(place)
            both = sql.call("count", before).eq(sql.call("count", after))
            shares.append(
                sql.cases((both, sql.call("avg", sql.cast(sql.equal(after, before), "INTEGER"))))
            )
        known = sql.present(shares)
        assert known is not None
        largest = sql.call("greatest", *(share.copy() for share in shares))
        return sql.query([sql.named(sql.cases((known, largest)), "value")], sql.table(SHARED))

    def attribute_risk(self) -> sql.Expr:
        largest = []
        for place in self.anatomized.values():
            value, group, size = _before(place), _after(place), sql.column("_pp_size")
            counted = {"_pp_group": group, "_pp_value": value, "_pp_size": aggregates.rows()}
            sizes = sql.derived(
                sql.query(sql.columns(counted), sql.table(SHARED), group=[group, value]),
                "_pp_sizes",
            )
            shares = {
                "_pp_share": sql.call("max", size) / sql.call("sum", size.copy()),
                "_pp_known": sql.call("count", sql.column("_pp_value")).eq(aggregates.rows()),
            }
            largest.append(sql.query(sql.columns(shares), sizes, group=[sql.column("_pp_group")]))
        known, share = (
            sql.call("bool_and", sql.column("_pp_known")),
            sql.call("max", sql.column("_pp_share")),
        )
        every = sql.derived(sql.union_all(largest), "_pp_shares")
        return sql.query([sql.named(sql.cases((known, share)), "value")], every)


@frozen
class GroupRule:
    """A figure of the columns that are hidden in one way."""

    of: Callable[[Hidden], Mapping[str, int]]
    value: Callable[[Hidden], sql.Expr]
    """A SELECT of one number as ``value``; NULL where there are no rows, or where one of a pair is NULL."""
    limit: float
    meaning: str


RULES = {
    "group_risk": GroupRule(
        lambda hidden: hidden.generalised,
        Hidden.group_risk,
        1 / 3,
        "1 by the rows of the smallest group that shares all generalised values and categories of conf; lower is safer",
    ),
    # Mondrian leaves a value as it is that enough rows share; where most are left so, nothing was generalised.
    "ungeneralised": GroupRule(
        lambda hidden: hidden.generalised,
        Hidden.ungeneralised,
        0.5,
        "share of a generalised column's values that are the originals, as text; lower is safer",
    ),
    "attribute_risk": GroupRule(
        lambda hidden: hidden.anatomized,
        Hidden.attribute_risk,
        0.5,
        "largest share of a group's rows that have the same value of a conf column; lower is safer",
    ),
}


_PLACE = 100_000  # behind the rules that are figures of functions


def rows(hidden: Hidden, limits: Limits) -> Iterator[sql.Expr]:
    """The rules of columns that are hidden in groups."""
    for place, rule in enumerate(hidden.rules, start=_PLACE):
        if limits.asks(rule):
            how = RULES[rule]
            yield _row(
                place, rule, limits.numbers.get(rule, how.limit), how.value(hidden), how.meaning
            )
    if hidden.generalised:
        # Whatever a call allows: a number as text is no range.
        copied = COPIED["categories"]
        assert copied.default is not None
        assert copied.default.number is not None
        yield _row(
            _PLACE + len(RULES), COPY, copied.default.number, hidden.ungeneralised(), copied.meaning
        )


def _row(place: int, rule: str, most: float, value: sql.Expr, why: str) -> sql.Expr:
    own = arm(
        sql.number(place),
        sql.text(rule),
        column=nobody(),
        value=sql.column("value"),
        at_most=sql.number(most),
        why=sql.text(why),
    )
    # "value" is also what the column of the figure is called.
    return sql.query(own, sql.derived(value, "_pp_hidden").cross(sql.table(CHECK)))


def hidden_in(columns: Compared, conf: Sequence[str]) -> Hidden:
    """Which conf columns are hidden in groups; the pairs carry them along, and the group in place of a missing one."""
    found = Hidden(columns, {}, {})
    group = columns.masked.find(GROUP_ID)
    for name in conf:
        before, after = columns.original.find(name), columns.masked.find(name)
        if before is not None and after is None and group is not None:
            found.anatomized[before.name] = columns.carry(before, group)
        elif (
            before is not None
            and after is not None
            and after.type == "VARCHAR"
            and not before.is_category
        ):
            found.generalised[after.name] = columns.carry(before, after)
    return found


def _before(place: int) -> sql.Expr:
    return sql.column(f"_pp_carried{place}")


def _after(place: int) -> sql.Expr:
    return sql.column(f"_pp_carried{place}_masked")
