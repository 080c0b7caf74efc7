"""What two randomized answers to the same question tell together.

P[i, j] is the probability that level j is published as i. Two answers that were drawn apart have the joint matrix
Pr(a, b | j) = P[a, j]·Q[b, j], of which the shares π of the levels are estimated by maximum likelihood; the best guess
is the level with the largest π_j·Pr(a, b | j), and right with probability Σ_ab max_j π_j Pr(a, b | j)
(Guo 2010, section 5.2, of one answer).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ppduck.interrupts import check_interrupt
from ppduck.values import Array

_STEPS = 5_000
_GAIN = 1e-9  # of the mean log-likelihood that is still to be had


def joint(first: Array, second: Array) -> Array:
    """Pr(a, b | j) as a matrix, a row for each pair of answers in C order."""
    size = first.shape[1]
    return np.asarray((first[:, None, :] * second[None, :, :]).reshape(-1, size))


def shares(counts: Array, matrix: Array) -> Array:
    """The π that makes the counts of the answers most likely, by EM: π ← π · Mᵀ(λ̂/Mπ).

    No π has a mean log-likelihood more than max Mᵀ(λ̂/Mπ) - 1 above (see ``distortion.most_likely``).
    """
    observed = counts / counts.sum()
    found = np.full(matrix.shape[1], 1 / matrix.shape[1])
    for _ in range(_STEPS):
        check_interrupt()
        expected = matrix @ found
        ratio = np.divide(observed, expected, out=np.zeros_like(expected), where=expected > 0)
        slope = matrix.T @ ratio
        found = found * slope
        found /= found.sum()
        if np.max(slope) - 1 <= _GAIN:
            break
    return np.asarray(found)


def right_on_average(pi: Array, matrix: Array) -> float:
    """The probability that the best guess from an answer is right."""
    return float(np.sum(np.max(matrix * pi, axis=1)))


def certainty(pi: Array, matrix: Array) -> Array:
    """The posterior probability of the best guess from each answer; 0 of answers that cannot be."""
    weighed = matrix * pi
    total = weighed.sum(axis=1)
    best = np.max(weighed, axis=1)
    return np.asarray(np.divide(best, total, out=np.zeros_like(best), where=total > 0))


def guesses(pi: Array, matrix: Array) -> npt.NDArray[np.intp]:
    """The best guess from each answer; of equal ones the first."""
    return np.asarray(np.argmax(matrix * pi, axis=1))
