"""Equivalence of fitted values: do a model of the masked data and one of the original predict alike?

f_o are fitted values of the original's model, f_m of the masked data's, both at the same points, and
d = f_m - f_o. An ordinary test finds any trifle once there are rows enough and takes few rows for likeness; here
*unlike* is the null hypothesis, rejected where a two one-sided interval (TOST, size α) lies inside a region.

- mean: mean d ∓ t(1-α, n-1) sd(d)/√n inside ∓ region · base (Robinson & Froese 2004).
- intercept: of f_o on f_m - mean f_m, inside mean f_m ∓ region · base (Robinson, Duursma & Marshall 2005).
- slope: of the same regression, inside 1 ∓ region.

Intercept and slope are two independent tests, each of size 1 - √(1-α): 0.02532 for α = 0.05. Al-Ahmadi (2006),
Section V.3, makes the tests a measure of utility. There the intercept is set against the "observations mean",
which it always equals; here, as in the 2005 paper, against the mean of the predictions f_m.

The base is |mean f_o|, or sd f_o where that is near 0; it counts as known, as do the original's data. The points
are those of one table: an interval tells how d varies over them, not how far either model would move with
another sample or another key.
"""

from __future__ import annotations

from math import ceil, inf, isfinite, nan, sqrt

import numpy as np

from ppduck.frozen import frozen
from ppduck.kernels.threads import one_thread
from ppduck.libraries import special
from ppduck.values import Array

Interval = tuple[float, float, float]  # of deviations from a target: found, lower, upper

SCALES = ("mean", "sd")
FEWEST = 3  # a line leaves n - 2 degrees of freedom
# What is smaller than this beside the fitted values themselves is rounding.
ROUNDING = 1e-11
CELLS = 1 << 20  # rows × resamples held at a time


@frozen
class Tested:
    """One test: its interval, the value it should surround closely, and the smallest region it would pass.

    ``smallest_region`` is a share of the base, for the slope absolute; ``alpha`` is the size of this test.
    """

    test: str
    estimate: float
    lower: float
    upper: float
    target: float
    smallest_region: float
    passed: bool
    alpha: float


@frozen
class FittedMoments:
    """Moments of fitted values (divisor n - 1): all that the parametric tests need.

    Those of d are stored, not derived: where the models agree to ten digits, differences of the other
    moments have none left.
    """

    n: int
    mean_o: float
    mean_m: float
    mean_d: float
    var_o: float
    var_m: float
    var_d: float
    cov_md: float

    def __post_init__(self) -> None:
        _refuse_few(self.n)
        if not all(map(isfinite, vars(self).values())):
            raise ValueError("fitted values must be finite, and so must their variances")

    @classmethod
    def of(cls, f_o: Array, f_m: Array) -> FittedMoments:
        """Of fitted values at hand."""
        if f_o.ndim != 1 or f_o.shape != f_m.shape:
            raise ValueError(
                f"fitted values come in pairs, not in shapes {f_o.shape} and {f_m.shape}"
            )
        _refuse_few(len(f_o))
        o, m, d = f_o - f_o.mean(), f_m - f_m.mean(), f_m - f_o
        mean_d, spare = float(d.mean()), len(d) - 1
        d = d - mean_d
        var_o, var_m, var_d, cov_md = (
            float(a @ b) / spare for a, b in ((o, o), (m, m), (d, d), (m, d))
        )
        return cls(
            len(d), float(f_o.mean()), float(f_m.mean()), mean_d, var_o, var_m, var_d, cov_md
        )

    @property
    def cov(self) -> float:
        """Covariance of f_o and f_m."""
        return self.var_m - self.cov_md

    @property
    def size(self) -> float:
        """How large fitted values are: the unit in which rounding is small."""
        return max(abs(self.mean_o), abs(self.mean_m), sqrt(self.var_o), sqrt(self.var_m))

    def varies(self, variance: float) -> bool:
        """Whether a variance is more than rounding makes of equal values."""
        return sqrt(variance) > ROUNDING * self.size


