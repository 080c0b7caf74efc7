"""Ranges of association measures of a table that was estimated through randomization.

A plain g(π̂) ± z·se covers too little where a divisor is uncertain or g has no slope. So:

- A ratio g = A/B has Fieller's range (1954): all θ with (A − θB)² ≤ z² var(A − θB), taken on the unbiased
  estimates, whose cells may be negative. It may have no end on one side, where B may be 0.
- The odds ratio, a ratio of products, has its range on the log scale, ln g ± z·se/g, where every cell is far from 0.
  Where one is not, the range also holds Fieller's, with the variances of products in full: var(xy) has a term
  var x var y that no slope shows, and cov(x, y) is what xy is too high by.
- χ² and its kin are about eᵀGe near independence, e = π̂ − π: they come out too high by b = tr(GΣ), and their
  variance is d = 2 tr((GΣ)²) there and κ·g beyond. The range holds all θ with
  (ĝ − b − θ)² ≤ z² (d + κθ), κ = ∇gᵀΣ∇g/ĝ, a score interval such as Wilson's. Cramér's V has the root of that of V².

All of it takes tables of shape (draws, …), so that coverage can be simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from ppduck.frozen import frozen
from ppduck.kernels import association
from ppduck.kernels.association import Measure, Table
from ppduck.values import Array

BORDER = "a cell of the unbiased table is not above 0, where this measure has no slope"
UNDEFINED = "at the unbiased table its formula divides by 0, or has the root of a number below 0"
FEW = "a cell of the published table has fewer than 5 rows, too few for the normal law"

# What values a measure can have; residuals, χ² and G² know no upper limit.
_DOMAINS: Mapping[str, tuple[float, float]] = {
    **dict.fromkeys(("odds_ratio", "interest", "conviction", "collective_strength"), (0.0, np.inf)),
    **dict.fromkeys(
        ("jaccard", "cosine", "laplace", "cramers_v", "mutual_information", "uncertainty"),
        (0.0, 1.0),
    ),
    **dict.fromkeys(("chi2", "g2", "j_measure"), (0.0, np.inf)),
    **dict.fromkeys(("phi", "kappa", "risk_difference", "added_value"), (-1.0, 1.0)),
    "concentration": (0.0, 1.0),
    "piatetsky_shapiro": (-0.25, 0.25),
    "certainty": (-np.inf, 1.0),
    "standardized_residual": (-np.inf, np.inf),
}
_AT_INDEPENDENCE = 1e-6
# Of two binary columns each cell needs so many published rows for the normal law to hold; in larger
# tables one small cell weighs little.
_FEWEST = 5
# An odds ratio whose cells all lie so many standard errors above 0 has the range of its logarithm; else
# cells might be 0, and that range is joined with one that allows for it.
_CLEAR = 5
_WITH_LOGARITHMS = ("g2", "mutual_information", "uncertainty", "j_measure")


@frozen
class Ranges:
    """A range for each table; NaN where there is none, and then why."""

    lower: Array
    upper: Array
    why: npt.NDArray[np.object_]  # str, or None where there is a range


def ranges(
    name: str,
    tables: Array,
    covariances: Array,
    n: float,
    reach: float,
    fewest: Array | None = None,
) -> Ranges:
    """The range of a measure from unbiased tables (draws, …) and the covariances of their cells (draws, k, k).

    ``fewest`` is how many rows the smallest cell of each published table has; not said where nothing is left to chance.
    """
    shape = tables.shape[1:]
    with np.errstate(all="ignore"):
        if name == "odds_ratio":
            found = _of_odds_ratio(tables, covariances, n, reach)
        elif shape == (2, 2) and name in association.RATIOS:
            found = _fieller(name, tables, covariances, n, reach)
        else:
            found = _score(name, tables, covariances, n, reach)
        least, most = _DOMAINS[name]
        if name == "chi2" and len(shape) == 2:
            most = n * (min(shape) - 1)
        if fewest is not None and shape == (2, 2):
            found = _unless(np.asarray(fewest < _FEWEST), FEW, found)
        return _inside(found, least, most)


def _inside(found: Ranges, least: float, most: float) -> Ranges:
    """Held to what the measure can be. Where the rows allow every value, that is all there is to say."""
    return Ranges(np.clip(found.lower, least, most), np.clip(found.upper, least, most), found.why)


def _reasons(missing: npt.NDArray[np.bool_], why: str) -> npt.NDArray[np.object_]:
    found = np.full(missing.shape, None, dtype=object)
    found[missing] = why
    return found


def _unless(missing: npt.NDArray[np.bool_], why: str, found: Ranges) -> Ranges:
    lower, upper = (np.where(missing, np.nan, end) for end in (found.lower, found.upper))
    return Ranges(lower, upper, np.where(missing, why, found.why))


def _slopes(measure: Measure, tables: Array, n: float) -> Array:
    cells = tables[0].size
    step = association.STEP * 1j * np.eye(cells).reshape(cells, *tables.shape[1:])
    return np.asarray(np.imag(measure(tables[:, None] + step, n)) / association.STEP)


def _product(left: Array, covariances: Array, right: Array) -> Array:
    return np.asarray(np.einsum("bi,bij,bj->b", left, covariances, right))


def _of_odds_ratio(tables: Array, covariances: Array, n: float, reach: float) -> Ranges:
    cells = tables.reshape(len(tables), -1)
    measure = association.TWO_BY_TWO["odds_ratio"]
    value, slope = np.real(measure(tables, n)), _slopes(measure, tables, n)
    width = reach * np.sqrt(np.maximum(_product(slope, covariances, slope), 0.0)) / value
    positive = np.all(cells > 0, axis=1)
    lower, upper = (np.where(positive, value * np.exp(sign * width), np.nan) for sign in (-1, 1))
    clear = np.all(
        cells > _CLEAR * np.sqrt(np.maximum(np.einsum("bii->bi", covariances), 0.0)), axis=1
    )
    found = _of_products(cells, covariances, reach)
    # fmin and fmax leave out the end that is NaN.
    lower, upper = (
        np.where(clear, end, joined)
        for end, joined in (
            (lower, np.fmin(lower, found.lower)),
            (upper, np.fmax(upper, found.upper)),
        )
    )
    missing = np.isnan(lower) | np.isnan(upper)
    lower, upper = (np.where(missing, np.nan, end) for end in (lower, upper))
    return Ranges(lower, upper, _reasons(missing, UNDEFINED))


def _of_products(cells: Array, covariances: Array, reach: float) -> Ranges:
    """Fieller's range of π11 π00 / (π10 π01)."""
    factors = ((0, 3), (1, 2))
    above, below = (cells[:, i] * cells[:, j] - covariances[:, i, j] for i, j in factors)
    slopes = []
    for i, j in factors:
        slope = np.zeros_like(cells)
        slope[:, i], slope[:, j] = cells[:, j], cells[:, i]
        slopes.append(slope)

    def shared(one: int, other: int) -> Array:
        """The covariance of two products. Its second-order term counts four times, which simulation asks for: where it
        matters, slopes are estimated badly and products have heavy tails."""
        (i, j), (k, m) = factors[one], factors[other]
        second = (
            covariances[:, i, k] * covariances[:, j, m]
            + covariances[:, i, m] * covariances[:, j, k]
        )
        return _product(slopes[one], covariances, slopes[other]) + 4 * second

    return _quotient("odds_ratio", above, below, (shared(0, 0), shared(0, 1), shared(1, 1)), reach)


