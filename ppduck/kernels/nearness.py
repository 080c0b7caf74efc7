"""How near masked values stay to their originals: correlations, values that stay, values below zero.

Y = c + S·B + X·G + V·A, so that the moments of [S, X, V] tell the correlation of X and Y and the spread of Y - X before
any row is masked. A value on a grid comes back by rounding where |Y - X| is below half a step. What stays is counted
beyond chance, as Cohen's κ = (a - e)/(1 - e) for a share a that is equal and e that would be so in a random order.
"""

from __future__ import annotations

import numpy as np

from ppduck.frozen import frozen
from ppduck.kernels.linear import Blocks, LinearForm, regress
from ppduck.libraries import special
from ppduck.values import Array


@frozen
class Nearness:
    """Of each column: Corr(X, Y), the R² of X on S, and the standard deviations of X, of Y and of Y - X."""

    correlation: Array
    by_nonconf: Array
    spread: Array
    masked_spread: Array
    apart: Array


def nearness(blocks: Blocks, form: LinearForm, terms: list[int]) -> Nearness:
    """Of the first q outputs of a form; ``terms`` are those of S that X is regressed on.

    Noise whose moments were not taken counts as what it was drawn from, independent with variance 1.
    """
    p, q = blocks.p, blocks.q
    size = p + 2 * q
    covariance = np.eye(size)
    covariance[: len(blocks.cov), : len(blocks.cov)] = blocks.cov
    scale = np.ones(size)
    scale[: p + q] = blocks.scale[: p + q]
    on = (
        np.vstack([form.on_s[:, :q].reshape(p, q), form.on_x[:, :q], form.on_v[:, :q]])
        * scale[:, None]
    )
    own = np.vstack([np.zeros((p, q)), np.diag(blocks.x_scale), np.zeros((q, q))])
    masked, apart = (_spread(part, covariance) for part in (on, on - own))
    shared = (own * (covariance @ on)).sum(axis=0)
    product = blocks.x_scale * masked
    correlation = np.divide(shared, product, out=np.zeros(q), where=product > 0)
    coefficients = regress(blocks.cov[np.ix_(terms, terms)], blocks.sx[terms])
    explained = np.einsum("ij,ij->j", blocks.sx[terms], coefficients)
    return Nearness(
        np.clip(correlation, -1, 1), np.clip(explained, 0, 1), blocks.x_scale, masked, apart
    )


def _spread(coefficients: Array, covariance: Array) -> Array:
    variance = (coefficients * (covariance @ coefficients)).sum(axis=0)
    return np.asarray(np.sqrt(np.maximum(variance, 0.0)))


def given_back(found: Nearness, step: Array) -> Array:
    """The share of values on a grid of ``step`` that rounding gives back, beyond chance; 0 where there is no step.

    a = P(|Y - X| < step/2) for a normal difference, e the same where Y has nothing to do with X.
    """
    if not (step > 0).any():
        return np.zeros(len(step))
    half = np.where(step > 0, step, 0.0) / (2 * np.sqrt(2))
    at_random = np.hypot(found.spread, found.masked_spread)
    with np.errstate(divide="ignore", invalid="ignore"):
        missed, missed_at_random = special.erfc(half / found.apart), special.erfc(half / at_random)
        excess = 1 - np.where(missed_at_random > 0, missed / missed_at_random, 0.0)
    return np.where(step > 0, np.clip(np.nan_to_num(excess, nan=1.0), 0, 1), 0.0)


def below_zero(found: Nearness, mean: Array, least: Array) -> Array:
    """About which share of masked values is below 0, for columns whose smallest value ``least`` is not.

    As if X and Y were normal, but no more than if the difference had to reach down from the smallest value, or than
    half of the values that lie within two standard deviations of the difference from 0.
    """
    if not (least >= 0).any():
        return np.zeros(len(least))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.minimum(
            special.ndtr(-mean / found.masked_spread), special.ndtr(-least / found.apart)
        )
        in_reach = special.ndtr((2 * found.apart - mean) / found.spread) - special.ndtr(
            -mean / found.spread
        )
    return np.where(least >= 0, np.nan_to_num(np.minimum(share, in_reach / 2), nan=0.0), 0.0)


def staying(before: Array, after: Array) -> float:
    """The share of pairs that are equal, beyond what chance makes equal: κ; NaN stands for a missing value."""
    present = ~(np.isnan(before) | np.isnan(after))
    before, after = before[present], after[present]
    if not len(before):
        return 0.0
    values, place = np.unique(np.concatenate([before, after]), return_inverse=True)
    counts = (np.bincount(part, minlength=len(values)) / len(before) for part in np.split(place, 2))
    chance = float(np.dot(*counts))
    same = float((before == after).mean())
    return (same - chance) / (1 - chance) if chance < 1 else 0.0


def correlation(before: Array, after: Array) -> float:
    """Corr(X, Y) of the rows that have both; 0 where one of them does not vary."""
    present = ~(np.isnan(before) | np.isnan(after))
    before, after = (
        side[present] - side[present].mean() if present.any() else side[present]
        for side in (before, after)
    )
    length = float(np.linalg.norm(before) * np.linalg.norm(after))
    return float(before @ after) / length if length > 0 else 0.0
