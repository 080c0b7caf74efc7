"""The assumptions under NM-EGADP, looked for in the residuals r = x - u of a fit u of E(X|S).

Al-Ahmadi (2006), Section IV.2: the mapping from S to X is single-valued, what is left among the
residuals is no pattern or a linear one, and the residuals' variance is constant. The source judges
all three by scatter plots; these are tests for the same, so that they can run without eyes.

With many rows any trifle is significant, so each check asks for two things: a p-value below
``LEVEL`` and an effect large enough to harm a masked table.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt

from ppduck.frozen import frozen
from ppduck.kernels.relation_kinds import line, orthonormal
from ppduck.libraries import spatial, stats
from ppduck.values import Array

Rows = npt.NDArray[np.intp]

LEVEL = 0.01
# Least shares that harm: of the variance of r² explained by S and u, of a residual's variance
# explained by a curve of another, and of rows in a second hump (heaps at round numbers stay below that).
SPREAD, PATTERN, HUMP = 0.02, 0.05, 0.05
# A pair of residuals is looked at both ways, the second over the first and the first over the second.
# Residuals that are not normal show a slight curve one way where there is only a line; a curve that
# explains more than this share of the variance is more than that, and one way is enough.
STRONG = 0.12
WAVES = 8
# Residuals whose size beside that of x is below this are wiggles of the fit, too small to matter.
NO_RESIDUAL = 0.01
FEWEST = 20
# Rows for the searches for patterns and humps: enough for effects that matter. Rows come in random order.
ROWS = 2000


@frozen
class Check:
    """What one assumption looks like in the data; ``columns`` are indices of confidential columns."""

    name: str
    columns: tuple[int, ...]
    statistic: float
    p_value: float | None
    suspected: bool
    text: str


def check(s: Array, u: Array, r: Array) -> list[Check]:
    """Every check of S (n, d), fitted values u (n, q) and residuals r (n, q)."""
    return constant_variance(s, u, r) + simple_patterns(r) + single_valued(s, u, r)


def constant_variance(s: Array, u: Array, r: Array) -> list[Check]:
    """Is the spread of r the same everywhere? n R² of r² on [1, z, z²], z the ranks of S and u, against χ².

    The test of Breusch & Pagan (1979) as studentised by Koenker (1981), which needs no normal
    residuals. The squares see a spread that grows both ways from the middle; ranks in place of values
    keep a long tail of S from deciding alone.
    """
    return [_spread_check(s, u[:, j], r[:, j], j) for j in range(r.shape[1])]


def _spread_check(s: Array, u: Array, r: Array, column: int) -> Check:
    name, n = "constant variance", len(r)
    if n < FEWEST or not _left(r, u):
        return _untested(name, (column,))
    total, freedom = breusch_pagan(np.column_stack([s, u]), r)
    if freedom == 0 or n < FEWEST + freedom:
        return _untested(name, (column,))
    # Under constant variance R² is freedom / n on average: that much is no effect.
    return _judged(
        name,
        (column,),
        "Breusch-Pagan",
        total,
        stats.chi2.sf(total, freedom),
        (total - freedom) / n,
        SPREAD,
    )


def breusch_pagan(columns: Array, r: Array) -> tuple[float, int]:
    """n R² of r² on the ranks of the columns and their squares, and its degrees of freedom."""
    z = 2 * (stats.rankdata(columns, axis=0) - 0.5) / len(r) - 1
    basis = orthonormal(np.column_stack([z, z**2]))
    squares = r**2 - np.mean(r**2)
    total = float(squares @ squares)
    # Residuals of two values ±c have the same square everywhere.
    if total <= 1e-20 * len(r) * float(np.mean(r**2)) ** 2:
        return 0.0, basis.shape[1]
    return len(r) * float(np.sum((basis.T @ squares) ** 2)) / total, basis.shape[1]


def simple_patterns(r: Array) -> list[Check]:
    """For each pair of residuals: is there more between them than a line? One check a pair.

    A curve: F test of cos kπz, k = 1 … WAVES, z the ranks of r₁, beyond the line of r₂ on r₁ (a smooth
    test in the sense of Neyman 1937; Eubank & Spiegelman 1990). A common spread: what the line leaves of
    r₂ has squares that follow r₁ (Breusch-Pagan); for a bivariate normal corr(r₁², r₂²) = ρ² and they do
    not. A line between residuals that are not normal shows neither in one of the two ways round, and a
    slight curve in the other: suspected is what shows in both ways, or a strong curve in one.
    """
    r = r[:ROWS]
    return [_pair_check(r[:, i], r[:, j], (i, j)) for i, j in combinations(range(r.shape[1]), 2)]


def _pair_check(first: Array, second: Array, columns: tuple[int, int]) -> Check:
    name = "simple patterns among residuals"
    if len(first) < FEWEST + WAVES or not (_left(first) and _left(second)):
        return _untested(name, columns)
    first, second = first / np.max(np.abs(first)), second / np.max(np.abs(second))
    ways = []
    for a, b in ((first, second), (second, first)):
        _, left, _ = line(a[:, None], b)
        if not left.any():
            return Check(name, columns, 0.0, None, False, "an exact line: no sign against it")
        bend, p_bend, share = _bend(a, b)
        follows, freedom = breusch_pagan(a[:, None], left)
        effect = (follows - freedom) / len(a)
        p_follows = float(stats.chi2.sf(follows, freedom))
        # Two looks at the same pair, so each p-value counts twice (Bonferroni).
        curve = _judged(
            name, columns, "curve beyond the line, F", bend, min(1.0, 2 * p_bend), share, PATTERN
        )
        spread = _judged(
            name,
            columns,
            "common spread, Breusch-Pagan",
            follows,
            min(1.0, 2 * p_follows),
            effect,
            SPREAD,
        )
        # With few rows the share itself is uncertain, by about 1/√n.
        if curve.suspected and share >= STRONG + 1.5 / np.sqrt(len(a)):
            return curve
        ways.append(min(curve, spread, key=_mildness))
    return max(ways, key=_mildness)


def _mildness(check: Check) -> tuple[bool, float]:
    return not check.suspected, 1.0 if check.p_value is None else check.p_value


def _bend(first: Array, second: Array) -> tuple[float, float, float]:
    """F, p-value and share of variance, less that by chance, of a curve of ``second`` over ``first``."""
    z = (stats.rankdata(first) - 0.5) / len(first)
    waves = np.cos(np.pi * z[:, None] * np.arange(1, WAVES + 1))
    straight, _, one = line(first[:, None], second)
    curved, _, rank = line(np.column_stack([first, waves]), second)
    extra, spare = rank - one, len(first) - rank - 1
    if extra == 0 or curved >= 1:
        return 0.0, 1.0, 0.0
    statistic = (curved - straight) / extra * spare / (1 - curved)
    return (
        statistic,
        float(stats.f.sf(statistic, extra, spare)),
        curved - straight - extra * (1 - curved) / spare,
    )


def single_valued(s: Array, u: Array, r: Array) -> list[Check]:
    """Are there two values of x for one s? Then the residuals have two humps around the mean.

    Excess mass (Müller & Sawitzki 1991): Δ = max over λ of E₂(λ) - E₁(λ), with E_m(λ) the largest
    F(I) - λ|I| over m intervals I; it is twice the dip of Hartigan & Hartigan (1985). Unlike
    Sarle's coefficient it does not take skewness for a second hump. The residuals are divided by
    the mean |r| of their nearest neighbours in S, since branches that meet hide each other.
    """
    s, u, r = s[:ROWS], u[:ROWS], r[:ROWS]
    if len(r) < FEWEST:
        return [_untested("single-valued mapping", (j,)) for j in range(r.shape[1])]
    near = _neighbours(s)
    return [_hump_check(near, u[:, j], r[:, j], j) for j in range(r.shape[1])]


def _hump_check(near: Rows, u: Array, r: Array, column: int) -> Check:
    name, n = "single-valued mapping", len(r)
    if not _left(r, u):
        return _untested(name, (column,))
    even = _unrounded(u + r) - u
    spread = np.abs(even)[near].mean(axis=1)
    mass = excess_mass(even / np.maximum(spread, 0.05 * spread.mean()))
    # Tail of √n Δ for uniform values, the worst that a single hump can do; simulated, n = 30 … 1,000.
    p = float(min(1.0, 4.0 * np.exp(-4.4 * n * mass**2)))
    return _judged(name, (column,), "excess mass", mass, p, mass, HUMP)


def excess_mass(x: Array) -> float:
    """Δ of some values, with λ on a grid around the density that their middle would have if uniform."""
    z, n = np.sort(x), len(x)
    low, high = np.quantile(z, [0.1, 0.9])
    z = (z - z[n // 2]) / (high - low if high > low else 1.0)
    slope = np.geomspace(0.1, 5.0, 80)[:, None]
    # An interval from z_i to z_j holds (j - i + 1)/n: ``opened`` is its cost at i, ``closed`` its gain at j.
    opened = slope * z - np.arange(n) / n
    closed = np.arange(1, n + 1) / n - slope * z
    one = np.maximum.accumulate(closed + np.maximum.accumulate(opened, axis=1), axis=1)
    two = np.max(closed[:, 1:] + np.maximum.accumulate(opened[:, 1:] + one[:, :-1], axis=1), axis=1)
    return float(max(np.max(two - one[:, -1]), 0.0))


def _neighbours(s: Array) -> Rows:
    """For each row the nearest others in standardised S."""
    n, spread = len(s), s.std(axis=0)
    scaled = (s - s.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    size = min(n - 1, 10 + int(np.sqrt(n)))
    _, near = spatial.cKDTree(scaled).query(scaled, k=size + 1)
    # Among rows of equal S a row need not come first, nor at all: then the farthest goes instead.
    itself = near == np.arange(n)[:, None]
    itself[~itself.any(axis=1), -1] = True
    return np.asarray(near[~itself].reshape(n, size))


def _unrounded(x: Array) -> Array:
    """x with its ties spread evenly over the way to the neighbouring values: rounding makes no humps."""
    scale = float(np.max(np.abs(x))) or 1.0
    # x comes as u + r and carries their rounding error: values that near are ties.
    values, place, counts = np.unique(
        np.round(x / scale, 10), return_inverse=True, return_counts=True
    )
    if len(values) == 1:
        return x
    gaps = np.diff(values)
    # The narrower of the two gaps: a heap far from the rest (many zeros, say) is a hump and stays one.
    width = np.minimum(np.append(gaps, gaps[-1]), np.append(gaps[0], gaps))
    order = np.argsort(place, kind="stable")
    rank_in_tie = np.empty(len(x))
    rank_in_tie[order] = np.arange(len(x)) - np.repeat(np.cumsum(counts) - counts, counts)
    even = (rank_in_tie + 0.5) / counts[place] - 0.5
    return np.asarray(scale * (values[place] + even * width[place]))


def _left(r: Array, u: Array | None = None) -> bool:
    """Whether r varies, and by more than ``NO_RESIDUAL`` of x = u + r."""
    varies = float(np.ptp(r)) > 1e-12 * float(np.max(np.abs(r)))
    return varies and (u is None or float(np.std(r)) > NO_RESIDUAL * float(np.std(u + r)))


def _untested(name: str, columns: tuple[int, ...]) -> Check:
    return Check(
        name, columns, 0.0, None, False, "not tested: too few rows, or no residual that varies"
    )


def _judged(
    name: str,
    columns: tuple[int, ...],
    what: str,
    statistic: float,
    p: float,
    effect: float,
    limit: float,
) -> Check:
    """Suspected where both the p-value and the effect say so; the sentence tells which did not."""
    suspected = bool(p < LEVEL and effect >= limit)
    verdict = (
        "violation suspected"
        if suspected
        else "too small to matter"
        if p < LEVEL
        else "no sign against it"
    )
    chance = f"p = {p:.2f}" if p >= 0.01 else f"p = {p:.3f}" if p >= 0.001 else "p < 0.001"
    figure = f"{statistic:.3g}" if statistic < 1000 else f"{statistic:.0f}"
    text = f"{what} {figure}, {chance}, effect {max(effect, 0.0):.2f}: {verdict}"
    return Check(name, columns, float(statistic), float(p), suspected, text)
