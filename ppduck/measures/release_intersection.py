"""release_intersection(): what two releases of overlapping rows tell together that neither tells alone.

What is tried, each on the columns that it can be tried on:

- *differencing*: masks that keep sums exactly let the values of rows that only one release has be solved for, one
  equation a sum: Σx and Σs·x of every open column s (Denning, Denning & Schwartz 1979).
- *averaging*: of values with noise that is drawn anew, the mean of both is nearer to the truth.
- *randomized*, *certain*: two answers that were drawn apart are guessed from better than one (Guo 2010, section 5.2);
  where they agree, much more surely.
- *intersection*, *homogeneity*, *composition*: groups of alike rows that have little in common (Ganta,
  Kasiviswanathan & Smith 2008).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ppduck.call import arguments
from ppduck.call.parameters import Call, parameter, parameters
from ppduck.call.registry import Function, Kind, register
from ppduck.call.udf import rows_type, told_udf
from ppduck.catalogue.source import Column
from ppduck.catalogue.tables import Catalog
from ppduck.designs.design import DesignWords, Probability, probability
from ppduck.errors import PpduckError, listed, quoted
from ppduck.estimators.design_source import SAME_VIEWS, Release, read_release, same_views
from ppduck.frozen import frozen
from ppduck.interrupts import check_interrupt
from ppduck.measures import (
    _averaging,
    _differencing,
    _joint_groups,
    _number_sums,
    _repeated_answers,
)
from ppduck.measures._number_sums import NumbersSpec, NumbersTold
from ppduck.measures._repeated_answers import MOST_LEVELS, AnsweredBy, by_design
from ppduck.measures._told_together import RESULTS
from ppduck.measures._two_releases import (
    CHECK,
    CHECK_KEYS,
    CHECKED,
    FIRST,
    NOTHING,
    ORIGINAL,
    SECOND,
    TwoReleases,
)
from ppduck.query import tree as sql
from ppduck.query.answer import each_row
from ppduck.values import Moments, folded

NAME = "release_intersection"
ANSWER, ROWS = "_pp_answer", "_pp_rows"


@parameters
class ReleaseIntersectionCall(Call):
    first: str = parameter(arguments.words, "one release, as a table, view, file or SELECT")
    second: str = parameter(arguments.words, "another, of some of the same rows")
    key: Sequence[str] = parameter(
        arguments.columns,
        "the columns that identify a row in both; rows that only one has are counted, and solved for",
    )
    conf: Sequence[str] | None = parameter(
        arguments.columns, "the confidential columns, as masked: numbers, or categories", None
    )
    nonconf: Sequence[str] | None = parameter(
        arguments.columns,
        "what both publish as it is; by default all that they have beside conf, key and qi. What differs is left out",
        None,
    )
    qi: Sequence[str] | None = parameter(
        arguments.columns,
        "what rows of a group are alike by, in each release that which it has; by default group_id, if both have it",
        None,
    )
    original: str | None = parameter(
        arguments.words,
        "the table before masking, to measure by; without it, what can be told",
        None,
    )
    p: Probability | None = parameter(
        probability,
        "the probability to keep a value, one number or {'column': 0.9}; by default that of views over rr_mask",
        None,
    )
    p_second: Probability | None = parameter(
        probability, "the same of the second release, where it is another", None
    )


@frozen
class Designs:
    """How each release randomized which columns, by folded name, and the views that say so."""

    first: dict[str, AnsweredBy]
    second: dict[str, AnsweredBy]
    views: tuple[Release, ...]

    def of(self, column: Column) -> tuple[AnsweredBy | None, AnsweredBy | None]:
        own = folded(column.name)
        return self.first.get(own), self.second.get(own)

    @property
    def randomized(self) -> set[str]:
        """Columns of which at least one release published something else than it was told."""
        return {
            name
            for side in (self.first, self.second)
            for name, design in side.items()
            if design.p != 1.0
        }


def plan(catalog: Catalog, call: ReleaseIntersectionCall) -> sql.Expr:
    given = {FIRST: call.first, SECOND: call.second, ORIGINAL: call.original}
    tables = TwoReleases(
        NAME, catalog, {side: tbl for side, tbl in given.items() if tbl is not None}
    )
    tables.use_key(call.key)
    tables.use_groups(call.qi)
    designs = _designs(tables, call)
    tables.use_conf(call.conf or (), sorted(designs.randomized))
    if not call.conf and not tables.groups:
        tables.faults.add(NOTHING)
    tables.faults.raise_if_any()
    if tables.numbers:
        tables.use_nonconf(call.nonconf)
    tables.faults.raise_if_any()
    statement = sql.Statement()
    tables.join(statement)
    tables.check(statement)
    asked = [_numbers(tables, statement)] if tables.numbers else []
    for j, column in enumerate(tables.categories):
        if _is_answer(tables, column, designs):
            asked.append(_repeated_answers.answer(tables, statement, j, designs.of(column)))
    if tables.groups:
        asked.append(_joint_groups.answer(tables, statement))
    tables.faults.raise_if_any()
    statement.step(ROWS, _together(asked, designs), materialized=True)
    return statement.query(each_row(ROWS, ANSWER))


def _together(asked: Sequence[sql.Expr], designs: Designs) -> sql.Expr:
    """The rows of all attacks, one after the other, if views are what they were."""
    rows, lists, same = sql.table(CHECK), [], []
    for i, each in enumerate(asked):
        [value] = each.expressions
        each.set("expressions", [sql.named(value, f"{ANSWER}{i}")])
        rows = rows.cross(sql.derived(each, f"_pp_asked{i}"))
        lists.append(sql.column(f"{ANSWER}{i}"))
    for i, release in enumerate(designs.views):
        seen = sql.derived(same_views(release), f"_pp_seen{i}")
        told = sql.named(sql.column(SAME_VIEWS), f"{SAME_VIEWS}{i}")
        rows = rows.cross(sql.derived(sql.query([told], seen), f"_pp_view{i}"))
        same.append(sql.equal(sql.column(f"{SAME_VIEWS}{i}"), sql.number(0)))
    every = sql.call("flatten", sql.call("list_value", *lists))
    return sql.query([sql.named(every, ANSWER)], rows, where=sql.every(same))


def _designs(tables: TwoReleases, call: ReleaseIntersectionCall) -> Designs:
    """What the call says of probabilities, else what views over rr_mask and pram_mask do."""
    names = call.conf or ()
    for word, given in (("p", call.p), ("p_second", call.p_second)):
        strangers = (
            set(map(folded, given)) - set(map(folded, names))
            if isinstance(given, Mapping)
            else set()
        )
        if strangers:
            tables.faults.add(
                f"{word} names column {listed(sorted(strangers))}, which conf does not."
            )
    found, views = [], []
    for side, p in ((FIRST, call.p), (SECOND, call.p if call.p_second is None else call.p_second)):
        own = [c for name in names if (c := tables.column(side, name)) and _may_be_answer(c)]
        if p is not None:
            found.append(_by_hand(own, p))
            continue
        release = _of_view(tables, side, own)
        attributes = release.attributes if release else ()
        found.append({folded(each.name): by_design(each) for each in attributes})
        views += [release] if release else []
    return Designs(found[0], found[1], tuple(views))


def _by_hand(columns: Sequence[Column], p: Probability) -> dict[str, AnsweredBy]:
    """One number is for categories only; a number that was randomized is named."""
    if isinstance(p, Mapping):
        own = {folded(name): value for name, value in p.items()}
    else:
        own = {folded(column.name): p for column in columns if not column.is_numeric}
    return {name: AnsweredBy(None, value, None) for name, value in own.items()}


def _of_view(tables: TwoReleases, side: str, columns: Sequence[Column]) -> Release | None:
    """The designs of a view's columns; None of what is no view over randomized answers."""
    if not columns:
        return None
    names = [column.name for column in columns]
    try:
        label = tables.sources[side].label
        return read_release(NAME, tables.catalog, label, names, DesignWords())
    except PpduckError:
        return None


