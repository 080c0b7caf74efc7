"""Hierarchical loglinear models of contingency tables (Guo 2010, section 4.3; Bishop, Fienberg & Holland 1975).

A model is a set of generators, its highest interactions: ((0, 1), (2,)) has the interaction of the first two columns,
their main effects and that of the third. Its fitted table has the margins of every generator, and is found by scaling a
table of ones to them in turn (iterative proportional fitting), exact after one round where the model is decomposable.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log, prod

import numpy as np
from scipy.sparse import csr_matrix
from scipy.stats import chi2 as chi2_law

from ppduck.values import Array

Generators = tuple[tuple[int, ...], ...]

MOST_PARAMETERS = 3_000  # of which the rank is found, where margins are empty
_CLOSE = 1e-10  # by which margins may differ, as a share of all rows
_ROUNDS = 20_000


def generators_of(terms: Iterable[Collection[int]]) -> Generators:
    """The highest of some terms, the longest first."""
    sets = {frozenset(term) for term in terms}
    highest = [one for one in sets if not any(one < other for other in sets)]
    return tuple(sorted((tuple(sorted(one)) for one in highest), key=lambda one: (-len(one), one)))


def terms_of(generators: Generators) -> set[tuple[int, ...]]:
    """Every interaction and main effect of a model: all parts of its generators."""
    return {part for one in generators for size in range(1, len(one) + 1) for part in combinations(one, size)}


def preserved(generators: Generators, randomized: Collection[int]) -> bool:
    """Whether randomized columns leave a model as it is: none of them is in two generators (Theorem 2)."""
    return all(sum(column in one for one in generators) <= 1 for column in randomized)


def fit(table: Array, generators: Generators) -> tuple[Array, float]:
    """The fitted table, and by how much of all rows one of its margins may still be off."""
    axes = [tuple(axis for axis in range(table.ndim) if axis not in one) for one in generators]
    wanted = [table.sum(axis=others, keepdims=True) for others in axes]
    n = float(table.sum())
    fitted: Array = np.full(table.shape, n / table.size)
    off = np.inf
    for _ in range(_ROUNDS):
        off = 0.0
        for others, margin in zip(axes, wanted, strict=True):
            own = fitted.sum(axis=others, keepdims=True)
            off = max(off, float(np.abs(own - margin).max()))
            fitted = fitted * np.divide(margin, own, out=np.zeros_like(own), where=own > 0)
        if off <= _CLOSE * n:
            break
    return fitted, off / n


def degrees_of_freedom(table: Array, generators: Generators) -> tuple[int, int] | None:
    """Cells less parameters, and the parameters.

    Where a margin is empty, those are the cells that may be filled, less the rank of what describes them. None where
    the rank would take too long to find.
    """
    margins = [
        table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in one), keepdims=True)
        for one in generators
    ]
    if all(float(margin.min()) > 0 for margin in margins):
        own = parameters(table.shape, generators)
        return table.size - own, own
    if any(len(one) == table.ndim for one in generators):
        return 0, int((table > 0).sum())
    filled = np.ones(table.shape, dtype=bool)
    for margin in margins:
        filled &= margin > 0
    cells = np.flatnonzero(filled)
    columns, first = [], 0
    for one, margin in zip(generators, margins, strict=True):
        places = np.unravel_index(cells, table.shape)
        margin_cells = np.ravel_multi_index([places[axis] for axis in one], [table.shape[axis] for axis in one])
        _, dense = np.unique(margin_cells, return_inverse=True)
        columns.append(first + dense)
        first += int((margin > 0).sum())
    if first > MOST_PARAMETERS:
        return None
    rows = np.tile(np.arange(len(cells)), len(columns))
    described = csr_matrix((np.ones(len(rows)), (rows, np.concatenate(columns))), shape=(len(cells), first))
    gram = (described.T @ described).toarray()
    rank = int(np.linalg.matrix_rank(gram, hermitian=True))
    return len(cells) - rank, rank


def parameters(shape: Sequence[int], generators: Generators) -> int:
    """Π (d - 1) for every term, and the mean."""
    return 1 + sum(prod(shape[axis] - 1 for axis in term) for term in terms_of(generators))


@dataclass(frozen=True)
class Fit:
    """How well a model fits a table."""

    fitted: Array
    chi2: float
    g2: float
    df: int | None  # None where it would take too long to find, and so for the parameters
    parameters: int | None
    n: float
    off: float  # by which share of the rows a margin may still be off

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
        return float(chi2_law.sf(statistic, self.df)) if self.df > 0 else 1.0

    @property
    def aic(self) -> float | None:
        return self._penalised(2.0)

    @property
    def bic(self) -> float | None:
        return self._penalised(log(self.n))

    def _penalised(self, price: float) -> float | None:
        """G² - price·(cells - parameters): all cells, so that models that leave different ones empty compare."""
        return None if self.parameters is None else self.g2 - price * (self.fitted.size - self.parameters)


def fitted_model(table: Array, generators: Generators) -> Fit:
    """A model fitted to counts, which need not be whole."""
    found, off = fit(table, generators)
    df, own = degrees_of_freedom(table, generators) or (None, None)
    return Fit(found, *statistics(table, found), df, own, float(table.sum()), off)


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
    return [generators_of(model) for model in sorted(seen, key=lambda model: (len(model), sorted(model)))]


def _wider(model: frozenset[tuple[int, ...]], every: Iterable[tuple[int, ...]]) -> Iterator[frozenset[tuple[int, ...]]]:
    """A model with one more interaction, all parts of which it has."""
    for one in every:
        if one not in model and all(part in model for part in combinations(one, len(one) - 1)):
            yield model | {one}


def neighbours(generators: Generators, columns: int, *, forward: bool) -> list[Generators]:
    """The models with one interaction more, or one of their highest less."""
    terms = frozenset(terms_of(generators))
    if forward:
        every = [one for size in range(2, columns + 1) for one in combinations(range(columns), size)]
        return [generators_of(model) for model in _wider(terms, every)]
    return [generators_of(terms - {one}) for one in generators if len(one) > 1]