def fitted_moments(
    n: int, mean_x: Array, cov_x: Array, original: tuple[float, Array], masked: tuple[float, Array]
) -> FittedMoments:
    """Moments of the fitted values a + x'b of two linear models, from those of the predictors: no rows needed.

    Parameters: ``mean_x`` (p,) and ``cov_x`` (p, p; divisor n - 1) of the n points; ``original`` and
    ``masked`` are (a, b). With Σ = cov_x, var d = (b_m - b_o)'Σ(b_m - b_o), so that nothing cancels; for
    predictors far from 0 the intercepts do, unless they stand at ``mean_x`` and that is given as 0.
    """
    (a_o, b_o), (a_m, b_m) = original, masked
    a_d, b_d = a_m - a_o, b_m - b_o
    mean_o, mean_m, mean_d = (
        float(a + mean_x @ b) for a, b in ((a_o, b_o), (a_m, b_m), (a_d, b_d))
    )
    # Of nearly collinear predictors rounding can take a variance below zero.
    var_o, var_m, var_d = (max(float(b @ cov_x @ b), 0.0) for b in (b_o, b_m, b_d))
    return FittedMoments(n, mean_o, mean_m, mean_d, var_o, var_m, var_d, float(b_m @ cov_x @ b_d))


def _refuse_few(n: int) -> None:
    if n < FEWEST:
        raise ValueError(f"{n} fitted values; the tests need at least {FEWEST}")


def corrected(alpha: float) -> float:
    """1 - √(1-α): the size of each of two independent tests that are α jointly."""
    return 1 - sqrt(1 - alpha)


def parametric(moments: FittedMoments, region: float, alpha: float, scale: str) -> list[Tested]:
    """Mean, intercept and slope by Student's t; residuals are taken as independent, normal, of one variance.

    Since f_o = f_m - d, the line of f_o on f_m has slope 1 - b and lies -a off at mean f_m, where a + b (f_m -
    mean f_m) is the line of d: so far as the models agree, a and b are small numbers and not differences of
    large ones. s² = (n-1)(var d - b² var f_m)/(n-2), errors s/√n of a and s/√((n-1) var f_m) of b.
    """
    judge = _Judge(moments, region, alpha, scale)
    n, joint = moments.n, corrected(alpha)

    def around(deviation: float, error: float, size: float, freedom: int) -> Interval:
        reach = float(special.stdtrit(freedom, 1 - size)) * error
        return deviation, deviation - reach, deviation + reach

    mean = around(moments.mean_d, sqrt(moments.var_d / n), alpha, n - 1)
    if not moments.varies(moments.var_m):
        level = around(-moments.mean_d, sqrt(moments.var_o / n), joint, n - 1)
        return judge.verdicts(mean, level, None)
    slope = moments.cov_md / moments.var_m
    left = max(moments.var_d - slope * moments.cov_md, 0.0) * (n - 1) / (n - 2)
    level = around(-moments.mean_d, sqrt(left / n), joint, n - 2)
    return judge.verdicts(
        mean, level, around(-slope, sqrt(left / (n - 1) / moments.var_m), joint, n - 2)
    )