def _may_be_answer(column: Column) -> bool:
    return not column.is_numeric or column.is_integer


def _is_answer(tables: TwoReleases, column: Column, designs: Designs) -> bool:
    """Whether both releases have few enough values of a category to count its pairs."""
    if not tables.published(column):
        return False
    for side in (FIRST, SECOND):
        source = tables.sources[side]
        if tables.catalog.levels(source, source.column(column.name), MOST_LEVELS) is None:
            if folded(column.name) in designs.randomized:
                tables.faults.add(
                    f"conf names column {quoted(column.name)}, which has more than {MOST_LEVELS} levels in "
                    f"{quoted(source.label)}; group them, or leave it out."
                )
            return False
    return True


def _numbers(tables: TwoReleases, statement: sql.Statement) -> sql.Expr:
    _number_sums.sum_up(tables, statement)
    spec = NumbersSpec(
        NAME,
        tables.sources[FIRST].label,
        [column.name for column in tables.numbers],
        [feature.label for feature, _ in tables.features],
        tables.has_original,
    )
    rows = sql.table(CHECK)
    for step in (_number_sums.SUMS, _number_sums.MOMENTS, _number_sums.ALONE):
        rows = rows.cross(sql.table(step))
    told = {"checked": sql.column(CHECKED), **_number_sums.told()}
    return sql.query([SOLVE.in_sql(spec, told)], rows)


def solve(spec: NumbersSpec, told: NumbersTold) -> list[dict[str, Any]]:
    """Differencing and averaging of each column of numbers."""
    figures = np.concatenate([told.centres, told.spreads, told.first, told.second])
    names = [*spec.features, *spec.columns]
    bad = [
        name
        for name, *own in zip(names, told.centres, told.spreads, strict=True)
        if not np.isfinite(own).all()
    ]
    if bad or not np.isfinite(figures).all():
        raise spec.refuse(
            f"NaN, infinity or a number too large to square is in {listed(bad or spec.columns)}; replace it by NULL."
        )
    p = len(spec.features)
    # What both do not publish alike is masked by one of them, and no constant adds an equation.
    open_ = [i for i in range(p) if not told.changed[i] and told.spreads[i] > 0]
    moments = Moments.from_sums(told.n, told.sums, told.products)
    rows = []
    for j in range(len(spec.columns)):
        check_interrupt()
        rows.append(_differencing.attack(spec, told, j, open_))
        rows.append(_averaging.attack(spec, told, moments, j, open_))
    return rows


SOLVE = told_udf("ppduck_two_releases", solve, NumbersSpec, NumbersTold, rows_type(RESULTS))
FUNCTION = register(
    Function(
        NAME,
        ReleaseIntersectionCall,
        plan,
        "What two releases of overlapping rows tell together: solved rows, averaged noise, joint groups.",
        "Denning, Denning & Schwartz 1979, ACM TODS; Ganta, Kasiviswanathan & Smith 2008, KDD",
        kind=Kind.MEASURE,
        results=RESULTS,
        example="FROM release_intersection('released_before', 'released', key='id', conf=['x1','x2'], "
        "nonconf=['s1','s2'], original='customers')",
        udfs=(SOLVE, _repeated_answers.SOLVE, _joint_groups.SOLVE, CHECK_KEYS),
    )
)
