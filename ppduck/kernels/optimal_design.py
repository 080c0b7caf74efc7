"""The keep probabilities that cost least accuracy under a limit on attribute disclosure (Guo 2010, Problem 1).

Minimise Σ ln ‖P_i⁻¹‖²_F, ‖P_i⁻¹‖²_F = (d - 1)³/(d p - 1)² + 1 (Guo 2010, Result 16 and Lemma 5), with
p_i in (1/d_i, 1] and the risk of every cell (Guo 2010, formula 5.6) at most its limit. Sequential
quadratic programming with exact gradients on the cells that matter: it starts with the worst, and takes
in those that a solution violates until there are none.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ppduck.frozen import frozen
from ppduck.interrupts import check_interrupt
from ppduck.kernels.disclosure import Population
from ppduck.kernels.distortion import uniform
from ppduck.libraries import optimize
from ppduck.values import Array

Chosen = npt.NDArray[np.bool_]
_STARTS = 8
_FIRST, _MORE, _ROUNDS = 40, 40, 60
# How near p may come to 1/d, as a share of the way from 1 to there: at 1/d itself P has no inverse.
_NEAR = 1e-4
_VIOLATED = 1e-9
_BISECTIONS = 80
_ROUNDING = 1e-12
_ONE = 1e-8  # a p this near to 1 is made 1, so that the column is not randomized at all
TOLERANCE = 1e-6


def cost(ps: Array, sizes: Array) -> float:
    """Σ ln ‖P_i⁻¹‖²_F"""
    return float(np.log((sizes - 1) ** 3 / (sizes * ps - 1) ** 2 + 1).sum())


def cost_slope(ps: Array, sizes: Array) -> Array:
    part = (sizes - 1) ** 3 / (sizes * ps - 1) ** 2
    return np.asarray(-2 * sizes * part / ((sizes * ps - 1) * (part + 1)))


@frozen
class Problem:
    """Which columns may be randomized (quasi-identifiers first, then sensitive ones), and the limit of every cell."""

    population: Population
    free: tuple[bool, ...]
    limits: tuple[Array, ...]  # one for each sensitive attribute, one number a cell

    @cached_property
    def sizes(self) -> Array:
        return np.array(
            [*self.population.shape, *(own.size for own in self.population.sensitive)], dtype=float
        )

    @property
    def _qi(self) -> int:
        return len(self.population.shape)

    @cached_property
    def wanted(self) -> list[int]:
        return [i for i, free in enumerate(self.free) if free]

    @cached_property
    def floor(self) -> Array:
        return 1.0 / self.sizes[self.wanted]

    @cached_property
    def log_limits(self) -> Array:
        return np.log(np.concatenate(self.limits))

    @cached_property
    def weights(self) -> list[Array]:
        """Rows of every cell, as shares of all rows, sensitive attribute by sensitive attribute."""
        return [own.count / self.population.n for own in self.population.sensitive]

    def every(self, x: Array) -> Array:
        """The p of all columns from those that may be chosen."""
        ps = np.ones(len(self.free))
        ps[self.wanted] = x
        return ps

    def cost(self, x: Array) -> float:
        return cost(self.every(x), self.sizes)

    def risks(self, x: Array) -> list[Array]:
        """(5.6) of all cells, sensitive attribute by sensitive attribute."""
        check_interrupt()
        ps = self.every(x)
        eta = self.population.reconstruction(
            [uniform(p, d) for p, d in zip(ps, self.population.shape, strict=False)]
        )
        found = []
        for which, own in enumerate(self.population.sensitive):
            share, back = self.population.within(which, uniform(ps[self._qi + which], own.size))
            found.append(share * back * eta[own.group])
        return found

    def excess(self, x: Array) -> Array:
        """ln risk - ln limit of all cells."""
        return np.asarray(np.log(np.concatenate(self.risks(x))) - self.log_limits)

    def excess_slopes(self, x: Array) -> Array:
        """∂ ln risk/∂p, one row a cell."""
        ps = self.every(x)
        population, qi = self.population, self._qi
        eta = population.reconstruction(
            [uniform(p, d) for p, d in zip(ps, population.shape, strict=False)]
        )
        of_qi = [i for i in self.wanted if i < qi]
        slopes = dict(
            zip(of_qi, population.reconstruction_slopes(list(ps[:qi]), of_qi), strict=True)
        )
        blocks = []
        for which, own in enumerate(population.sensitive):
            block = np.zeros((len(own.count), len(self.wanted)))
            for place, i in enumerate(self.wanted):
                if i < qi:
                    block[:, place] = (slopes[i] / eta)[own.group]
                elif i == qi + which:
                    back = population.within(which, uniform(ps[i], own.size))[1]
                    block[:, place] = population.within_slope(which, ps[i]) / back
            blocks.append(block)
        return np.vstack(blocks)

    def least(self) -> Array:
        """ln of the least risk that can be reached, less ln limit, of all cells (Guo 2010, Property 1)."""
        found = [
            self.population.minimum(
                which, qi=self.free[: self._qi], sensitive=self.free[self._qi + which]
            )
            for which in range(len(self.population.sensitive))
        ]
        return np.asarray(np.log(np.concatenate(found)) - self.log_limits)


@frozen
class Optimum:
    ps: Array  # of all columns
    objective: float
    risks: list[Array]


class InfeasibleError(Exception):
    """No p meets the limits; the worst cell by its place among all cells."""

    def __init__(self, cell: int, least: float) -> None:
        super().__init__(f"cell {cell} has a risk of {least:.4g} at least")
        self.cell, self.least = cell, least


def optimum(problem: Problem, spared: float = 0.0) -> Optimum:
    """The cheapest p, where cells with at most a share ``spared`` of the rows may exceed their limits.

    Which cells to spare is a choice among very many. Those with the highest risk are spared: by the least that can be
    reached, which finds a solution where there is one, and by the risks of each solution anew while that makes the next
    one cheaper. It is a good choice, not always the best.
    """
    least = problem.least()
    held = _held(problem, least, spared)
    if np.any(held & (least > -_VIOLATED)):
        worst = int(np.argmax(np.where(held, least, -np.inf)))
        raise InfeasibleError(worst, float(np.exp(least[worst] + problem.log_limits[worst])))
    best = _solved(problem, held)
    for _ in range(_ROUNDS if spared > 0 else 0):
        held = _held(problem, problem.excess(best), spared)
        if np.any(held & (least > -_VIOLATED)):
            break
        found = _solved(problem, held)
        if problem.cost(found) >= problem.cost(best) - _VIOLATED:
            break
        best = found
    return Optimum(problem.every(best), problem.cost(best), problem.risks(best))


def _held(problem: Problem, excess: Array, spared: float) -> Chosen:
    """All cells but those of highest excess that have no more than the spared share of rows, attribute by attribute."""
    held, first = np.ones(len(excess), dtype=bool), 0
    for weights in problem.weights:
        own = excess[first : first + len(weights)]
        order = np.argsort(-own, kind="stable")
        left = spared + _ROUNDING
        for cell in order if spared > 0 else ():
            if weights[cell] <= left:
                left -= weights[cell]
                held[first + cell] = False
        first += len(own)
    return held


def _solved(problem: Problem, held: Chosen) -> Array:
    """The best of several starts, within the limits of the cells that are held to them (to 1e-8)."""
    best: Array | None = None
    for start in _starts(len(problem.floor)):
        found = _from(problem, held, _within(problem, held, start))
        if best is None or problem.cost(found) < problem.cost(best):
            best = found
    assert best is not None
    return best


def _starts(columns: int) -> list[Array]:
    """Directions in which all p go from 1 to 1/d: together, each before the others, and at random."""
    rng = np.random.default_rng(20_100)
    alone = [
        np.where(np.arange(columns) == i, 4.0, 1.0) for i in range(columns if columns > 1 else 0)
    ]
    return [np.ones(columns), *alone, *rng.uniform(0.2, 3.0, (_STARTS, columns))][: 1 + _STARTS]


def _within(problem: Problem, held: Chosen, toward: Array) -> Array:
    """The first point on the way from 1 to 1/d that is within all limits."""

    def at(t: float) -> Array:
        return np.asarray(
            problem.floor + (1 - problem.floor) * np.maximum((1 - t) ** toward, _NEAR)
        )

    return _first(problem, held, at)


def _first(problem: Problem, held: Chosen, at: Callable[[float], Array]) -> Array:
    """The point at(t) of the least t in [0, 1] that is within all limits, by bisection; risks fall with t."""
    if float(np.max(problem.excess(at(0.0))[held], initial=-np.inf)) <= 0:
        return np.asarray(at(0.0))
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if float(np.max(problem.excess(at(middle))[held], initial=-np.inf)) <= 0:
            high = middle
        else:
            low = middle
    return np.asarray(at(high))


def _from(problem: Problem, held: Chosen, start: Array) -> Array:
    """The optimum that is reached from a start."""
    sizes = problem.sizes[problem.wanted]
    low = problem.floor + _NEAR * (1 - problem.floor)
    bounds = list(zip(low, np.ones(len(low)), strict=True))
    places = np.flatnonzero(held)
    if not len(places):
        return np.ones(len(low))
    watched = places[np.argsort(-problem.excess(start)[places])[:_FIRST]]
    x = start
    for _ in range(_ROUNDS):
        watching = watched
        found = optimize.minimize(
            cost, x, args=(sizes,), jac=cost_slope, bounds=bounds, method="SLSQP",
            constraints={
                "type": "ineq",
                "fun": lambda x, of=watching: -problem.excess(x)[of],
                "jac": lambda x, of=watching: -problem.excess_slopes(x)[of],
            },
            options={"ftol": 1e-12, "maxiter": 200},
        )  # fmt: skip
        x = np.clip(found.x, low, 1.0)
        excess = problem.excess(x)
        new = np.setdiff1d(places[excess[places] > _VIOLATED], watched)
        if not len(new):
            break
        watched = np.concatenate([watched, new[np.argsort(-excess[new])[:_MORE]]])
    # A hair outside is brought inside, so that limits are met and not nearly met; a hair below 1 is 1.
    inside = _first(
        problem, held, lambda t: problem.floor + (x - problem.floor) * max(1 - t, _NEAR)
    )
    return np.where(inside > 1 - _ONE, 1.0, inside)


def beyond(problem: Problem, found: Optimum) -> list[float]:
    """Of each sensitive attribute, the share of rows whose risk is more than a millionth above its limit."""
    return [
        float(weights[risks > limits + TOLERANCE].sum())
        for risks, limits, weights in zip(found.risks, problem.limits, problem.weights, strict=True)
    ]
