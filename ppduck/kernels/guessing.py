"""What a learner guesses of people from what is seen of them, each by a model of others.

Numbers: a line by least squares, and gradient boosted trees through what it leaves; categories: boosted trees. Rows are
in five folds, and each fold is guessed by a model of the other four.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ppduck.interrupts import check_interrupt
from ppduck.kernels.score_ranges import halves
from ppduck.kernels.threads import one_thread_for_trees
from ppduck.libraries import ensemble
from ppduck.values import Array

FOLDS = 5
WITHIN = 0.1  # how far a guess of a number may miss, in sd of the column
MOST_LEVELS = 100  # of a category that is guessed, or that tells as one
_TREES, _LEAVES, _LEAST = 60, 15, 20
_FEWEST = (
    50  # rows that a line or trees are fitted to; with fewer, the mean or the commonest is guessed
)

Bools = npt.NDArray[np.bool_]


class Inputs:
    """Columns that a model reads: numbers, in which NaN is a value that is missing, and categories by their codes."""

    def __init__(self, numbers: Array, categories: Array) -> None:
        kept = [
            column
            for column in np.where(np.isfinite(numbers), numbers, np.nan).T
            if _varies(column)
        ]
        self.numbers = np.column_stack(kept) if kept else np.empty((len(numbers), 0))
        # Categories with very many levels are names, which tell nothing of others.
        coded = [_coded(column) for column in categories.T]
        own = (
            [column for column in coded if 0 < column.max() < MOST_LEVELS]
            if len(categories)
            else []
        )
        self.codes = np.column_stack(own) if own else np.empty((len(numbers), 0))

    @cached_property
    def columns(self) -> Array:
        """As trees read them: what is missing lies below all that is there."""
        return np.column_stack([*map(_filled, self.numbers.T), self.codes])

    @property
    def are_categories(self) -> Bools:
        return np.asarray(np.arange(self.columns.shape[1]) >= self.numbers.shape[1])

    def line(self) -> Array:
        """A design of a constant, standardised numbers and indicators of levels."""
        parts = [np.ones((len(self.numbers), 1))]
        for column in self.numbers.T:
            known = np.isfinite(column)
            centre, spread = (
                float(f(column[known])) if known.any() else 0.0 for f in (np.mean, np.std)
            )
            parts.append(np.where(known, (column - centre) / (spread or 1.0), 0.0)[:, None])
            if not known.all():
                parts.append((~known).astype(float)[:, None])
        for column in self.codes.T:
            parts.append((column[:, None] == np.unique(column)[1:]).astype(float))
        return np.hstack(parts)


def _varies(column: Array) -> bool:
    there = np.isfinite(column)
    return bool(there.any() and (not there.all() or (column != column[0]).any()))


def _filled(column: Array) -> Array:
    low, high = np.nanmin(column), np.nanmax(column)
    return np.where(np.isnan(column), low - (high - low) - 1, column)


def _coded(column: Array) -> npt.NDArray[np.intp]:
    _, codes = np.unique(column, return_inverse=True)
    return codes.reshape(-1)


def guesses(inputs: Inputs, target: Array, *, is_number: bool) -> Array:
    """Every row's target as models of the other folds guess it; the rows stand in random order."""
    fold = np.arange(len(target)) % FOLDS
    result = np.empty(len(target))
    for k in range(FOLDS):
        check_interrupt()
        mine = fold == k
        if mine.any():
            result[mine] = taught(inputs, target, ~mine, is_number=is_number)[mine]
    return result


def taught(inputs: Inputs, target: Array, known: Bools, *, is_number: bool) -> Array:
    """Guesses for all rows by a model of those that are known."""
    own = known & np.isfinite(target)
    if not own.any():
        return np.zeros(len(target))
    if is_number:
        return _number(inputs, target, own)
    return _category(inputs, target, own)


def _number(inputs: Inputs, target: Array, known: Bools) -> Array:
    spread = float(target[known].std())
    if known.sum() < _FEWEST or spread == 0 or not inputs.columns.shape[1]:
        return np.full(len(target), float(target[known].mean()))
    design = inputs.line()
    coefficients, *_ = np.linalg.lstsq(design[known], target[known], rcond=1e-10)
    line = np.asarray(design @ coefficients)
    left = (target - line) / spread
    if float(left[known].std()) < 1e-9:
        return line
    model = ensemble.HistGradientBoostingRegressor(**_settings(inputs, _TREES))
    return np.asarray(line + spread * _fitted(model, inputs, left, known))


def _category(inputs: Inputs, target: Array, known: Bools) -> Array:
    levels, counts = np.unique(target[known], return_counts=True)
    if known.sum() < _FEWEST or len(levels) == 1 or not inputs.columns.shape[1]:
        return np.full(len(target), levels[counts.argmax()])
    # Each level has trees of its own.
    trees = max(8, _TREES // max(1, len(levels) // 2))
    model = ensemble.HistGradientBoostingClassifier(**_settings(inputs, trees))
    return _fitted(model, inputs, target, known)


def _fitted(model: Any, inputs: Inputs, target: Array, known: Bools) -> Array:
    with one_thread_for_trees():
        model.fit(inputs.columns[known], target[known])
        return np.asarray(model.predict(inputs.columns))


def _settings(inputs: Inputs, trees: int) -> dict[str, Any]:
    return {
        "max_iter": trees,
        "max_leaf_nodes": _LEAVES,
        "min_samples_leaf": _LEAST,
        "categorical_features": inputs.are_categories,
        "early_stopping": False,
        "random_state": 0,
    }


def chosen(outcomes: Sequence[Array]) -> Array:
    """Of outcomes by several models, each person's by the one that does best with the others.

    People stand in two halves, each of which chooses for the other. A model is taken in place of one before it where it
    is better by more than a standard error: who tries many models must not be taken in by chance.
    """
    result = outcomes[0].copy()
    for choosing, judging in (halves(len(result)), halves(len(result))[::-1]):
        best = outcomes[0]
        for other in outcomes[1:]:
            better = other[choosing] - best[choosing]
            error = better.std() / np.sqrt(max(len(better), 1))
            if len(better) and better.mean() > error:
                best = other
        result[judging] = best[judging]
    return result


def hits(target: Array, guessed: Array, *, is_number: bool, spread: float) -> Array:
    """1 where a guess is right: of a number, within a tenth of its sd."""
    if is_number:
        near = np.abs(target - guessed) <= (WITHIN + 1e-12) * spread
        return np.asarray(near, dtype=float)
    return np.asarray(target == guessed, dtype=float)


def explained(target: Array, guessed: Array) -> float:
    """R² of guesses."""
    left, every = ((target - guess) ** 2 for guess in (guessed, target.mean()))
    return float(1 - left.sum() / every.sum()) if every.sum() > 0 else 0.0
