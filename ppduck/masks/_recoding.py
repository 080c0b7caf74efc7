"""The stages of a recoding: levels are counted and quantiles found, then every row is recoded by itself.

Without quantiles and rare levels there is one stage, which reads the table once.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sqlglot import exp

from ppduck.catalogue.source import Column, Source
from ppduck.errors import Faults, quoted
from ppduck.masks import _rare_levels
from ppduck.masks._number_ranges import Numbers, text
from ppduck.masks._recode_check import (
    CHECK,
    LEAST_BEYOND,
    AskedQuantile,
    MergedLevels,
    RecodeSpec,
)
from ppduck.masks._recode_rules import (
    Bound,
    Classed,
    Coded,
    Merged,
    Quantile,
    Recoding,
    Shortened,
)
from ppduck.query import tree as sql
from ppduck.stages.masking import LOOK, ROW, SOURCE
from ppduck.stages.plan import Groups, Plan, Rows, Sorted, Stage

_ANSWER, _QUANTILES = "_pp_answer", "_pp_quantiles"
_CHECKED = "_pp_checked"  # what the look gives: 0, or an error


class Recodings:
    """The stages of one call."""

    def __init__(
        self, function: str, source: Source, recodings: Sequence[Recoding], drop: Sequence[str]
    ) -> None:
        self.source, self.recodings, self.drop = source, recodings, drop
        self.function = function
        self.merged = [each for each in recodings if isinstance(each, Merged)]
        self.coded = [each for each in recodings if isinstance(each, Coded)]
        # of each column and option that asks for one, what its value is called
        asked = [(each, option) for each in self.coded for option in each.quantiles]
        self.asked = {
            (each.column.name, option): f"_pp_bound{i}" for i, (each, option) in enumerate(asked)
        }

    def plan(self) -> Plan:
        if not self.merged and not self.asked:
            rows = sql.source(self.source.sql, "_pp_row")
            columns = sql.star("_pp_row", self.drop, self._replaced())
            return Plan((), Rows(_ANSWER, False, sql.query([columns], rows)))
        stages: list[Stage] = [Rows(SOURCE, self.is_kept, self._source())]
        for j, merged in enumerate(self.merged):
            stages += _rare_levels.stages(j, _category(merged), merged.rare_below)
        if self.asked:
            stages.append(Sorted(_QUANTILES, True, self._quantiles()))
        stages.append(Groups(LOOK, True, self._look()))
        return Plan(tuple(stages), self._answer())

    @property
    def is_kept(self) -> bool:
        """Whether the rows are kept, because to read them twice might give other ones."""
        return not self.source.repeatable

    def _source(self) -> sql.Expr:
        looked = [each.column for each in self.merged]
        hidden = {column.name: sql.hidden(column.name) for column in looked if column.is_integer}
        columns = [sql.star("_pp_row", replace=hidden)]
        if self.is_kept:
            columns.append(sql.named(sql.over(sql.call("row_number")), ROW))
        return sql.query(columns, sql.source(self.source.sql, "_pp_row"))

    def _quantiles(self) -> sql.Expr:
        """The quantiles, and after them whether too few values are there or beyond."""
        found = []
        for coded in self.coded:
            value = _finite(coded.column)
            for option, quantile in coded.quantiles.items():
                name = self.asked[coded.column.name, option]
                share = sql.cast(sql.text(text(quantile.share)), "DECIMAL(18, 15)")
                bound = sql.call("quantile_disc", value.copy(), share)
                end, beyond = ("max", exp.LT) if option == "top" else ("min", exp.GT)
                last = sql.item(sql.call(end, value.copy(), sql.number(LEAST_BEYOND)), LEAST_BEYOND)
                few = sql.call("coalesce", beyond(this=last, expression=bound.copy()), exp.true())
                any_ = exp.GT(this=sql.call("count", value.copy()), expression=sql.number(0))
                found += [
                    sql.named(bound, name),
                    sql.named(exp.and_(any_, few), f"{name}_few"),
                ]
        return sql.query(found, sql.table(SOURCE))

    def _look(self) -> sql.Expr:
        """The quantiles beside what the check of all that was found gives."""
        bounded = [
            each for each in self.coded if each.quantiles and None not in (each.bottom, each.top)
        ]
        spec = RecodeSpec(
            self.function,
            self.source.label,
            tuple(MergedLevels(m.column.name, m.rare_below, m.called) for m in self.merged),
            tuple(
                AskedQuantile(each.column.name, option, str(quantile))
                for each in self.coded
                for option, quantile in each.quantiles.items()
            ),
            tuple(each.column.name for each in bounded),
        )
        every = range(len(self.merged))
        told = {
            "values": sql.array(map(_rare_levels.values, every), "BIGINT"),
            "taken": sql.array(
                (
                    _rare_levels.is_taken(j, _typed(each.called, each.column))
                    for j, each in enumerate(self.merged)
                ),
                "BOOLEAN",
            ),
            "few": sql.array([sql.column(f"{n}_few") for n in self.asked.values()], "BOOLEAN"),
            "crossed": sql.array([self._crossed(each) for each in bounded], "BOOLEAN"),
        }
        checked = sql.named(CHECK.in_sql(spec, told), _CHECKED)
        bounds = [sql.column(name) for name in self.asked.values()]
        rare = [sql.named(_rare_levels.buckets(j), _rare_levels.lookup(j)) for j in every]
        return sql.query([checked, *bounds, *rare], sql.table(_QUANTILES) if self.asked else None)

    def _crossed(self, coded: Coded) -> sql.Expr:
        bottom, top = (self._bound(coded, option) for option in ("bottom", "top"))
        return sql.call("coalesce", exp.GT(this=bottom, expression=top), exp.false())

    def _bound(self, coded: Coded, option: str) -> sql.Expr:
        """The number, or the quantile, that an option says."""
        bound: Bound | None = getattr(coded, option)
        if isinstance(bound, Quantile):
            return sql.column(self.asked[coded.column.name, option])
        return _number(bound or Fraction(0), coded.numbers)

    def _answer(self) -> Stage:
        rows = sql.table(SOURCE).cross(sql.table(LOOK))
        if not self.is_kept:
            return Rows(
                _ANSWER, False, sql.query([sql.star(SOURCE, self.drop, self._replaced())], rows)
            )
        # DuckDB 1.4 reads what is kept in any order, if it has several threads.
        columns = sql.star(SOURCE, [ROW, *self.drop], self._replaced())
        order = [sql.column(ROW, SOURCE)]
        return Sorted(_ANSWER, False, sql.query([columns], rows, order=order))

    def _replaced(self) -> dict[str, sql.Expr]:
        return {each.column.name: self._recoded(each) for each in self.recodings}

    def _recoded(self, recoding: Recoding) -> sql.Expr:
        if isinstance(recoding, Classed):
            return self._class_of(recoding)
        if isinstance(recoding, Coded):
            return self._coded_value(recoding)
        if isinstance(recoding, Merged):
            return self._merged_level(recoding)
        assert isinstance(recoding, Shortened)
        return _first(recoding.column, recoding.keep)

    def _class_of(self, classed: Classed) -> sql.Expr:
        ranges, numbers = classed.ranges, classed.numbers
        told = [
            _number(low, numbers) if classed.lower and low is not None else sql.text(label)
            for (low, _), label in zip(ranges.spans, ranges.labels, strict=True)
        ]
        if classed.lower and ranges.below:
            told[0] = self._error(classed, _BELOW)
        none = [] if ranges.below else [self._error(classed, _OUTSIDE)]
        told = [*none, *told, *([] if ranges.above else [self._error(classed, _OUTSIDE)])]
        value = sql.column(classed.column.name)
        found = _place(value, numbers, list(zip(ranges.edges, told[1:], strict=True)), told[0])
        if not classed.lower:
            labels = ", ".join(sql.render(sql.text(label)) for label in ranges.labels)
            found = sql.cast_as(found, f"ENUM({labels})")
        missing = (value.copy().is_(exp.null()), exp.null())
        return sql.cases(missing, *self._not_finite(classed), otherwise=found)

    def _coded_value(self, coded: Coded) -> sql.Expr:
        value = sql.column(coded.column.name)
        pairs = [*self._not_finite(coded)]
        if coded.quantiles:
            pairs.append(_refused())
        for option, beyond in (("bottom", exp.LT), ("top", exp.GT)):
            if getattr(coded, option) is not None:
                bound = self._bound(coded, option)
                pairs.append((beyond(this=value.copy(), expression=bound), bound.copy()))
        return sql.cases(*pairs, otherwise=value)

    def _merged_level(self, merged: Merged) -> sql.Expr:
        value = _category(merged)
        is_rare = _rare_levels.is_merged(self.merged.index(merged), value)
        called = _typed(merged.called, merged.column)
        return sql.cases(_refused(), (is_rare, called), otherwise=value)

    def _not_finite(self, recoding: Recoding) -> list[tuple[sql.Expr, sql.Expr]]:
        """NaN and infinity are no numbers that a range, or a bound, could speak of."""
        if not recoding.column.is_fraction:
            return []
        finite = sql.call("isfinite", sql.column(recoding.column.name))
        return [(exp.Not(this=finite), self._error(recoding, _NOT_FINITE))]

    def _error(self, recoding: Recoding, fault: str) -> sql.Expr:
        faults = Faults(self.function, self.source.label)
        told = faults.refuse(f"column {quoted(recoding.column.name)} holds {fault}")
        return sql.call("error", sql.text(str(told)))


_OUTSIDE = (
    "a value outside the ranges that were there when the call was planned. Give bottom and top, or run it again, after "
    "a commit if it is part of an open transaction."
)
_BELOW = (
    "a value below the first of breaks, which has no lower bound; add a break, or leave label out."
)
_NOT_FINITE = "NaN or infinity; make such values NULL with a SELECT in tbl."


def _refused() -> tuple[sql.Expr, sql.Expr]:
    """Never so: the check raises, and is read because DuckDB does not run what nothing reads."""
    return exp.NEQ(this=sql.column(_CHECKED), expression=sql.number(0)), exp.null()


def _first(column: Column, characters: int) -> sql.Expr:
    return sql.call("left", _text(column), sql.number(characters))


def _text(column: Column) -> sql.Expr:
    value = sql.column(column.name)
    return sql.cast(value, "VARCHAR") if column.is_enum else value


def _category(merged: Merged) -> sql.Expr:
    """The value whose rows are counted."""
    return _text(merged.column) if merged.keep is None else _first(merged.column, merged.keep)


def _typed(called: str, column: Column) -> sql.Expr:
    return sql.cast_as(sql.text(called), column.type) if column.is_integer else sql.text(called)


def _finite(column: Column) -> sql.Expr:
    value = sql.column(column.name)
    if not column.is_fraction:
        return value
    return sql.cases((sql.call("isfinite", value), value.copy()))


def _number(value: Fraction, numbers: Numbers) -> sql.Expr:
    """A number as the column's type has it."""
    return sql.cast_as(sql.text(text(numbers.nearest(value))), numbers.type)


def _place(
    value: sql.Expr, numbers: Numbers, steps: Sequence[tuple[Fraction, sql.Expr]], first: sql.Expr
) -> sql.Expr:
    """What stands behind the last edge that a value reaches, else ``first``; edges beyond the type are never met."""
    within: list[tuple[Fraction, sql.Expr]] = []
    for edge, found in steps:
        if edge > numbers.high:
            break
        if edge <= numbers.low:
            first = found
        else:
            within.append((edge, found))
    return _halved(value, numbers, within, first)


def _halved(
    value: sql.Expr, numbers: Numbers, steps: Sequence[tuple[Fraction, sql.Expr]], first: sql.Expr
) -> sql.Expr:
    """By halves, so that many edges take little longer than few."""
    if not steps:
        return first
    middle = len(steps) // 2
    edge, found = steps[middle]
    reached = exp.GTE(this=value.copy(), expression=_number(edge, numbers))
    return sql.cases(
        (reached, _halved(value, numbers, steps[middle + 1 :], found)),
        otherwise=_halved(value, numbers, steps[:middle], first),
    )
