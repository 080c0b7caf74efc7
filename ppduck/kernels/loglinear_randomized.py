"""Loglinear models of a table that was published at random: fitted through the matrices that published it.

The likelihood of published counts n is Σ n ln(P π), π = exp(Xθ)/Σ exp(Xθ) with one column of X for each parameter of
the model. Fisher's scoring finds its maximum. χ² and G² compare the published table with P π̂, so that they follow the
χ² law with the model's own degrees of freedom, which a test on a reconstructed table does not (its cells scatter
more than counts do).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from ppduck.kernels.loglinear import Fit, Generators, parameters, statistics, terms_of
from ppduck.kernels.randomized import along_axes
from ppduck.values import Array

MOST_CELLS = 4_096
_STEPS = 200
_GAIN = 1e-9  # of the log-likelihood of all rows, below which it ends
_HALVINGS = 40


def design(shape: Sequence[int], generators: Generators) -> Array:
    """One column for each parameter but the mean: products of indicators of all levels but the first."""
    columns = []
    for term in sorted(terms_of(generators), key=lambda term: (len(term), term)):
        factors = [np.eye(d)[:, 1:] if axis in term else np.ones((d, 1)) for axis, d in enumerate(shape)]
        columns.append(reduce(lambda one, two: np.asarray(np.kron(one, two)), factors))
    return np.hstack(columns)


def fitted_through(counts: Array, matrices: Sequence[Array], generators: Generators) -> Fit:
    """The model of the table before randomization that makes the published one most likely."""
    shape, n = counts.shape, float(counts.sum())
    x = design(shape, generators)
    seen = counts.ravel()
    transposed = [matrix.T for matrix in matrices]

    def expected(theta: Array) -> tuple[Array, Array]:
        score = x @ theta
        share = np.exp(score - score.max())
        share /= share.sum()
        return share, along_axes(share.reshape(shape), matrices).ravel()

    def likelihood(published: Array) -> float:
        return float(seen[seen > 0] @ np.log(published[seen > 0]))

    theta = np.zeros(x.shape[1])
    share, published = expected(theta)
    reached, gain = likelihood(published), np.inf
    for _ in range(_STEPS):
        ratio = np.divide(seen, published, out=np.zeros_like(seen), where=published > 0)
        back = along_axes(ratio.reshape(shape), transposed).ravel()
        slope = x.T @ (share * (back - share @ back))
        moved = (share[:, None] * (x - share @ x)).reshape(*shape, -1)
        change = along_axes(moved, matrices).reshape(len(seen), -1)
        scaled = change / np.sqrt(np.maximum(published, 1e-300))[:, None]
        information = n * scaled.T @ scaled
        step = np.linalg.lstsq(information, slope, rcond=1e-12)[0]
        gain = 0.0
        for halved in range(_HALVINGS):
            tried = theta + step / 2**halved
            tried_share, tried_published = expected(tried)
            value = likelihood(tried_published)
            if value >= reached:
                gain = value - reached
                theta, share, published, reached = tried, tried_share, tried_published, value
                break
        if gain <= _GAIN:
            break
    fitted = n * published.reshape(shape)
    own = parameters(shape, generators)
    return Fit(n * share.reshape(shape), *statistics(counts, fitted), counts.size - own, own, n, gain)