def _fieller(name: str, tables: Array, covariances: Array, n: float, reach: float) -> Ranges:
    above, below = association.RATIOS[name]
    a, b = np.real(above(tables, n)), np.real(below(tables, n))
    of_a, of_b = _slopes(above, tables, n), _slopes(below, tables, n)
    pairs = ((of_a, of_a), (of_a, of_b), (of_b, of_b))
    var_a, both, var_b = (_product(one, covariances, other) for one, other in pairs)
    return _quotient(name, a, b, (var_a, both, var_b), reach)


def _quotient(
    name: str, a: Array, b: Array, spread: tuple[Array, Array, Array], reach: float
) -> Ranges:
    """θ = A/B + δ with δ²(B² − z² var B) + 2 z² δ cov(A − θ̂B, B) ≤ z² var(A − θ̂B).

    ``spread`` is var A, cov(A, B), var B.
    """
    of_a, both, of_b = spread
    ratio = a / b
    z2 = reach**2
    square = b**2 - z2 * of_b
    linear = z2 * (both - ratio * of_b)
    constant = z2 * np.maximum(of_a - 2 * ratio * both + ratio**2 * of_b, 0.0)
    root = np.sqrt(linear**2 + constant * square)  # NaN where no θ is excluded
    one, other = (-linear - root) / square, (-linear + root) / square
    first, last = ratio + np.minimum(one, other), ratio + np.maximum(one, other)
    least, most = _DOMAINS[name]
    # B may be 0: all θ but those between the two, which begin below what the measure can be, or end above it.
    upwards, downwards = first < least, last > most
    bounded = square > 0
    lower = np.where(bounded, first, np.where(upwards & ~downwards, last, -np.inf))
    upper = np.where(bounded, last, np.where(downwards & ~upwards, first, np.inf))
    missing = ~np.isfinite(ratio) | ~np.isfinite(square) | ~np.isfinite(linear)
    lower, upper = (np.where(missing, np.nan, end) for end in (lower, upper))
    return Ranges(lower, upper, _reasons(missing, UNDEFINED))


