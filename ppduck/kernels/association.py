"""Measures of association on contingency tables (Guo 2010, Tables 3.6 and 4.1; Tan et al. 2004).

Every measure takes proportions of shape (…, r, c) and their count N, and is written without
comparisons of its argument, so that one complex step gives its gradient: ∂g/∂x = Im g(x + ih)/h.
For two binary columns level 0 is absence, level 1 presence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ppduck.values import Array

Table = npt.NDArray[np.inexact[Any]]
Measure = Callable[[Table, float], Table]
STEP = 1e-30
_AT_A_TIME = 2_000_000  # numbers: some 30 MB


def _log(x: Table) -> Table:
    """ln x, and 0 at 0, where it always stands beside a factor 0; a step from 0 has no slope to show."""
    safe = np.where(x == 0, 1.0, x)
    return np.asarray(np.log(np.where((x != 0) & (np.real(x) == 0), np.nan, safe)))


def _margins(x: Table) -> tuple[Table, Table]:
    return x.sum(axis=-1, keepdims=True), x.sum(axis=-2, keepdims=True)


def _shared(x: Table) -> Table:
    """Σ π_ij ln(π_ij / π_i+ π_+j)"""
    rows, columns = _margins(x)
    return np.asarray((x * (_log(x) - _log(rows) - _log(columns))).sum(axis=(-2, -1)))


def entropy(margin: Table) -> Table:
    return np.asarray(-(margin * _log(margin)).sum(axis=(-2, -1)))


def chi2(x: Table, n: float) -> Table:
    rows, columns = _margins(x)
    expected = rows * columns
    return np.asarray(n * ((x - expected) ** 2 / expected).sum(axis=(-2, -1)))


def g2(x: Table, n: float) -> Table:
    return np.asarray(2 * n * _shared(x))


def mutual_information(x: Table, n: float) -> Table:
    return np.asarray(_shared(x) / entropy(_margins(x)[0]))


def concentration(x: Table, n: float) -> Table:
    rows, columns = _margins(x)
    alone = (columns**2).sum(axis=(-2, -1))
    return np.asarray(((x**2 / rows).sum(axis=(-2, -1)) - alone) / (1 - alone))


def uncertainty(x: Table, n: float) -> Table:
    return np.asarray(_shared(x) / entropy(_margins(x)[1]))


def cramers_v(x: Table, n: float) -> Table:
    return np.asarray(np.sqrt(chi2(x, 1.0) / (min(x.shape[-2:]) - 1)))


class _Binary:
    """The cells and margins of a 2×2 table by the names that the formulas use."""

    def __init__(self, x: Table) -> None:
        self.p00, self.p01, self.p10, self.p11 = (
            x[..., 0, 0],
            x[..., 0, 1],
            x[..., 1, 0],
            x[..., 1, 1],
        )
        self.a0, self.a1 = self.p00 + self.p01, self.p10 + self.p11
        self.b0, self.b1 = self.p00 + self.p10, self.p01 + self.p11
        self.agree, self.by_chance = self.p00 + self.p11, self.a1 * self.b1 + self.a0 * self.b0


def _binary(formula: Callable[[_Binary, float], Table]) -> Measure:
    return lambda x, n: np.asarray(formula(_Binary(x), n))


def _j_measure(t: _Binary, n: float) -> Table:
    return np.asarray(
        t.p11 * (_log(t.p11) - _log(t.a1) - _log(t.b1))
        + t.p10 * (_log(t.p10) - _log(t.a1) - _log(t.b0))
    )


ANY_SIZE: Mapping[str, Measure] = {
    "chi2": chi2,
    "g2": g2,
    "mutual_information": mutual_information,
    "concentration": concentration,
    "uncertainty": uncertainty,
    "cramers_v": cramers_v,
}
# Numerators and denominators; j_measure is no ratio.
RATIOS: Mapping[str, tuple[Measure, Measure]] = {
    name: (_binary(above), _binary(below))
    for name, above, below in [
        (
            "phi",
            lambda t, n: t.p11 * t.p00 - t.p01 * t.p10,
            lambda t, n: np.sqrt(t.a1 * t.b1 * t.a0 * t.b0),
        ),
        ("odds_ratio", lambda t, n: t.p11 * t.p00, lambda t, n: t.p10 * t.p01),
        ("jaccard", lambda t, n: t.p11, lambda t, n: t.a1 + t.b1 - t.p11),
        (
            "standardized_residual",
            lambda t, n: np.sqrt(n) * (t.p11 - t.a1 * t.b1),
            lambda t, n: np.sqrt(t.a1 * t.b1),
        ),
        ("risk_difference", lambda t, n: t.p00 * t.b1 - t.p01 * t.b0, lambda t, n: t.b0 * t.b1),
        ("kappa", lambda t, n: t.agree - t.by_chance, lambda t, n: 1 - t.by_chance),
        (
            "collective_strength",
            lambda t, n: t.agree * (1 - t.by_chance),
            lambda t, n: t.by_chance * (1 - t.agree),
        ),
        ("cosine", lambda t, n: t.p11, lambda t, n: np.sqrt(t.a1 * t.b1)),
        ("interest", lambda t, n: t.p11, lambda t, n: t.a1 * t.b1),
        ("piatetsky_shapiro", lambda t, n: t.p11 - t.a1 * t.b1, lambda t, n: np.ones_like(t.p11)),
        ("conviction", lambda t, n: t.a1 * t.b0, lambda t, n: t.p10),
        ("certainty", lambda t, n: t.p11 - t.a1 * t.b1, lambda t, n: t.a1 * t.b0),
        ("added_value", lambda t, n: t.p11 - t.a1 * t.b1, lambda t, n: t.a1),
        ("laplace", lambda t, n: n * t.p11 + 1, lambda t, n: n * t.a1 + 2),
    ]
}


def _quotient(above: Measure, below: Measure) -> Measure:
    return lambda x, n: np.asarray(above(x, n) / below(x, n))


_QUOTIENTS = {name: _quotient(*parts) for name, parts in RATIOS.items()}
_ORDER = ("phi", "odds_ratio", "jaccard", "j_measure")
TWO_BY_TWO: Mapping[str, Measure] = {
    **{name: _QUOTIENTS.get(name, _binary(_j_measure)) for name in _ORDER},
    **{name: measure for name, measure in _QUOTIENTS.items() if name not in _ORDER},
}


def measures_for(shape: tuple[int, ...]) -> dict[str, Measure]:
    """Which measures a table of this shape has; beyond two columns only tests of mutual independence."""
    if len(shape) > 2:
        return {
            "chi2": _mutual(len(shape), likelihood=False),
            "g2": _mutual(len(shape), likelihood=True),
        }
    return {**ANY_SIZE, **TWO_BY_TWO} if shape == (2, 2) else dict(ANY_SIZE)


def _mutual(axes: int, *, likelihood: bool) -> Measure:
    """χ² (3.6) or G² of k columns against the product of their margins."""
    last = tuple(range(-axes, 0))

    def measure(x: Table, n: float) -> Table:
        expected: Table = np.ones((1,) * axes)
        for axis in last:
            expected = expected * x.sum(
                axis=tuple(other for other in last if other != axis), keepdims=True
            )
        if likelihood:
            return np.asarray(2 * n * (x * (_log(x) - _log(expected))).sum(axis=last))
        return np.asarray(n * ((x - expected) ** 2 / expected).sum(axis=last))

    return measure


def value(measure: Measure, table: Array, n: float) -> float:
    """A measure of one table; infinite or NaN where its formula divides by zero."""
    with np.errstate(all="ignore"):
        return float(np.real(measure(table, n)))


def gradient(measure: Measure, table: Array, n: float) -> Array:
    """∂g/∂π cell by cell in C order, exact to rounding; NaN where a formula has no derivative.

    Every cell takes a table of its own, so that only some are stepped at a time.
    """
    cells = table.size
    some = max(_AT_A_TIME // cells, 1)
    found = []
    for first in range(0, cells, some):
        stepped = table.ravel() + 1j * STEP * np.eye(min(some, cells - first), cells, first)
        with np.errstate(all="ignore"):
            found.append(np.imag(measure(stepped.reshape(-1, *table.shape), n)) / STEP)
    return np.concatenate(found)
