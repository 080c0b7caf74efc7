"""The normal copula behind rank-based masks: correlations of scores that give wanted correlations of ranks.

For a normal copula ρ_Spearman = (6/π) arcsin(r/2), so r = 2 sin(πρ/6) (Pearson 1907; used by Sarathy,
Muralidhar & Parsa 2002). Other copulas, ties and few rows miss this by some hundredths; what is missed is
measured on a sample of the rows themselves, and corrected.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ppduck.kernels.linear import Blocks, LinearForm, regress, scaled_noise
from ppduck.libraries import special
from ppduck.values import Array, Moments

# Targets are corrected in up to ROUNDS rounds on FEW rows of the sample, and if it has more, in
# LAST_ROUNDS on all of them; rounds end once every rank correlation is within NEAR_ENOUGH.
ROUNDS, LAST_ROUNDS = 10, 2
FEW = 20_000
NEAR_ONE = 0.9999
NEAR_ENOUGH = 1e-4
# What eigenvalues of the noise's covariance are raised to, where wanted correlations leave none.
FLOOR = 1e-6


def normal_correlation(spearman: Array) -> Array:
    """2 sin(πρ/6): the correlation of normal scores for a rank correlation."""
    return np.asarray(2 * np.sin(np.pi * spearman / 6))


def _unit(ranks: Array) -> Array:
    """Ranks about 0 and of length 1, so that products are correlations; 0 for a constant column."""
    centred = ranks - ranks.mean(axis=0)
    lengths = np.linalg.norm(centred, axis=0)
    return np.asarray(centred / np.where(lengths > 1e-9, lengths, 1.0))


def form_of(blocks: Blocks, between: Array, among: Array) -> LinearForm:
    """EGADP on scores: Y* has correlations ``between`` with S* and ``among`` with itself, its noise none with X*.

    B = Σss⁻¹ R_sx, noise of covariance R_xx - R_xs B; where that is not positive definite, its
    eigenvalues are raised to the least that can be.
    """
    p = blocks.p
    coefficients = regress(blocks.ss, between)
    target = _definite(among - between.T @ coefficients)
    on_regressors, noise = blocks.residual_noise(p + blocks.q)
    scaling = scaled_noise(target, noise)
    removed = on_regressors @ scaling
    form = blocks.form(coefficients - removed[:p], -removed[p:], on_v=scaling)
    # Ties leave the scores of X less than unit variance; masked scores have mean 0 and variance 1.
    unit = blocks.x_scale
    centred = (form.intercept - blocks.mean[p : p + blocks.q]) / unit
    return LinearForm(centred, form.on_s / unit, form.on_x / unit, form.on_v / unit)


def _definite(target: Array) -> Array:
    values, vectors = np.linalg.eigh((target + target.T) / 2)
    return np.asarray((vectors * np.maximum(values, FLOOR)) @ vectors.T)


def calibrated(
    blocks: Blocks, wanted: Array, sample: Array, scored: Sequence[bool] | None = None
) -> tuple[LinearForm, Array]:
    """The form whose masked values have the rank correlations ``wanted``, as far as a sample can tell.

    ``wanted`` are those of [S, X]; ``sample`` has rows of [S*, X*, V]; which of S* are ``scored``, and
    not indicators, is told unless all are: Φ of a score is its rank among all rows. Each round masks the sample, looks
    at the rank correlations that come out and moves the targets by what is missed; the round that
    missed least is taken, and what it missed comes with the form, rows as in [S, X], a column for each X.
    """
    p, q = blocks.p, blocks.q
    goal = wanted[:, p:]
    free = np.vstack([np.ones((p, q), dtype=bool), ~np.eye(q, dtype=bool)])
    # A normal copula's value is a good start for all but indicators, and near enough for these.
    target = np.clip(normal_correlation(goal), -NEAR_ONE, NEAR_ONE)
    left = np.zeros_like(goal)
    # The first rounds need not be as good as the last.
    for rows, rounds in ((sample[:FEW], ROUNDS), (sample, LAST_ROUNDS if len(sample) > FEW else 0)):
        s, x, v = blocks.parts(rows)
        # The rows are masked as if they were all there is, so that their correlations are the targets exactly.
        own = Blocks.from_moments(Moments.of(rows), p, q)
        s_ranks = _unit(
            np.where(True if scored is None else np.asarray(scored, dtype=bool), special.ndtr(s), s)
        )
        x_ranks = np.sort(_unit(special.ndtr(x)), axis=0)
        best, least, step = target, np.inf, np.pi / 3
        for _ in range(rounds):
            form = form_of(own, target[:p], _correlations(target[p:]))
            y = form.intercept + s @ form.on_s + x @ form.on_x + v @ form.on_v
            ranks = in_order(x_ranks, y)
            missed = np.where(free, goal - np.vstack([s_ranks.T @ ranks, ranks.T @ ranks]), 0.0)
            worst = float(np.abs(missed).max(initial=0.0))
            if worst < least:
                best, least, left = target, worst, missed
            else:
                step /= 2  # it went too far
            if worst < NEAR_ENOUGH:
                break
            target = np.clip(best + left * step, -NEAR_ONE, NEAR_ONE)
        target = best
    return form_of(blocks, target[:p], _correlations(target[p:])), left


def _correlations(among: Array) -> Array:
    result = among.copy()
    np.fill_diagonal(result, 1.0)
    return result


def in_order(ordered: Array, along: Array) -> Array:
    """Values that are sorted, put into the order of ``along`` column by column: shuffle A by B."""
    result = np.empty_like(ordered)
    for j in range(ordered.shape[1]):
        result[np.argsort(along[:, j], kind="stable"), j] = ordered[:, j]
    return result