def _score(name: str, tables: Array, covariances: Array, n: float, reach: float) -> Ranges:
    shape, draws = tables.shape[1:], len(tables)
    squared = name == "cramers_v"
    measure: Measure = _v_squared if squared else association.measures_for(shape)[name]
    value, slope = np.real(measure(tables, n)), _slopes(measure, tables, n)
    tangent, weight = _near_independence(name, tables, n)
    spread = tangent @ covariances @ np.swapaxes(tangent, 1, 2) * weight.reshape(draws, -1, 1)
    bias, floor = np.trace(spread, axis1=1, axis2=2), 2 * np.einsum("bij,bji->b", spread, spread)
    growth = np.maximum(_product(slope, covariances, slope), 0.0) / value
    # At independence κ is 0/0. Over all directions in which a table can come near it, κ is
    # 4 tr((GΣ)²)/tr(GΣ) on average, which is 2 d/b.
    growth = np.where(
        value > _AT_INDEPENDENCE * bias, growth, np.where(bias > 0, 2 * floor / bias, 0.0)
    )
    half = value - bias + reach**2 * growth / 2
    root = np.sqrt(np.maximum(half**2 - (value - bias) ** 2 + reach**2 * floor, 0.0))
    lower, upper = np.maximum(half - root, 0.0), np.maximum(half + root, 0.0)
    if squared:
        lower, upper = np.sqrt(lower), np.sqrt(upper)
    logarithms = name in _WITH_LOGARITHMS
    border = logarithms & ~np.all(tables.reshape(draws, -1) > 0, axis=1)
    missing = border | ~np.isfinite(lower) | ~np.isfinite(upper)
    lower, upper = (np.where(missing, np.nan, end) for end in (lower, upper))
    why = _reasons(missing, UNDEFINED)
    why[border] = BORDER
    return Ranges(lower, upper, why)


def _v_squared(x: Table, n: float) -> Table:
    return np.asarray(association.chi2(x, 1.0) / (min(x.shape[-2:]) - 1))


def _near_independence(name: str, tables: Array, n: float) -> tuple[Array, Array]:
    """M and w: near independence a measure is Σ w (Me)², Me being the deviation from the product of the margins."""
    axes = tuple(range(1, tables.ndim))
    margins = [
        tables.sum(axis=tuple(other for other in axes if other != axis), keepdims=True)
        for axis in axes
    ]
    product: Array = np.ones(1)
    for margin in margins:
        product = product * margin
    cells = tables[0].size
    unit = np.eye(cells).reshape(1, cells, *tables.shape[1:])
    off: Array = unit
    for axis, margin in zip(axes, margins, strict=True):
        others = tuple(other + 1 for other in axes if other != axis)
        off = off - (product / margin)[:, None] * unit.sum(axis=others, keepdims=True)
    tangent = np.swapaxes(off.reshape(len(tables), cells, cells), 1, 2)
    return tangent, _WEIGHTS[name](tables, product, n)


def _of_information(
    scale: Callable[[Array, float], Array],
) -> Callable[[Array, Array, float], Array]:
    """Σ π ln(π/π₀) is half of Σ (π − π₀)²/π₀ near independence."""
    return lambda x, product, n: np.asarray(scale(x, n) / (2 * product))


def _entropy(axis: int) -> Callable[[Array, float], Array]:
    return lambda x, n: np.real(1 / association.entropy(x.sum(axis=axis, keepdims=True)))[
        :, None, None
    ]


def _only_presence(x: Array, product: Array, n: float) -> Array:
    return np.asarray(np.array([[0.0], [1.0]]) / (2 * product))


def _of_concentration(x: Array, product: Array, n: float) -> Array:
    alone = (x.sum(axis=-2) ** 2).sum(axis=-1)[:, None, None]
    return np.broadcast_to(1 / (x.sum(axis=-1, keepdims=True) * (1 - alone)), x.shape)


_WEIGHTS: Mapping[str, Callable[[Array, Array, float], Array]] = {
    "chi2": lambda x, product, n: np.asarray(n / product),
    "g2": _of_information(lambda x, n: np.asarray(2 * n)),
    "mutual_information": _of_information(_entropy(-1)),
    "uncertainty": _of_information(_entropy(-2)),
    "concentration": _of_concentration,
    "cramers_v": lambda x, product, n: np.asarray(1 / (product * (min(x.shape[-2:]) - 1))),
    "j_measure": _only_presence,
}
