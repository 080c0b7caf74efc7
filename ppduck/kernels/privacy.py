"""What a distortion matrix protects: local differential privacy, amplification, posteriors, reconstruction."""

from __future__ import annotations

import math

import numpy as np

from ppduck.frozen import frozen
from ppduck.kernels.distortion import condition
from ppduck.values import Array


@frozen
class Privacy:
    """The measures of one design; those of several columns together multiply."""

    keep: float
    gamma: float
    jeopardy: float
    reconstruction: float
    condition: float

    @property
    def epsilon(self) -> float:
        return math.log(self.gamma)

    @property
    def mask_privacy(self) -> float:
        return 1.0 - self.reconstruction

    def posterior_upper(self, rho1: float) -> float:
        """The most that any property of prior probability rho1 can come to (Evfimievski et al. 2003)."""
        return (
            1.0 if math.isinf(self.gamma) else self.gamma * rho1 / (1.0 + (self.gamma - 1.0) * rho1)
        )

    def posterior_lower(self, rho1: float) -> float:
        return 0.0 if math.isinf(self.gamma) else rho1 / (rho1 + self.gamma * (1.0 - rho1))

    def times(self, other: Privacy) -> Privacy:
        """Two columns randomized independently, of which both are seen. Jeopardy alone does not multiply."""
        return Privacy(
            self.keep * other.keep,
            self.gamma * other.gamma,
            math.nan,
            self.reconstruction * other.reconstruction,
            self.condition * other.condition,
        )


def reconstruction_of_levels(matrix: Array, prior: Array) -> Array:
    """Pr(j → j) = Σ_i P[i, j]·Pr(j | i) for every level j: the chance that a guess by the posterior finds it again.

    Guo (2010), equations 5.5, 5.7 and 5.8; of a level with prior 0 it is 0.
    """
    joint = matrix * prior
    total = joint.sum(axis=1, keepdims=True)
    posterior = np.divide(joint, total, out=np.zeros_like(joint), where=total > 0)
    return np.asarray((matrix * posterior).sum(axis=0))


def privacy_of(matrix: Array, prior: Array) -> Privacy:
    """The measures of one matrix P[i, j] = Pr(published i | j).

    gamma is the largest P[i, j]/P[i, k]; jeopardy the largest Pr(i | j)/Pr(i | not j) under the prior;
    reconstruction Σ_j π_j Σ_i P[i, j]·Pr(j | i), the chance that guessing by the posterior is right.
    """
    shown = matrix[matrix.max(axis=1) > 0]  # a level that is never published tells nothing
    with np.errstate(divide="ignore", invalid="ignore"):
        gamma = float(np.max(shown.max(axis=1) / shown.min(axis=1)))
        joint = shown * prior
        total = joint.sum(axis=1, keepdims=True)
        others = (total - joint) / (1.0 - prior)
        ratios = shown / others
        ratios = np.fmax(ratios, 1.0 / ratios)  # a response may speak for a level or against it
    ratios = ratios[:, (prior > 0) & (prior < 1)]
    jeopardy = float(np.nanmax(ratios)) if ratios.size else 1.0
    reconstruction = float(prior @ reconstruction_of_levels(matrix, prior))
    return Privacy(
        float(np.max(np.diag(matrix))), gamma, jeopardy, reconstruction, condition(matrix)
    )
