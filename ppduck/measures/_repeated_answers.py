"""Randomized answers that were published twice: the best guess from both, beside that from one of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ppduck.call.spec import Spec
from ppduck.call.udf import rows_type, told_udf
from ppduck.designs.design import Attribute, Levels
from ppduck.errors import quoted
from ppduck.frozen import frozen
from ppduck.kernels import repeated_answers as repeated
from ppduck.kernels import share_ranges
from ppduck.kernels.distortion import uniform
from ppduck.measures._told_together import NO_RANGE, RESULTS, nothing, plural, row
from ppduck.measures._two_releases import (
    BOTH,
    CHECK,
    CHECKED,
    FIRST,
    JOINED,
    ORIGINAL,
    SECOND,
    TwoReleases,
    at,
)
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.values import Array

ATTACK = "randomized"
MOST_LEVELS = 100


@frozen
class AnsweredBy:
    """How one release randomized the column: the chance to keep a level, or a matrix over its levels."""

    levels: tuple[str | None, ...] | None
    p: float | None
    matrix: tuple[tuple[float, ...], ...] | None


@frozen
class AnswersSpec(Spec):
    """How each release randomized a column; None where nobody says."""

    column: str
    first: AnsweredBy | None
    second: AnsweredBy | None
    has_original: bool


@frozen
class AnswersTold:
    """The pairs of answers that occur, the original beside them, and how many rows each has."""

    checked: int
    first: list[str | None]
    second: list[str | None]
    original: list[str | None]
    counts: Array


def by_design(attribute: Attribute) -> AnsweredBy:
    return AnsweredBy(attribute.levels, attribute.p, attribute.rows)


def answer(
    tables: TwoReleases,
    statement: sql.Statement,
    j: int,
    designs: tuple[AnsweredBy | None, AnsweredBy | None],
) -> sql.Expr:
    """Adds the step that counts pairs of answers, and gives a SELECT of the list of rows."""
    values = [sql.column(at("a", j, side)) for side in (FIRST, SECOND)]
    values.append(
        sql.column(at("a", j, ORIGINAL)) if tables.has_original else sql.cast(sql.null(), "VARCHAR")
    )
    names = ["_pp_one", "_pp_two", "_pp_before"]
    step = f"_pp_answers{j}"
    own = [sql.named(value, name) for value, name in zip(values, names, strict=True)]
    read = sql.query(own, sql.table(JOINED), where=sql.column(BOTH))
    columns = [sql.column(name) for name in names]
    counted = sql.query(
        [*columns, sql.named(aggregates.rows(), "_pp_n")],
        sql.derived(read, "_pp_answered"),
        group=[each.copy() for each in columns],
    )
    statement.step(step, counted, materialized=True)
    order = [each.copy() for each in columns]
    fields = {
        name: sql.in_order("list", sql.column(of), order)
        for name, of in zip(
            ("first", "second", "original", "counts"), [*names, "_pp_n"], strict=True
        )
    }
    fields["checked"] = sql.call("any_value", sql.column(CHECKED))
    spec = AnswersSpec(
        tables.function,
        tables.sources[FIRST].label,
        tables.categories[j].name,
        *designs,
        tables.has_original,
    )
    return sql.query([SOLVE.in_sql(spec, fields)], sql.table(CHECK).cross(sql.table(step)))


def solve(spec: AnswersSpec, told: AnswersTold) -> list[dict[str, Any]]:
    return [_Answers(spec, told).row()]


class _Answers:
    """Pairs of answers as places among the levels of both releases."""

    def __init__(self, spec: AnswersSpec, told: AnswersTold) -> None:
        self.spec = spec
        designs = [each for each in (spec.first, spec.second) if each is not None]
        known = [level for each in designs for level in each.levels or ()]
        nulls = None in known
        every = [*known, *told.first, *told.second, *told.original]
        texts = sorted({level for level in every if level is not None})
        self.levels: Levels = (*texts, *([None] if nulls else []))
        places = {level: i for i, level in enumerate(self.levels)}
        sides = (told.first, told.second, told.original)
        self.places = [np.array([places.get(v, -1) for v in side], dtype=np.intp) for side in sides]
        # A row without an answer, which is NULL where that is no level, tells nothing.
        there = (self.places[0] >= 0) & (self.places[1] >= 0)
        self.places = [each[there] for each in self.places]
        self.counts = told.counts[there]
        self.n = int(self.counts.sum())
        self.changed = int(self.counts[self.places[0] != self.places[1]].sum())

    def row(self) -> dict[str, Any]:
        spec, name, n = self.spec, self.spec.column, self.n
        if not n:
            return row(ATTACK, name, None, NO_RANGE, 0, "no row has an answer in both releases")
        if not self.changed:
            says = f"{plural(n, 'row')} have the same answer in both releases; nothing is gained"
            return nothing(ATTACK, name, n, says)
        if spec.first is None or spec.second is None:
            says = (
                f"{plural(self.changed, 'answer')} of {n} differ between the releases; how they were drawn is not "
                f"known: give p := {{'{name}': …}}"
            )
            return row(ATTACK, name, None, NO_RANGE, n, says)
        if len(self.levels) > MOST_LEVELS:
            raise spec.refuse(
                f"column {quoted(name)} has more than {MOST_LEVELS} levels; group them, or leave it out of conf."
            )
        one, other = (self._matrix(each) for each in (spec.first, spec.second))
        pairs = repeated.joint(one, other)
        size = len(self.levels)
        table: Array = np.bincount(
            self.places[0] * size + self.places[1], self.counts, minlength=size * size
        ).astype(float)
        pi = repeated.shares(table, pairs)
        if spec.has_original:
            return self._measured(pi, (one, other, pairs))
        success, *alone = (repeated.right_on_average(pi, each) for each in (pairs, one, other))
        baseline = max(alone)
        says = (
            "people whose value is guessed right on average, from both answers and from the better one, if they were "
            f"drawn apart{self._together(table, pi, pairs)}"
        )
        ends = share_ranges.difference(success, baseline, n, baseline)
        return row(ATTACK, name, (success, baseline), ends, n, says)

    def _measured(self, pi: Array, matrices: tuple[Array, Array, Array]) -> dict[str, Any]:
        """Against the original: how many guesses are right."""
        one, other, pairs = (repeated.guesses(pi, each) for each in matrices)
        a, b, x = self.places
        there = x >= 0
        n = int(self.counts[there].sum())
        if not n:
            says = "no row with an answer in both releases is in the original"
            return row(ATTACK, self.spec.column, None, NO_RANGE, 0, says)
        right = [guess == x for guess in (pairs[a * len(self.levels) + b], one[a], other[b])]

        def share(of: npt.NDArray[np.bool_]) -> float:
            return float(self.counts[there & of].sum() / n)

        better = right[1] if share(right[1]) >= share(right[2]) else right[2]
        success, baseline = share(right[0]), share(better)
        ends = share_ranges.difference(success, baseline, n, share(right[0] & better))
        says = "people whose value is guessed right, from both answers and from the better one"
        return row(ATTACK, self.spec.column, (success, baseline), ends, n, says)

    def _matrix(self, design: AnsweredBy) -> Array:
        """Over the levels of both releases; a level that a release does not know stands for itself."""
        own = self.levels if design.levels is None else design.levels
        at_ = [self.levels.index(level) for level in own]
        rows = (
            np.array(design.matrix)
            if design.matrix is not None
            else uniform(1.0 if design.p is None else design.p, len(own))
        )
        if len(rows) != len(own):
            raise self.spec.refuse(
                f"the matrix of column {quoted(self.spec.column)} is not of its {len(own)} levels."
            )
        found = np.eye(len(self.levels))
        found[np.ix_(at_, at_)] = rows
        return np.asarray(found)

    def _together(self, table: Array, pi: Array, pairs: Array) -> str:
        """What answers that agree more often than ones that were drawn apart say."""
        size = len(self.levels)
        same = np.arange(size) * (size + 1)
        expected, found = float(np.sum((pairs @ pi)[same])), float(np.sum(table[same])) / self.n
        spread = np.sqrt(max(expected * (1 - expected), 0.0) / self.n)
        if found > expected + 4 * spread:
            return "; but they agree more often than that, so that part of the chance is common and less is gained"
        return ""


SOLVE = told_udf("ppduck_repeated_answers", solve, AnswersSpec, AnswersTold, rows_type(RESULTS))
