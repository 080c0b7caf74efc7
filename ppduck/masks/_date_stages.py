"""The stages of date_mask: people, the first look, each person's shift, and what is published of each date."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from sqlglot import exp

from ppduck.catalogue.source import Column, Source
from ppduck.frozen import frozen
from ppduck.kernels.noise import tweak_of
from ppduck.masks import _date_columns as dates
from ppduck.masks._date_look import (
    ALONE,
    CHECK,
    MOST,
    NAMED,
    DateSpec,
    Shifted,
    crowds,
    dated,
    days_of,
)
from ppduck.masks._date_words import AGE, PERIODS, SECOND, SHIFT, Treatment
from ppduck.query import aggregates as plain
from ppduck.query import tree as sql
from ppduck.query.arithmetic import remainder, whole_quotient
from ppduck.runtime.noise import draw_function
from ppduck.stages import aggregates, keys, release_identity
from ppduck.stages.masking import KEY, LOOK, SEEN, SOURCE
from ppduck.stages.plan import Groups, Plan, Rows, Sorted, Stage, Totals

_CHECKED, _DRAWN, _DRAW = "_pp_checked", "_pp_drawn", "_pp_draw"
_PEOPLE = "_pp_people"
_DAY, _UNFIT, _AGELESS = "_pp_day{}", "_pp_unfit{}", "_pp_ageless{}"
_ROOM = 2  # bits above a tweak, so that the second half of a draw can be added to it
_SECONDS = 86_400  # of a day


@frozen(kw_only=True)
class Found:
    """A call with its columns found, and what becomes of each."""

    function: str
    source: Source
    columns: tuple[tuple[Column, Treatment], ...]
    per: tuple[Column, ...]
    within: int  # in days; 0 where nothing is shifted
    unit: str
    stay: Sequence[date]
    seed: int | None
    drop: tuple[str, ...]

    def of(self, *kinds: str) -> list[tuple[Column, Treatment]]:
        return [(column, how) for column, how in self.columns if how.kind in kinds]

    @property
    def widest(self) -> int:
        """The greatest shift in its unit."""
        return self.within * (_SECONDS if self.unit == SECOND else 1)


class DateStages:
    """The stages of one call."""

    def __init__(self, found: Found) -> None:
        self.of, self.source = found, found.source
        self.shifted = [column for column, _ in found.of(SHIFT)]

    def plan(self) -> Plan:
        return Plan(
            (
                Rows(SOURCE, not self.source.repeatable, self._source()),
                *self._look(),
                Rows(_DRAWN, False, self._drawn()),
            ),
            Rows("_pp_answer", False, self._projection()),
        )

    def _source(self) -> sql.Expr:
        columns = [sql.star("_pp_row")]
        if self.shifted:
            columns.append(sql.named(keys.key(self.of.per), KEY))
        return sql.query(columns, sql.source(self.source.sql, "_pp_row"))

    def _look(self) -> list[Stage]:
        """What is looked at stands in a table of its own: who, and which days; it is read for each column."""
        stages: list[Stage] = [Rows(_PEOPLE, bool(self.shifted), self._people())]
        crowded: list[str] = []
        for j in range(len(self.shifted)):
            known, crowd = f"_pp_known{j}", f"_pp_crowd{j}"
            stages.append(Sorted(known, False, days_of(_DAY.format(j), _PEOPLE)))
            stages.append(Sorted(crowd, False, crowds(known, self.of.within)))
            crowded.append(crowd)
        seen, persons = self._seen(), self._persons()
        told = aggregates.told(seen)
        told["persons"] = sql.array([each.column for each in persons], "BIGINT")
        for figure in (MOST, ALONE):
            of_columns = [sql.column(figure, crowd) for crowd in crowded]
            told[figure.removeprefix("_pp_")] = sql.array(of_columns, "BIGINT")
        rows = sql.table(SEEN)
        for crowd in crowded:
            rows = rows.cross(sql.table(crowd))
        checked = sql.named(CHECK.in_sql(self._specification(), told), _CHECKED)
        return [
            *stages,
            Totals(SEEN, False, [], [*seen, *persons], sql.table(_PEOPLE)),
            Groups(LOOK, True, sql.query([checked], rows)),
        ]

    def _people(self) -> sql.Expr:
        """Of each row who it is of, the days that a shift moves, and whether other dates can be published.

        Plans that group would name the least of whole numbers, unless they are hidden.
        """
        columns = {}
        if self.shifted:
            own = [sql.column(column.name) for column in self.of.per]
            columns[KEY] = sql.call("greatest", sql.column(KEY), sql.null())
            columns[NAMED] = sql.present(own) or exp.true()
        for j, column in enumerate(self.shifted):
            moved = sql.cases((self._moves(column), dates.day(column)))
            columns[_DAY.format(j)] = sql.call("greatest", moved, sql.null())
        for j, (column, _) in enumerate(self.of.of(*PERIODS)):
            columns[_UNFIT.format(j)] = _where_finite(column, dates.before_periods(column))
        for j, (column, how) in enumerate(self.of.of(AGE)):
            later = dates.later(column, how.at)
            columns[_AGELESS.format(j)] = _where_finite(column, later, exp.true())
        return sql.query(sql.columns(columns), sql.table(SOURCE))

    def _specification(self) -> DateSpec:
        return DateSpec(
            self.of.function,
            self.source.label,
            per=[column.name for column in self.of.per],
            within=self.of.within,
            shifted=[Shifted(column.name, column.type) for column in self.shifted],
            periods=[column.name for column, _ in self.of.of(*PERIODS)],
            ages=[Shifted(column.name, how.at.isoformat()) for column, how in self.of.of(AGE)],
        )

    def _seen(self) -> list[aggregates.Aggregate]:
        keyless = sql.number(0)
        if self.shifted:
            keyless = plain.count_if(exp.Not(this=sql.column(NAMED)))
        return [
            aggregates.rows("_pp_rows"),
            aggregates.count("_pp_keyless", keyless),
            aggregates.counts(
                "_pp_beyond",
                [plain.count_if(self._beyond(j, c)) for j, c in enumerate(self.shifted)],
            ),
            aggregates.counts("_pp_unfit", _counted(_UNFIT, self.of.of(*PERIODS))),
            aggregates.counts("_pp_ageless", _counted(_AGELESS, self.of.of(AGE))),
        ]

    def _persons(self) -> list[aggregates.Aggregate]:
        """Who has a date that is shifted, column by column."""
        return [
            aggregates.count_distinct(
                f"_pp_persons{j}", sql.cases((dated(_DAY.format(j)), sql.column(KEY)))
            )
            for j in range(len(self.shifted))
        ]

    def _moves(self, column: Column) -> sql.Expr:
        """Whether a value is shifted; NULL is not."""
        stays = dates.stays(column, self.of.stay)
        return _where_finite(column, exp.Not(this=stays))

    def _beyond(self, j: int, column: Column) -> sql.Expr:
        """Whether a shift might take a value out of what its type holds, whichever shift it gets."""
        first, last = dates.ends(column)
        inside = exp.Between(
            this=sql.column(_DAY.format(j)),
            low=sql.number(first + self.of.within),
            high=sql.number(last - self.of.within),
        )
        return exp.Not(this=inside)

    def _drawn(self) -> sql.Expr:
        """The source with the draw of each row's person; every row knows that the look was passed."""
        columns = [sql.star(SOURCE), sql.column(_CHECKED, LOOK)]
        if self.shifted:
            # The check's 0 is added because DuckDB does not run what nothing reads.
            key = sql.total([sql.column(KEY), sql.column(_CHECKED)])
            tweak = self._tweak()
            function = draw_function(seeded=self.of.seed is not None)
            halves = [sql.cast(sql.number(tweak + half), "BIGINT") for half in (0, 1)]
            columns.append(sql.named(sql.call(function, key, *halves), _DRAW))
        return sql.query(columns, sql.table(SOURCE).cross(sql.table(LOOK)))

    def _tweak(self) -> int:
        """One for all columns and tables of the same range, that of no other draw."""
        context = {"within": self.of.within, "unit": self.of.unit, "seed": self.of.seed}
        return tweak_of(release_identity.written({"shifted dates": context}), 0) >> _ROOM

    def _projection(self) -> sql.Expr:
        replace = {column.name: self._published(column, how) for column, how in self.of.columns}
        added = [KEY, _DRAW] if self.shifted else []
        return sql.query(
            [sql.star(_DRAWN, [_CHECKED, *added, *self.of.drop], replace)], sql.table(_DRAWN)
        )

    def _published(self, column: Column, how: Treatment) -> sql.Expr:
        if how.kind == SHIFT:
            moved = dates.shifted(column, self._shift(), self.of.unit)
            return sql.cases((self._moves(column), moved), otherwise=sql.column(column.name))
        finite = dates.finite(column)
        if how.kind == AGE:
            made, rest = dates.band(column, how), None
        else:
            made, rest = dates.period(column, how.kind), dates.endless(column)
        passed = sql.equal(sql.column(_CHECKED), sql.number(0))
        return sql.cases((passed, sql.cases((finite, made), otherwise=rest)))

    def _shift(self) -> sql.Expr:
        """From -w to w without 0, of a draw of 64 bits."""
        widest = self.of.widest
        place = sql.cast(remainder(sql.column(_DRAW), sql.number(2 * widest)), "BIGINT")
        upper = whole_quotient(place, sql.number(widest))
        return sql.total([sql.minus(place.copy(), sql.number(widest)), upper])


def _where_finite(
    column: Column, condition: sql.Expr, otherwise: sql.Expr | None = None
) -> sql.Expr:
    """A condition of finite values; ``otherwise``, or false, of infinite ones, and false of NULL."""
    there = sql.column(column.name).is_(exp.null())
    return sql.cases(
        (there, exp.false()),
        (dates.finite(column), condition),
        otherwise=exp.false() if otherwise is None else otherwise,
    )


def _counted(flag: str, columns: Sequence[object]) -> list[sql.Expr]:
    """In how many rows each flag is up."""
    return [plain.count_if(sql.column(flag.format(j))) for j in range(len(columns))]
