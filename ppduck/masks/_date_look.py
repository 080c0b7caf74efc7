"""The first look of date_mask: dates that no shift fits, people without a key, and days that would tell a shift.

A day that many share is known to others: a campaign, an opening, what a program writes where there is no date. If it is
shifted, all who know it read each person's shift off it, and with that all dates of theirs. So a column is refused in
which at least 3 persons, and more than 5 % of them, have the same day; or at least 10 have one that hides them among
fewer than as many others within the range of the shift, as in a clinic that opens on Mondays with a shift of 3 days.
"""

from __future__ import annotations

from sqlglot import exp

from ppduck.call.ranges import shown
from ppduck.call.spec import Spec
from ppduck.call.udf import told_udf
from ppduck.errors import Faults, quoted
from ppduck.frozen import frozen
from ppduck.query import aggregates as plain
from ppduck.query import tree as sql
from ppduck.stages.masking import KEY

FEW, SHARE = 3, 0.05  # so many persons, and such a share of them, make a day known
MANY = 10  # and so many where they are more than all others around
MOST, ALONE = "_pp_most", "_pp_alone"
NAMED = "_pp_named"  # whether a row says whose it is
_DAY, _PERSONS, _NEAR = "_pp_day", "_pp_persons", "_pp_near"


@frozen
class Shifted:
    """A column that is shifted, by name and type."""

    name: str
    type: str


@frozen
class DateSpec(Spec):
    per: list[str]
    within: int
    shifted: list[Shifted]
    periods: list[str]  # columns of which a period is published
    ages: list[Shifted]  # columns that become ages, with their day


@frozen
class Look:
    """What the first look counts: of all rows, then column by column in the order of the specification."""

    rows: int
    keyless: int
    beyond: list[int]  # values that a shift might take out of what their type holds
    persons: list[int]  # who have a date that is shifted
    most: list[int]  # who share a day, at most
    alone: list[int]  # the same of days that have fewer others around
    unfit: list[int]  # values without a period, of columns that become periods
    ageless: list[int]  # values that tell no age, of columns that become ages


def dated(day: str) -> sql.Expr:
    """Whether a row has such a day, and a person whose it is."""
    return exp.and_(sql.column(day).is_(exp.null()).not_(), sql.column(NAMED))


def days_of(day: str, people: str) -> sql.Expr:
    """How many persons have each day."""
    there = dated(day)
    own = [sql.named(sql.column(day), _DAY), sql.column(KEY)]
    each = sql.derived(sql.query(own, sql.table(people), where=there, distinct=True), "_pp_each")
    counted = sql.named(plain.rows(), _PERSONS)
    return sql.query([sql.column(_DAY), counted], each, group=[sql.column(_DAY)])


def crowds(days: str, within: int) -> sql.Expr:
    """One row: how many persons share a day at most, and at most where there are fewer others around."""
    persons = sql.column(_PERSONS)
    window = sql.over(sql.call("sum", persons.copy()), (), [sql.column(_DAY)])
    reach = exp.WindowSpec(
        kind="RANGE",
        start=sql.number(within),
        start_side="PRECEDING",
        end=sql.number(within),
        end_side="FOLLOWING",
    )
    window.set("spec", reach)
    around = sql.query([persons.copy(), sql.named(window, _NEAR)], sql.table(days))
    many = exp.GTE(this=persons.copy(), expression=sql.number(MANY))
    more = exp.GT(this=sql.product(persons, sql.number(2)), expression=sql.column(_NEAR))
    most = sql.call("max", persons.copy())
    figures = {MOST: most, ALONE: sql.only(most.copy(), exp.and_(many, more))}
    none = {name: sql.call("coalesce", each, sql.number(0)) for name, each in figures.items()}
    return sql.query(sql.columns(none), sql.derived(around, "_pp_around"))


def check(spec: DateSpec, look: Look) -> int:
    """0 where all dates can be published as was asked; raises otherwise."""
    faults = spec.faults()
    if look.keyless:
        faults.add(
            f"per {quoted(', '.join(spec.per))} is NULL in {look.keyless} of {look.rows} rows; every row needs its "
            "person. Leave such rows out with a SELECT in tbl, or give each a number of its own."
        )
    for column, beyond in zip(spec.shifted, look.beyond, strict=True):
        if beyond:
            faults.add(
                f"column {quoted(column.name)} has {_values(beyond)} within {shown(spec.within)} days of the end of "
                f"what its type {column.type} can hold; a shift might leave it. Make them NULL in tbl."
            )
    _refuse_known_days(faults, spec, look)
    for name, unfit in zip(spec.periods, look.unfit, strict=True):
        if unfit:
            faults.add(
                f"column {quoted(name)} has {_values(unfit)} in the first year that its type can hold, which has no "
                "first day. Make them NULL in tbl."
            )
    for column, ageless in zip(spec.ages, look.ageless, strict=True):
        if ageless:
            faults.add(
                f"column {quoted(column.name)} has {_values(ageless)} after {column.type} or infinite, and nobody is "
                "younger than 0; take a later day for 'at', or make them NULL in tbl."
            )
    faults.raise_if_any()
    return 0


def _refuse_known_days(faults: Faults, spec: DateSpec, look: Look) -> None:
    figures = zip(spec.shifted, look.persons, look.most, look.alone, strict=True)
    for column, persons, most, alone in figures:
        known = most if most >= FEW and most > SHARE * persons else 0
        if known:
            of = f"{known:,} of its {persons:,} persons ({known / persons:.0%}) have the same day"
        elif alone:
            of = (
                f"up to {alone:,} of its {persons:,} persons have the same day, more than all others within "
                f"{shown(spec.within)} days of it"
            )
        else:
            continue
        faults.add(
            f"column {quoted(column.name)} is not shifted, because {of}: who knows the day would read their shift off "
            f"it, and all their dates. Name the day in stay if it may be published as it is, publish the column by "
            f"'month'{'' if known else ', take a longer within'}, or make such values NULL in tbl."
        )


def _values(count: int) -> str:
    return f"{count:,} value{'' if count == 1 else 's'}"


CHECK = told_udf("ppduck_date_check", check, DateSpec, Look, "BIGINT")
