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
from ppduck.kernels import score_ranges
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

ATTACK, CERTAIN = "randomized", "certain"
SURE = 0.95
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
    return _Answers(spec, told).rows()


def _better(
    attack: str, name: str, hits: list[npt.NDArray[np.bool_]], counts: Array, says: str
) -> dict[str, Any]:
    """A row of the cells that both answers hit, beside those that the better one of them does."""
    n = int(counts.sum())

    def share(of: npt.NDArray[np.bool_]) -> float:
        return float(counts[of].sum() / n)

    both, one, other = hits
    better = one if share(one) >= share(other) else other
    ends = score_ranges.of_shares(share(both), share(better), n, share(both & better))
    return row(attack, name, (share(both), share(better)), ends, n, says)


class _Guesser:
    """Who knows the shares of the levels and how answers were drawn, of the cells of ``answers``."""

    def __init__(self, pi: Array, matrix: Array, answers: npt.NDArray[np.intp]) -> None:
        self.guesses = repeated.guesses(pi, matrix)[answers]
        self.is_sure = repeated.certainty(pi, matrix)[answers] >= SURE
        self.right_on_average = repeated.right_on_average(pi, matrix)


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

    def rows(self) -> list[dict[str, Any]]:
        spec, name, n = self.spec, self.spec.column, self.n
        if not n:
            says = "no row has an answer in both releases"
            return [row(ATTACK, name, None, NO_RANGE, 0, says)]
        if not self.changed:
            says = f"{plural(n, 'row')} have the same answer in both releases; nothing is gained"
            return [nothing(ATTACK, name, n, says)]
        if spec.first is None or spec.second is None:
            says = (
                f"{plural(self.changed, 'answer')} of {n} differ between the releases; how they were drawn is not "
                f"known: give p := {{'{name}': …}}"
            )
            return [row(ATTACK, name, None, NO_RANGE, n, says)]
        if len(self.levels) > MOST_LEVELS:
            raise spec.refuse(
                f"column {quoted(name)} has more than {MOST_LEVELS} levels; group them, or leave it out of conf."
            )
        one, other = (self._matrix(each) for each in (spec.first, spec.second))
        pairs, size = repeated.joint(one, other), len(self.levels)
        places = self.places[0] * size + self.places[1]
        table = np.bincount(places, self.counts, minlength=size * size).astype(float)
        pi = repeated.shares(table, pairs)
        guessers = [
            _Guesser(pi, matrix, answers)
            for matrix, answers in ((pairs, places), (one, self.places[0]), (other, self.places[1]))
        ]
        together = self._together(table, pi, pairs)
        if spec.has_original:
            return self._measured(guessers, together)
        return self._expected(guessers, together)

    def _expected(self, guessers: list[_Guesser], together: str) -> list[dict[str, Any]]:
        success, *alone = (guesser.right_on_average for guesser in guessers)
        ends = score_ranges.of_shares(success, max(alone), self.n, max(alone))
        says = f"people whose value is guessed right on average, from both answers and from the better one{together}"
        name = self.spec.column
        return [
            row(ATTACK, name, (success, max(alone)), ends, self.n, says),
            self._sure([guesser.is_sure for guesser in guessers], self.counts, together),
        ]

    def _measured(self, guessers: list[_Guesser], together: str) -> list[dict[str, Any]]:
        """Against the original: how many guesses are right."""
        x, name = self.places[2], self.spec.column
        counts = np.where(x >= 0, self.counts, 0.0)
        n = int(counts.sum())
        if not n:
            says = "no row with an answer in both releases is in the original"
            return [row(ATTACK, name, None, NO_RANGE, 0, says)]
        right = [guesser.guesses == x for guesser in guessers]
        says = f"people whose value is guessed right, from both answers and from the better one{together}"
        sure = [guesser.is_sure & good for guesser, good in zip(guessers, right, strict=True)]
        return [_better(ATTACK, name, right, counts, says), self._sure(sure, counts, together)]

    def _sure(
        self, sure: list[npt.NDArray[np.bool_]], counts: Array, together: str
    ) -> dict[str, Any]:
        known = " and rightly" if self.spec.has_original else ""
        says = (
            f"people whose value is told with a probability of {SURE} or more{known}, by both answers and by the "
            f"better one{together}"
        )
        return _better(CERTAIN, self.spec.column, sure, counts, says)

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
