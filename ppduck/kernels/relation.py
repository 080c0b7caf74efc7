"""E(X|S) by least-squares support vector machines with a radial basis kernel.

LS-SVM is kernel ridge regression with an unpenalised bias: [0 1ᵀ; 1 K + I/γ][b; α] = [0; y]
(Suykens & Vandewalle 1999; Al-Ahmadi 2006, Appendix C step 1). Width and γ minimise
GCV = n RSS / (n - a df)² (Golub, Heath & Wahba 1979; a = 1.4 after Kim & Gu 2004); beyond EXACT_ROWS
a Nyström approximation stands in.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ppduck.frozen import frozen
from ppduck.interrupts import check_interrupt
from ppduck.kernels.threads import one_thread
from ppduck.libraries import distance, kernel_approximation, linalg
from ppduck.values import Array

EXACT_ROWS = 1_500  # up to here the n × n system itself is solved, which takes n³
LANDMARKS = 300  # points that carry the Nyström approximation beyond that
# Rows on which the kernel's width is chosen, where the system is solved exactly and where by Nyström;
# the ridge, 1/γ, is then chosen on all rows.
SEARCH_ROWS, SEARCH_ROWS_NYSTROEM = 500, 4_000
# What is tried, smoothest first: widths in units of the median distance of rows that differ, and ridges
# 1/γ in units of n, as the eigenvalues of the kernel matrix grow with n.
WIDTHS, RIDGES = np.geomspace(4.0, 0.1, 8), np.geomspace(1e2, 1e-9, 34)
# What a degree of freedom costs in GCV, its a. At 1 the score of noise is nearly the same for all models,
# and now and then a wiggly one wins.
FREEDOM_COST = 1.4
# What a model may know of a single row, lest masked values tell of it: the row's weight in its own
# fitted value, and how much more R² is with the row than with the row left out.
LEVERAGE, OVERFIT = 0.5, 0.05
# Rows at either end of a column that count as being at one place, since none may stand alone.
TAIL = 5
FREEDOM = 1 / 3  # share of the rows that the degrees of freedom may reach, lest the fit interpolate
NO_RESIDUAL = 1e-13  # share of variance below which GCV would compare rounding errors
SPANNED_LANDMARK = 1e-7
SPANNED = 1e-10  # what a point may lack of lying in the span of others for GCV to do without it
# Where standardised values end and distances begin, so that no square of them overflows or vanishes.
_FAR, _NEAR = 1e50, 1e-100
_BLOCK = 1 << 16  # kernel entries that predict holds at once, so that they stay in a core's cache

# Weights, bias, residuals e and 1 - h, h the hat matrix's diagonal, for one column of X.
_Solution = tuple[Array, float, Array, Array]


@frozen(kw_only=True)
class Relation:
    """f(s) = b + Σ_m w_m exp(-|s - c_m|² / 2σ²) in standardised inputs, one σ and γ a column of X.

    ``r2`` is the share of X's variance explained in the training rows, ``r2_left_out`` the same by the
    leave-one-out residuals e_i/(1 - h_ii), ``freedom`` the trace of the hat matrix, bias included,
    and ``exact`` tells the LS-SVM itself from its Nyström approximation.
    """

    centre: Array
    scale: Array
    landmarks: Array
    widths: Array
    weights: Array
    bias: Array
    r2: Array
    r2_left_out: Array
    freedom: Array
    exact: bool
    low: Array  # where standardised inputs end
    high: Array

    def predict(self, s: Array) -> Array:
        """f of every row of ``s``, as (n, q)."""
        if s.shape[1] == 0:
            return np.tile(self.bias, (len(s), 1))
        z = np.clip(_standardised(s, self.centre, self.scale), self.low, self.high)
        result = np.empty((len(z), len(self.widths)))
        columns = [
            (width, np.flatnonzero(self.widths == width)) for width in np.unique(self.widths)
        ]
        rows = max(_BLOCK // len(self.landmarks), 1)
        for start in range(0, len(z), rows):
            block = slice(start, start + rows)
            distances = distance.cdist(z[block], self.landmarks, "sqeuclidean")
            kernel = np.empty_like(distances)
            for width, of_width in columns:
                result[block, of_width] = (
                    _radial(distances, width, kernel) @ self.weights[:, of_width]
                )
        return result + self.bias


@frozen
class _Exact:
    """The LS-SVM of rows ``z``, each of them a landmark."""

    z: Array
    width: float

    @property
    def features(self) -> Array:
        """Φ with ΦΦᵀ = HKH by pivoted Cholesky, of only as many columns as K has rank."""
        factor, pivots, rank, _ = linalg.lapack.dpstrf(
            _kernel(self.z, self.z, self.width), tol=SPANNED, lower=1
        )
        result = np.empty((len(self.z), rank))
        result[pivots - 1] = np.tril(factor[:, :rank])
        return np.asarray(result - result.mean(axis=0))

    def solve(self, y: Array, ridge: float) -> _Solution:
        """The dual system at 1/γ = ``ridge``: with A = K + I/γ, b = 1ᵀA⁻¹y / 1ᵀA⁻¹1 and α = A⁻¹(y - b1).

        e = α/γ and 1 - h = diag(C)/γ for C = A⁻¹ - A⁻¹11ᵀA⁻¹ / 1ᵀA⁻¹1 (Cawley & Talbot 2004).
        """
        system = _kernel(self.z, self.z, self.width)
        system[np.diag_indices_from(system)] += ridge
        factor = linalg.cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        ones, on_y = linalg.cho_solve(
            factor, np.column_stack([np.ones(len(y)), y]), check_finite=False
        ).T
        bias = float(on_y.sum() / ones.sum())
        weights = on_y - bias * ones
        inverse = linalg.lapack.dpotri(factor[0], lower=1, overwrite_c=1)[0]
        return weights, bias, ridge * weights, ridge * (np.diag(inverse) - ones**2 / ones.sum())


@frozen
class _Nystroem:
    """Features φ(s) = Kmm^-½ k(s, c) less their mean, so that ΦΦᵀ ≈ HKH (Williams & Seeger 2001)."""

    features: Array
    root: Array  # Kmm^-½ of the landmarks that are used, 0 for the others
    mean: Array  # of k(s, c) over the rows

    @classmethod
    def of(cls, z: Array, landmarks: Array, width: float) -> _Nystroem:
        # Points that others span would only magnify rounding errors.
        _, pivots, rank, _ = linalg.lapack.dpstrf(
            _kernel(landmarks, landmarks, width), tol=SPANNED_LANDMARK, lower=1
        )
        used = pivots[:rank] - 1
        machine = kernel_approximation.Nystroem(gamma=0.5, n_components=rank, random_state=0).fit(
            landmarks[used] / width
        )
        # The machine takes the points in an order of its own.
        order = used[machine.component_indices_]
        root = np.zeros((rank, len(landmarks)))
        root[:, order] = machine.normalization_
        kernel = _kernel(z, landmarks, width)
        mean = kernel.mean(axis=0)
        kernel -= mean
        return cls(kernel @ root.T, root, mean)

    def solve(self, y: Array, ridge: float) -> _Solution:
        """Ridge regression on the features: β = (ΦᵀΦ + I/γ)⁻¹Φᵀy for y of mean 0."""
        system = self.features.T @ self.features
        system[np.diag_indices_from(system)] += ridge
        inverse = linalg.cho_solve(linalg.cho_factor(system), np.eye(len(system)))
        coefficients = inverse @ (self.features.T @ y)
        weights = self.root.T @ coefficients
        leverages = 1 / len(y) + np.einsum("ij,ij->i", self.features @ inverse, self.features)
        return weights, -float(self.mean @ weights), y - self.features @ coefficients, 1 - leverages


def fit(
    s: Array, x: Array, *, indicators: npt.NDArray[np.bool_] | None = None, discreet: bool = True
) -> Relation:
    """The relation of each column of ``x`` (n, q) to the rows of ``s`` (n, d), given in random order.

    ``indicators`` marks 0/1 columns of ``s``. Their sd would put a rare level far from everything, so
    they stay as they are: two levels of a one-hot category are then √2 apart, as two rows of a
    standardised numeric column are in the root mean square. A ``discreet`` model keeps single rows to
    itself, as one must that values are released by.
    """
    if s.shape[1] == 0:  # nothing to explain X by
        mean, (q, none) = _centre_and_scale(x)[0], (x.shape[1], np.zeros(0))
        weights, zero, one = np.zeros((1, q)), np.zeros(q), np.ones(q)
        return Relation(
            centre=none,
            scale=none,
            landmarks=np.zeros((1, 0)),
            widths=one,
            weights=weights,
            bias=mean,
            r2=zero,
            r2_left_out=zero,
            freedom=one,
            exact=True,
            low=none,
            high=none,
        )
    with one_thread():
        return _fit(s, x, indicators, discreet)[0]


def left_out_errors(
    s: Array, x: Array, *, indicators: npt.NDArray[np.bool_] | None = None
) -> Array:
    """What each row of ``x`` misses its prediction by, made by a model of all other rows: e_i/(1 - h_ii).

    The model is an intruder's, who keeps nothing to himself: a line, and a curve through what the line leaves.
    Width and γ are chosen on all rows.
    """
    with one_thread():
        centre, scale = _centre_and_scale(s)
        basis, sizes, _ = np.linalg.svd(_standardised(s, centre, scale), full_matrices=False)
        basis = basis[:, sizes > sizes.max(initial=0.0) * 1e-10]
        spare = 1 - 1 / len(x) - (basis**2).sum(axis=1)
        centred = x - x.mean(axis=0)
        line = (centred - basis @ (basis.T @ centred)) / np.maximum(spare, NO_RESIDUAL)[:, None]
        if s.shape[1] == 0 or (line**2).sum() <= NO_RESIDUAL * (centred**2).sum():
            return np.asarray(line)
        return _fit(s, line, indicators, discreet=False)[1]


def _fit(
    s: Array, x: Array, indicators: npt.NDArray[np.bool_] | None, discreet: bool
) -> tuple[Relation, Array]:
    centre, sd = _centre_and_scale(s)
    scale = sd if indicators is None else np.where(indicators, 1.0, sd)
    x_centre, x_scale = _centre_and_scale(x)
    z, y = _standardised(s, centre, scale), _standardised(x, x_centre, x_scale)
    n, q = y.shape
    tail = min(TAIL, n // 30) if discreet else 0
    low, high = _ends(z, tail)
    z = np.clip(z, low, high)
    small = n <= EXACT_ROWS
    landmarks = z if small else _drawn(z)

    def machine(rows: Array, width: float) -> _Exact | _Nystroem:
        check_interrupt()
        return _Exact(rows, width) if small else _Nystroem.of(rows, landmarks, width)

    search = slice(SEARCH_ROWS if small else SEARCH_ROWS_NYSTROEM)
    distances = distance.pdist(z[:SEARCH_ROWS])
    apart = distances[distances > _NEAR]
    widths = WIDTHS * (np.median(apart) if len(apart) else 1.0)
    # A single large value is no reason for a wigglier curve.
    tame = np.clip(y, *_ends(y, tail))
    candidates = [_gcv(machine(z[search], width).features, tame[search]) for width in widths]
    scores, freedoms = (np.concatenate(parts) for parts in zip(*candidates, strict=True))
    chosen = widths[_smoothest(scores, freedoms) // len(RIDGES)]

    weights, bias = np.zeros((len(landmarks), q)), np.zeros(q)
    r2, r2_left_out, freedom = np.zeros(q), np.zeros(q), np.ones(q)
    errors = np.zeros((n, q))
    for width in np.unique(chosen):
        of_width = machine(z, width)
        best = _smoothest(*_gcv(of_width.features, tame))
        for j in np.flatnonzero(chosen == width):
            # Ever smoother, until the model knows no single row too well.
            for ridge in n * RIDGES[best[j] :: -1]:
                check_interrupt()
                weights[:, j], bias[j], residuals, spare = of_width.solve(y[:, j], ridge)
                freedom[j] = n - spare.sum()
                left_out = residuals / np.maximum(spare, NO_RESIDUAL)
                # Differences are shares, as the variance of y is 1, or 0 where X is constant.
                variance = (y[:, j] ** 2).mean()
                r2[j] = variance - (residuals**2).mean()
                r2_left_out[j] = variance - (left_out**2).mean()
                errors[:, j] = left_out
                if not discreet or (
                    r2[j] - r2_left_out[j] <= OVERFIT and spare.min() >= 1 - LEVERAGE
                ):
                    break
    if small:
        # Rows that coincide become one landmark: predict pays for each.
        landmarks, member = np.unique(z, axis=0, return_inverse=True)
        weights = np.column_stack([np.bincount(member.reshape(-1), column) for column in weights.T])
    # landmarks that take in every distinct row approximate nothing
    exact = small or len(landmarks) < LANDMARKS
    model = Relation(
        centre=centre,
        scale=scale,
        landmarks=landmarks,
        widths=chosen,
        weights=weights * x_scale,
        bias=x_centre + bias * x_scale,
        r2=r2,
        r2_left_out=r2_left_out,
        freedom=freedom,
        exact=exact,
        low=low,
        high=high,
    )
    return model, errors * x_scale


def _gcv(features: Array, y: Array) -> tuple[Array, Array]:
    """GCV (ridge, column) and degrees of freedom (ridge) over RIDGES, inf where too near interpolation.

    With ΦΦᵀ = UΛUᵀ the fitted values are ȳ + UΛ(Λ + I/γ)⁻¹Uᵀy: one eigendecomposition serves every γ.
    """
    n, y = len(y), y - y.mean(axis=0)
    values, vectors = np.linalg.eigh(features.T @ features)
    kept = values > max(values[-1], 1.0) * 1e-14
    values, vectors = values[kept], vectors[:, kept]
    parts = (vectors.T @ (features.T @ y)) ** 2 / values[:, None]
    ridges = n * RIDGES[:, None]
    left = ridges / (values + ridges)
    total = (y**2).sum(axis=0)
    residual = left**2 @ parts + np.maximum(total - parts.sum(axis=0), 0.0)
    freedom = 1 + (1 - left).sum(axis=1)
    allowed = freedom <= FREEDOM * n
    spare = np.where(allowed, n - FREEDOM_COST * freedom, 1.0)
    score = n * np.maximum(residual, NO_RESIDUAL * total) / spare[:, None] ** 2
    return np.where(allowed[:, None], score, np.inf), freedom


def _smoothest(score: Array, freedom: Array) -> npt.NDArray[np.intp]:
    """For each column the candidate of least GCV; of those that tie, the one of fewest degrees of freedom."""
    as_good = score <= score.min(axis=0) * (1 + 1e-9)
    return np.asarray(np.where(as_good, freedom[:, None], np.inf).argmin(axis=0))


def _centre_and_scale(columns: Array) -> tuple[Array, Array]:
    """Mean and sd of each column, of a constant one its value and 1."""
    # In units of the largest entry, so that squares neither overflow nor vanish.
    peak = np.abs(columns).max(axis=0)
    units = columns / np.where(peak > 0, peak, 1.0)
    constant = (columns == columns[0]).all(axis=0)
    sd = units.std(axis=0) * peak
    return np.where(constant, columns[0], units.mean(axis=0) * peak), np.where(
        constant | (sd == 0), 1.0, sd
    )


def _standardised(columns: Array, centre: Array, scale: Array) -> Array:
    with np.errstate(over="ignore"):
        return np.clip((columns - centre) / scale, -_FAR, _FAR)


def _ends(columns: Array, tail: int) -> tuple[Array, Array]:
    """Where the most extreme values of each column begin, so many at either end."""
    ordered = np.sort(columns, axis=0)
    return ordered[tail], ordered[len(columns) - 1 - tail]


def _radial(distances: Array, width: float, out: Array) -> Array:
    """exp(-d²/2σ²) of squared distances, which ``out`` may overwrite."""
    return np.exp(np.multiply(distances, -0.5 / width**2, out=out), out=out)


def _kernel(z: Array, landmarks: Array, width: float) -> Array:
    distances = distance.cdist(z, landmarks, "sqeuclidean")
    return _radial(distances, width, distances)


def _drawn(z: Array) -> Array:
    """LANDMARKS distinct rows, or all there are, in the order of a fixed shuffle."""
    shuffled = z[np.random.default_rng(0).permutation(len(z))]
    first = np.unique(shuffled, axis=0, return_index=True)[1]
    return shuffled[np.sort(first)[:LANDMARKS]]
