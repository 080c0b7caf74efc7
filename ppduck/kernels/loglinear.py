"""Hierarchical loglinear models of contingency tables (Guo 2010, section 4.3; Bishop, Fienberg & Holland 1975).

A model is a set of generators, its highest interactions: ((0, 1), (2,)) has the interaction of the first two columns,
their main effects and that of the third. Its fitted table has the margins of every generator, and is found by scaling a
table of ones to them in turn (iterative proportional fitting), exact after one round where the model is decomposable.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import combinations
from math import log, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ppduck.frozen import frozen
from ppduck.interrupts import check_interrupt
from ppduck.libraries import optimize, sparse, stats
from ppduck.values import Array

Generators = tuple[tuple[int, ...], ...]
Cells = npt.NDArray[np.bool_]

# Where cells are empty, the parameters that can be estimated are counted as the rank of a matrix: of a
# model with more parameters it would take too long, and degrees of freedom are not told.
MOST_PARAMETERS = 3_000
# In tables of more cells it is not sought which cells the fit brings to 0.
MOST_TO_SEARCH = 20_000
# Scaling ends when the margins of the fit are this near to those of the table, as a share of all rows;
# if its rounds are used up and they are off by more than _ENOUGH, the fit is said to be unfinished.
CLOSE, _ENOUGH = 1e-10, 1e-6
_FIRST_ROUNDS, _ROUNDS = 300, 20_000


def generators_of(terms: Iterable[Collection[int]]) -> Generators:
    """The highest of some terms, the longest first."""
    sets = {frozenset(term) for term in terms}
    highest = [one for one in sets if not any(one < other for other in sets)]
    return tuple(sorted((tuple(sorted(one)) for one in highest), key=lambda one: (-len(one), one)))


def terms_of(generators: Generators) -> set[tuple[int, ...]]:
    """Every interaction and main effect of a model: all parts of its generators."""
    return {
        part
        for one in generators
        for size in range(1, len(one) + 1)
        for part in combinations(one, size)
    }


def preserved(generators: Generators, randomized: Collection[int]) -> bool:
    """Whether randomized columns leave a model as it is: none of them is in two generators (Guo 2010, Theorem 2)."""
    return all(sum(column in one for one in generators) <= 1 for column in randomized)


def fit(table: Array, generators: Generators) -> tuple[Array, float]:
    """The fitted table, and by how much of all rows one of its margins may still be off."""
    found, off, _ = fitted_and_room(table, generators)
    return found, off


def fitted_and_room(table: Array, generators: Generators) -> tuple[Array, float, Cells]:
    """The fitted table, how far off it may be, and the cells that it leaves room for.

    Zero cells can make the fit tend to zero in cells whose margins are not zero (Haberman 1974). Then the rounds do not
    come to an end; those cells are found, and the rest is fitted without them.
    """
    room = np.ones(table.shape, dtype=bool)
    for margin in margins(table, generators):
        room &= margin > 0
    found, off = _scaled(table, generators, room, _FIRST_ROUNDS)
    if off <= CLOSE:
        return found, off, room
    if table.size <= MOST_TO_SEARCH and np.any(room & (table == 0)):
        room = room & ~_left_empty(table, generators, room)
    return (*_scaled(table, generators, room, _ROUNDS), room)


def margins(table: Array, generators: Generators) -> list[Array]:
    return [
        table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in one), keepdims=True)
        for one in generators
    ]


def _scaled(table: Array, generators: Generators, room: Cells, rounds: int) -> tuple[Array, float]:
    wanted = margins(table, generators)
    n = float(table.sum())
    fitted: Array = np.where(room, n / room.sum(), 0.0)
    off = np.inf
    for _ in range(rounds):
        check_interrupt()
        fitted, off = scaled_once(fitted, wanted, generators)
        if off <= CLOSE * n:
            break
    return fitted, off / n


def scaled_once(
    fitted: Array, wanted: Sequence[Array], generators: Generators
) -> tuple[Array, float]:
    """A table scaled to each margin in turn, and by how much a margin was off."""
    off = 0.0
    for one, margin in zip(generators, wanted, strict=True):
        own = fitted.sum(
            axis=tuple(axis for axis in range(fitted.ndim) if axis not in one), keepdims=True
        )
        off = max(off, float(np.abs(own - margin).max()))
        fitted = fitted * np.divide(margin, own, out=np.zeros_like(own), where=own > 0)
    return fitted, off


def _described(shape: Sequence[int], generators: Generators, cells: npt.NDArray[np.intp]) -> Any:
    """Which margin of each generator a cell belongs to: one row a cell, one column a margin that has cells."""
    places = np.unravel_index(cells, tuple(shape))
    columns, first = [], 0
    for one in generators:
        margin = np.ravel_multi_index([places[axis] for axis in one], [shape[axis] for axis in one])
        own, dense = np.unique(margin, return_inverse=True)
        columns.append(first + dense)
        first += len(own)
    rows = np.tile(np.arange(len(cells)), len(columns))
    return sparse.csr_matrix(
        (np.ones(len(rows)), (rows, np.concatenate(columns))), shape=(len(cells), first)
    )


def _left_empty(table: Array, generators: Generators, room: Cells) -> Cells:
    """The zero cells that the likelihood drives to zero: those with (Xδ) > 0 for a δ with Xδ >= 0, and 0 where n > 0.

    One linear program finds them all: maximise Σ s over the zero cells with s <= Xδ, 0 <= s <= 1.
    """
    cells = np.flatnonzero(room)
    described = _described(table.shape, generators, cells)
    zero = table.ravel()[cells] == 0
    empty, filled = described[zero], described[~zero]
    free = described.shape[1]
    found = optimize.linprog(
        np.concatenate([np.zeros(free), -np.ones(empty.shape[0])]),
        A_ub=sparse.hstack([-empty, sparse.identity(empty.shape[0])]),
        b_ub=np.zeros(empty.shape[0]),
        A_eq=sparse.hstack([filled, sparse.csr_matrix((filled.shape[0], empty.shape[0]))]),
        b_eq=np.zeros(filled.shape[0]),
        bounds=[(None, None)] * free + [(0, 1)] * empty.shape[0],
        method="highs",
    )
    result = np.zeros(table.size, dtype=bool)
    if found.status == 0:
        result[cells[zero]] = found.x[free:] > 0.5
    return result.reshape(table.shape)


def degrees_of_freedom(room: Cells, generators: Generators) -> tuple[int, int] | None:
    """Cells less parameters, and the parameters, of the cells that a model leaves room for.

    Where that is not all of them, the parameters are the rank of what describes the rest. None where the rank would
    take too long to find.
    """
    if room.all():
        own = parameters(room.shape, generators)
        return room.size - own, own
    cells = np.flatnonzero(room)
    if any(len(one) == room.ndim for one in generators):
        return 0, len(cells)
    described = _described(room.shape, generators, cells)
    if described.shape[1] > MOST_PARAMETERS:
        return None
    rank = int(np.linalg.matrix_rank((described.T @ described).toarray(), hermitian=True))
    return len(cells) - rank, rank


def parameters(shape: Sequence[int], generators: Generators) -> int:
    """Π (d - 1) for every term, and the mean."""
    return 1 + sum(prod(shape[axis] - 1 for axis in term) for term in terms_of(generators))


@frozen
class Fit:
    """How well a model fits a table."""

    fitted: Array
    chi2: float
    g2: float
    df: int | None  # None where it would take too long to find, and so for the parameters
    parameters: int | None
    n: float
    unfinished: str = ""  # how far from the end it stopped, where it did

    @property
    def p_value(self) -> float | None:
        return self._tail(self.chi2)

    @property
    def p_value_g2(self) -> float | None:
        return self._tail(self.g2)

    def _tail(self, statistic: float) -> float | None:
        """The chance of a worse fit; 1 for a model that cannot be wrong."""
        if self.df is None:
            return None
        return float(stats.chi2.sf(statistic, self.df)) if self.df > 0 else 1.0

    @property
    def aic(self) -> float | None:
        return self._penalised(2.0)

    @property
    def bic(self) -> float | None:
        return self._penalised(log(self.n))

    def _penalised(self, price: float) -> float | None:
        """G² - price·(cells - parameters): all cells, so that models that leave different ones empty compare."""
        return (
            None
            if self.parameters is None
            else self.g2 - price * (self.fitted.size - self.parameters)
        )


def fitted_model(table: Array, generators: Generators) -> Fit:
    """A model fitted to counts, which need not be whole."""
    found, off, room = fitted_and_room(table, generators)
    df, own = degrees_of_freedom(room, generators) or (None, None)
    unfinished = f"a margin is off by {off:.1g} of the rows" if off > _ENOUGH else ""
    return Fit(found, *statistics(table, found), df, own, float(table.sum()), unfinished)


def statistics(table: Array, fitted: Array) -> tuple[float, float]:
    """χ² and G² of a table against a fitted one."""
    apart = np.divide((table - fitted) ** 2, fitted, out=np.zeros_like(fitted), where=fitted > 0)
    ratio = np.divide(table, fitted, out=np.ones_like(fitted), where=(fitted > 0) & (table > 0))
    return float(apart.sum()), max(2 * float((table * np.log(ratio)).sum()), 0.0)


def all_models(columns: int) -> list[Generators]:
    """Every hierarchical model with all main effects, the simplest first."""
    every = [one for size in range(2, columns + 1) for one in combinations(range(columns), size)]
    simplest: frozenset[tuple[int, ...]] = frozenset((axis,) for axis in range(columns))
    seen, waiting = {simplest}, [simplest]
    for model in waiting:
        for wider in _wider(model, every):
            if wider not in seen:
                seen.add(wider)
                waiting.append(wider)
    return [
        generators_of(model)
        for model in sorted(seen, key=lambda model: (len(model), sorted(model)))
    ]


def _wider(
    model: frozenset[tuple[int, ...]], every: Iterable[tuple[int, ...]]
) -> Iterator[frozenset[tuple[int, ...]]]:
    """A model with one more interaction, all parts of which it has."""
    for one in every:
        if one not in model and all(part in model for part in combinations(one, len(one) - 1)):
            yield model | {one}


def neighbours(generators: Generators, columns: int, *, forward: bool) -> list[Generators]:
    """The models with one interaction more, or one of their highest less."""
    terms = frozenset(terms_of(generators))
    if forward:
        every = [
            one for size in range(2, columns + 1) for one in combinations(range(columns), size)
        ]
        return [generators_of(model) for model in _wider(terms, every)]
    return [generators_of(terms - {one}) for one in generators if len(one) > 1]
