"""Dates: shifted by the same span for all of a person's dates, or published as a period or as a band of ages.

A shift is one of the 2w whole days (seconds, with unit := 'second') from -w to w without 0, w being ``within``. With a
draw D of 64 bits it is r - w + [r >= w], r = D mod 2w, so that the probabilities of two shifts differ by less than
2w / 2**64 of either. D is two draws of 32 bits of AES-128 (``ppduck.designs.mechanism`` says of what), whose tweaks are
t and t + 1, with t of within, unit and seed; its key is the value of ``per`` (``ppduck.stages.keys``). So a person has
one shift in all columns, all tables and every release with the same secret, within and unit, and the intervals between
the person's dates are what they were.

Another within, or unit, has draws of its own. Were they shared, the difference of two releases would be a known part
of the shift. Drawn anew they tell less, and still something: a date is in the ranges of both. (Hripcsak, Mirhaji, Low &
Malin 2016, JAMIA 23, on shifting; 45 CFR 164.514(b)(2)(i)(C), "safe harbor", on years and ages over 89.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

from ppduck.call import arguments
from ppduck.call.arguments import TABLE
from ppduck.call.guarantees import Guarantee, Loss, LossKind, Promise
from ppduck.call.parameters import Call, parameter, parameters
from ppduck.call.registry import Function, Kind, register
from ppduck.call.roles import refuse_overlap, refuse_reserved, resolve_columns
from ppduck.catalogue.source import Column
from ppduck.catalogue.tables import Catalog
from ppduck.errors import Faults, listed, quoted
from ppduck.masks import _date_columns as dates
from ppduck.masks._date_look import CHECK, FEW, MANY, SHARE
from ppduck.masks._date_stages import DateStages, Found
from ppduck.masks._date_words import (
    AGE,
    DAY,
    PERIODS,
    SECOND,
    SHIFT,
    Treatment,
    days,
    days_listed,
    told_range,
    treatments,
)
from ppduck.query import tree as sql
from ppduck.runtime.noise import DRAWS
from ppduck.stages.explain import Row, promised, table
from ppduck.stages.plan import Plan
from ppduck.values import folded

NAME = "date_mask"


@parameters
class DateCall(Call):
    tbl: str = TABLE
    columns: Mapping[str, Treatment] = parameter(
        treatments,
        "what becomes of each column: {'column': 'shift'}, or 'year', 'quarter', 'month', or bands of ages such as "
        "{'born': {'age': 5, 'top': 90, 'at': '2026-01-01'}}",
    )
    per: Sequence[str] = parameter(
        arguments.columns, "the columns that identify the person whose dates share a shift", ()
    )
    within: int | None = parameter(
        days, "how far a date may be shifted, such as within := 30 or '2 weeks'", None
    )
    unit: str | None = parameter(
        arguments.choice(DAY, SECOND), "what a shift is drawn in; 'day' unless said", None
    )
    stay: Sequence[date] = parameter(
        days_listed,
        "further days that no shift moves, such as ['2020-01-01']; 0001-01-01, 1900-01-01, 9999-12-31 and infinity "
        "always stay",
        (),
    )
    seed: int | None = parameter(arguments.integer, "repeatable, unprotected draws for tests", None)
    drop: Sequence[str] = parameter(arguments.columns, "columns to leave out of the output", ())

    def of(self, *kinds: str) -> list[str]:
        """The columns that become this."""
        return [name for name, each in self.columns.items() if each.kind in kinds]


def plan(catalog: Catalog, call: DateCall) -> Plan:
    return DateStages(_found(catalog, call)).plan()


def _found(catalog: Catalog, call: DateCall) -> Found:
    source = catalog.source(NAME, call.tbl)
    faults = Faults(NAME, source.label)
    if source.columns is None:
        raise faults.refuse(
            catalog.unseen(source, "make it a table first: what a date becomes goes by its type.")
        )
    refuse_reserved(faults, source)
    if not call.columns:
        faults.add("columns is empty; say what becomes of a column: columns := {'born': 'year'}.")
    columns = resolve_columns(faults, source, "columns", list(call.columns))
    per = resolve_columns(faults, source, "per", call.per)
    drop = resolve_columns(faults, source, "drop", call.drop)
    refuse_overlap(faults, {"columns": columns, "per": per, "drop": drop}, "columns")
    by_name = {folded(name): how for name, how in call.columns.items()}
    treated = tuple((column, by_name[folded(column.name)]) for column in columns)
    for column, how in treated:
        _refuse_type(faults, column, how, call)
    _refuse_parameters(faults, call)
    faults.raise_if_any()
    dropped = tuple(column.name for column in drop)
    return Found(
        function=NAME,
        source=source,
        columns=treated,
        per=tuple(per),
        within=call.within or 0,
        unit=call.unit or DAY,
        stay=call.stay,
        seed=call.seed,
        drop=dropped,
    )


def _refuse_type(faults: Faults, column: Column, how: Treatment, call: DateCall) -> None:
    name, type_ = quoted(column.name), column.type
    if type_ == dates.DATE and how.kind == SHIFT and call.unit == SECOND:
        faults.add(f"column {name} is a DATE, which unit := 'second' cannot shift; take 'day'.")
    if type_ in dates.TYPES:
        return
    if column.is_category:
        written = f"'(SELECT * REPLACE (CAST({name} AS DATE) AS {name}) FROM …)'"
        why = f"is text; cast it in a view or in tbl, such as {written}."
    elif type_.startswith("TIME") and not type_.startswith("TIMESTAMP"):
        why = f"of type {type_} is a time of day, which belongs to no date; drop it, or join it to its date in a view."
    else:
        why = f"is of type {type_}; dates are DATE or TIMESTAMP, so cast it in a view or in tbl."
    faults.add(f"columns names column {name}, which {why}")


def _refuse_parameters(faults: Faults, call: DateCall) -> None:
    """What a shift needs, and what means nothing without one."""
    shifts = call.of(SHIFT)
    if shifts:
        if not call.per:
            faults.add(
                f"{_named(shifts)} cannot be shifted without per: name what identifies the person, such as "
                "per := 'customer_id'."
            )
        if call.within is None:
            faults.add(
                f"{_named(shifts)} cannot be shifted without within: say how far, such as within := 30, in days."
            )
        return
    given = {
        "per": call.per,
        "within": call.within is not None,
        "unit": call.unit is not None,
        "stay": call.stay,
        "seed": call.seed is not None,
    }
    told = [name for name, is_given in given.items() if is_given]
    if told:
        faults.add(
            f"no column is shifted, so that {', '.join(told)} would mean nothing; leave "
            f"{'it' if len(told) == 1 else 'them'} out, or give a column 'shift'."
        )


def _named(columns: Sequence[str]) -> str:
    return f"column{'' if len(columns) == 1 else 's'} {listed(columns)}"


def _shifts(call: DateCall) -> bool:
    return bool(call.of(SHIFT))


def _publishes_periods(call: DateCall) -> bool:
    return bool(call.of(*PERIODS))


def _publishes_ages(call: DateCall) -> bool:
    return bool(call.of(AGE))


def _publishes_parts(call: DateCall) -> bool:
    return _publishes_periods(call) or _publishes_ages(call)


def _note(call: DateCall, how: Treatment) -> str:
    """What becomes of a column, in the words of mask_explain."""
    if how.kind == SHIFT:
        within, unit = call.within or 0, call.unit or DAY
        drawn = f", in {unit}s" if unit == SECOND else ""
        return (
            f"shifted by {told_range(within)} days{drawn}, and never by 0: all dates of one {', '.join(call.per)} by "
            "the same; NULL, infinity and days that stay are as they were"
        )
    if how.kind == AGE:
        labels = how.labels
        return f"replaced by the age at {how.at}, as an ENUM of bands from {labels[0]} to {labels[-1]}; NULL stays NULL"
    return f"replaced by the first day of its {how.kind}, as DATE (of a time with zone, in UTC); NULL and infinity stay"


def explained(mask: Function, catalog: Catalog, call: DateCall) -> sql.Expr:
    """What mask_explain() says: what becomes of each column, then the promises."""
    found = _found(catalog, call)
    treated = {column.name: how for column, how in found.columns}
    per = {column.name for column in found.per}
    rows: list[Row] = []
    for column in found.source.columns or ():
        name = column.name
        if name in treated:
            rows.append((name, "confidential", _note(call, treated[name])))
        elif name in found.drop:
            rows.append((name, "dropped", "left out of the output"))
        elif name in per:
            told = "names the person for the shift; released as it is: drop it, or replace it"
            rows.append((name, "not used", f"{told}, if it tells who somebody is"))
        elif column.type in dates.TYPES:
            told = "a date that is released as it is; who can connect it with a shifted one knows the shift"
            rows.append((name, "not used", told))
        else:
            rows.append(
                (name, "not used", "released as it is: drop it if it tells who somebody is")
            )
    return table([*rows, *promised(mask, call)])


FUNCTION = register(
    Function(
        NAME,
        DateCall,
        plan,
        "Dates: one shift for all dates of a person, so that intervals stay; or years, quarters, months, ages.",
        "Hripcsak, Mirhaji, Low & Malin 2016, JAMIA 23",
        kind=Kind.MASK,
        explain=explained,
        example="FROM date_mask('(SELECT *, DATE ''2024-01-01'' + (id % 365)::INTEGER AS seen FROM survey)', "
        "columns={'seen': 'shift'}, per='id', within=30)",
        keeps=(
            Guarantee(
                Promise.INTERVALS,
                "shifted dates of one person keep their distance to the day and second, in all columns and rows, and "
                "in all tables that are masked with the same secret, within and unit",
                _shifts,
            ),
            Guarantee(
                Promise.KEYED,
                "a person's dates are shifted by the same span however often they are read, whatever other rows there "
                "are and however the key is typed",
                _shifts,
            ),
            Guarantee(
                Promise.NEARBY,
                "no date moves by more than within, and none that is shifted by nothing",
                _shifts,
            ),
            Guarantee(
                Promise.NEARBY, "no date leaves its year, quarter or month", _publishes_periods
            ),
            Guarantee(
                Promise.NEARBY, "ages are right, up to the width of their band", _publishes_ages
            ),
        ),
        loses=(
            Loss(
                LossKind.NEARNESS,
                "secrecy of about when: year and season of a shifted date, and the age that a birth date tells, are "
                "visible up to within",
                _shifts,
            ),
            Loss(
                LossKind.OTHER_KNOWLEDGE,
                "protection from one who knows one date of a person and finds it: it tells the shift, and so all dates",
                _shifts,
            ),
            Loss(
                LossKind.OTHER_KNOWLEDGE,
                "protection by intervals: a sequence of them may be one person's alone, and tell who it is",
                _shifts,
            ),
            Loss(
                LossKind.OTHER_KNOWLEDGE,
                "protection of who has a day that others know: refused is a day of "
                f"{FEW} persons or more that are more than {SHARE:.0%} of all, and of {MANY} or more that outnumber "
                "all others within its range; a rarer one tells the same",
                _shifts,
            ),
            Loss(
                LossKind.OTHER_KNOWLEDGE,
                "protection where dates lie on a grid that is known, such as Mondays or full hours: fewer shifts are "
                "possible than within and unit say",
                _shifts,
            ),
            Loss(
                LossKind.EXTREMES,
                "secrecy of extremes: a date before the first or after the last that there can be, such as one in the "
                "future, was shifted from near that end",
                _shifts,
            ),
            Loss(
                LossKind.RELATIONS,
                "weekdays, holidays, and which of two persons' dates was first",
                _shifts,
            ),
            Loss(
                LossKind.SEVERAL_RELEASES,
                "protection by releases with other within, unit or secret: a date lies in the ranges of all of them, "
                "and in the period that another release tells",
                _shifts,
            ),
            Loss(
                LossKind.SEVERAL_RELEASES,
                "protection by releases with other periods, bands or days for ages: when a person's band changes tells "
                "the birthday",
                _publishes_parts,
            ),
            Loss(
                LossKind.OTHER_COLUMNS,
                "protection by columns that are released as they are: a date among them, or an age, tells of others",
            ),
            Loss(
                LossKind.STABILITY,
                "the same dates once keys are numbered anew; and what shares a key shares its shift, persons or not",
                _shifts,
            ),
            Loss(LossKind.PRESENCE, "secrecy of which dates are missing, infinite, or stay"),
            Loss(
                LossKind.GROUPS,
                "secrecy of persons who are alone in a period or band: nobody counts them",
                _publishes_parts,
            ),
            Loss(
                LossKind.DISTRIBUTION,
                "days and times within a period, and ages within a band",
                _publishes_parts,
            ),
            Loss(
                LossKind.SEED,
                "protection: seeded draws can be made again by anybody; for tests only",
                lambda call: call.seed is not None,
            ),
        ),
        udfs=(CHECK, *DRAWS),
    )
)
