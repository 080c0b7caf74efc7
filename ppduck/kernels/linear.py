"""Linear algebra that the linear masks share, on standardised covariance blocks of [S, X, V]."""

from __future__ import annotations

import numpy as np

from ppduck.frozen import frozen
from ppduck.libraries import linalg
from ppduck.values import Array, Moments

# A column whose residual share of variance is below this counts as a combination of the others.
COLLINEAR = 1e-12


@frozen
class LinearForm:
    """Y = intercept + S on_s + X on_x + V on_v, for rows as vectors."""

    intercept: Array
    on_s: Array
    on_x: Array
    on_v: Array


@frozen
class Blocks:
    """The covariance of [S, X, V] with S and X in units of their standard deviation.

    Standardising first keeps the small solves well conditioned when columns range from 1e-6 to
    1e6. V may be absent (``v`` of size 0) for masks that do not need the noise's own moments.
    """

    n: int
    p: int
    q: int
    mean: Array
    scale: Array
    cov: Array

    @classmethod
    def from_moments(cls, moments: Moments, p: int, q: int) -> Blocks:
        scale = np.ones(len(moments.mean))
        spread = moments.sd[: p + q]
        scale[: p + q] = np.where(spread > 0, spread, 1.0)
        return cls(
            moments.n, p, q, moments.mean, scale, moments.covariance / np.outer(scale, scale)
        )

    def rows(self, values: Array) -> Array:
        """Rows of [S, X, V] from their values, one row after the other."""
        return values.reshape(-1, self.p + 2 * self.q)

    def parts(self, rows: Array) -> tuple[Array, Array, Array]:
        """S, X and V of such rows."""
        s, x, v = np.split(rows, [self.p, self.p + self.q], axis=1)
        return s, x, v

    @property
    def ss(self) -> Array:
        return self.cov[: self.p, : self.p]

    @property
    def sx(self) -> Array:
        return self.cov[: self.p, self.p : self.p + self.q]

    @property
    def xx(self) -> Array:
        return self.cov[self.p : self.p + self.q, self.p : self.p + self.q]

    @property
    def x_scale(self) -> Array:
        return self.scale[self.p : self.p + self.q]

    def regression_of_x(self) -> tuple[Array, Array]:
        """Coefficients of X on S and the residual covariance Σr = Σxx - Σxs Σss⁻¹ Σsx."""
        coefficients = regress(self.ss, self.sx)
        residual = self.xx - self.sx.T @ coefficients
        return coefficients, (residual + residual.T) / 2

    def residual_noise(self, regressors: int) -> tuple[Array, Array]:
        """V regressed on the first ``regressors`` columns of [S, X]: coefficients and Σb."""
        v = slice(self.p + self.q, None)
        coefficients = regress(self.cov[:regressors, :regressors], self.cov[:regressors, v])
        residual = self.cov[v, v] - self.cov[:regressors, v].T @ coefficients
        return coefficients, (residual + residual.T) / 2

    def noise_equations(self, regressors: int, coefficients: Array) -> tuple[Array, Array, Array]:
        """The normal equations of that regression: covariance, coefficients, and what they should give."""
        v = slice(self.p + self.q, None)
        return self.cov[:regressors, :regressors], coefficients, self.cov[:regressors, v]

    def form(self, on_s: Array, on_x: Array, on_v: Array) -> LinearForm:
        """Undo the standardisation: a form for columns measured from the statistics' centre."""
        inputs = self.scale[: self.p + self.q, None]
        raw = np.vstack([on_s, on_x]) / inputs * self.x_scale
        raw_v = on_v * self.x_scale
        mean = self.mean
        # Y has the mean of X: what the other terms contribute on average is taken off again.
        intercept = mean[self.p : self.p + self.q] - mean[: self.p + self.q] @ raw
        measured = mean[self.p + self.q :]  # of noise, where its moments were taken
        if len(measured):
            intercept = intercept - measured @ raw_v
        return LinearForm(intercept, raw[: self.p], raw[self.p :], raw_v)


def independent(covariance: Array) -> list[int]:
    """Columns that span the rest, by pivoted Cholesky on a correlation-scaled matrix."""
    if covariance.shape[0] == 0:
        return []
    _, pivots, rank, info = linalg.lapack.dpstrf(covariance, tol=COLLINEAR, lower=1)
    if info < 0:
        raise ValueError(f"dpstrf refused argument {-info}")
    return sorted(int(pivot) - 1 for pivot in pivots[:rank])


def regress(covariance: Array, cross: Array) -> Array:
    """Least-squares coefficients from covariances; a collinear regressor gets coefficient 0."""
    keep = independent(covariance)
    coefficients = np.zeros_like(cross)
    if keep:
        factor = np.linalg.cholesky(covariance[np.ix_(keep, keep)])
        coefficients[keep] = linalg.cho_solve((factor, True), cross[keep])
    return coefficients


def root(covariance: Array, power: float = 0.5) -> Array:
    """Symmetric power of a positive semi-definite matrix; directions of no variance stay 0."""
    values, vectors = np.linalg.eigh(covariance)
    floor = max(values[-1], 0.0) * COLLINEAR
    powers = np.where(values > floor, np.maximum(values, floor if floor > 0 else 1.0) ** power, 0.0)
    return np.asarray((vectors * powers) @ vectors.T)


def scaled_noise(target: Array, noise: Array) -> Array:
    """M with b M of covariance ``target`` where b has covariance ``noise``: Σb^-½ Σr^½."""
    return root(noise, -0.5) @ root(target)