def bootstrap(
    f_o: Array,
    f_m: Array,
    region: float,
    alpha: float,
    scale: str,
    *,
    resamples: int,
    seed: int = 0,
) -> list[Tested]:
    """The same with percentile intervals of resampled pairs, whatever the residuals' distribution.

    f_m is centred once, at its mean over all rows, so that the intercept of each resample is the line's
    height at that point (Robinson, Duursma & Marshall 2005). A resample without two different f_m has
    no slope: it counts as beyond either end, since leaving it out would narrow the interval.
    """
    moments = FittedMoments.of(f_o, f_m)
    judge, joint = _Judge(moments, region, alpha, scale), corrected(alpha)
    if resamples * joint < 1:
        raise ValueError(
            f"resamples must be at least {ceil(1 / joint)} for alpha {alpha}, not {resamples}"
        )
    m, d = f_m - moments.mean_m, f_m - f_o
    # Units near 1, so that squares neither overflow nor vanish.
    m_unit, d_unit = sqrt(moments.var_m) or 1.0, float(np.max(np.abs(d))) or 1.0
    m, d = m / m_unit, d / d_unit
    mean_m, mean_d, mean_mm, mean_md = _resampled(
        np.column_stack([m, d, m * m, m * d]), resamples, seed
    ).T
    spread = mean_mm - mean_m**2
    exists = (spread > 1e-12 * mean_mm) & moments.varies(moments.var_m)
    slope = np.where(exists, (mean_md - mean_m * mean_d) / np.where(exists, spread, 1.0), 0.0)
    level, slope = (mean_d - slope * mean_m) * d_unit, slope * d_unit / m_unit
    # If d does not vary at all, neither would the slope of such a resample.
    beyond = np.where(exists | (not moments.varies(moments.var_d)), 0.0, inf)

    def within(found: float, values: Array, size: float, far: Array | float = 0.0) -> Interval:
        # Order statistics, the outer ones: interpolation knows no infinity.
        lower = np.quantile(values - far, size, method="lower")
        return found, float(lower), float(np.quantile(values + far, 1 - size, method="higher"))

    mean = within(moments.mean_d, mean_d * d_unit, alpha)
    height = within(-moments.mean_d, -level, joint)
    if not moments.varies(moments.var_m):
        return judge.verdicts(mean, height, None)
    return judge.verdicts(
        mean, height, within(-moments.cov_md / moments.var_m, -slope, joint, beyond)
    )


def _resampled(values: Array, resamples: int, seed: int) -> Array:
    """Column means of rows drawn with replacement, a row for each resample; as counts times values, in blocks."""
    rng, n = np.random.default_rng(seed), len(values)
    means = []
    with one_thread():  # so that sums do not depend on the machine's threads
        for start in range(0, resamples, block := max(1, CELLS // n)):
            size = min(block, resamples - start)
            drawn = rng.integers(0, n, size=(size, n)) + n * np.arange(size)[:, None]
            counts = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n)
            means.append(counts @ values / n)
    return np.concatenate(means)


@frozen
class _Judge:
    """Intervals of deviations from the target, turned into verdicts."""

    moments: FittedMoments
    region: float
    alpha: float
    scale: str

    def __post_init__(self) -> None:
        if not 0 <= self.region < inf:
            raise ValueError(f"region must be 0 or more, and finite, not {self.region}")
        if not 0 < self.alpha < 0.5:
            raise ValueError(f"alpha must be between 0 and 0.5, not {self.alpha}")
        if self.scale not in SCALES:
            raise ValueError(f"scale must be one of {', '.join(SCALES)}, not {self.scale}")

    def verdicts(self, mean: Interval, level: Interval, slope: Interval | None) -> list[Tested]:
        base = abs(self.moments.mean_o) if self.scale == "mean" else sqrt(self.moments.var_o)
        size, joint = self.moments.size, corrected(self.alpha)
        tested = [
            self._tested("mean", 0.0, mean, base, size, self.alpha),
            self._tested("intercept", self.moments.mean_m, level, base, size, joint),
        ]
        if slope is None:
            # Constant f_m has no slope. Beside the same constant f_o there is nothing it could have got wrong.
            same = not self.moments.varies(self.moments.var_o) and all(
                test.passed for test in tested
            )
            slope = (0.0, 0.0, 0.0) if same else (nan, nan, nan)
        return [*tested, self._tested("slope", 1.0, slope, 1.0, 1.0, joint)]

    def _tested(
        self, test: str, target: float, interval: Interval, base: float, size: float, alpha: float
    ) -> Tested:
        far = max(abs(interval[1]), abs(interval[2]))
        # Differences that are rounding pass any region, even of a base that is 0; no others pass that, nor does NaN.
        known = base > ROUNDING * size and far < inf
        smallest = 0.0 if far <= ROUNDING * size else far / base if known else inf
        estimate, lower, upper = (target + deviation for deviation in interval)
        return Tested(
            test, estimate, lower, upper, target, smallest, bool(smallest <= self.region), alpha
        )
