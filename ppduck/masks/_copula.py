"""The solve of the rank-based masks: EGADP on normal scores, with the correlations of a normal copula.

z = Φ⁻¹((mid-rank - ½)/n) for X and every numeric S, categories as indicators; Y* = S*·B + e with the
correlations of a normal copula and e orthogonal to S* and X*. (Al-Ahmadi 2006, section II.2.3; Sarathy,
Muralidhar & Parsa 2002; Muralidhar & Sarathy 2006.)
"""

from __future__ import annotations

import math

import numpy as np

from ppduck import notes
from ppduck.call.linear_mask import Request
from ppduck.errors import quoted
from ppduck.kernels import copula, nearness
from ppduck.kernels.linear import Blocks, LinearForm
from ppduck.masks._regression import DETERMINED, refuse_few, refuse_inexact
from ppduck.values import Array


def solve(blocks: Blocks, request: Request) -> LinearForm:
    refuse_few(blocks, request, noise_ranks=2)
    wanted = _rank_correlations(request)
    _refuse_determined(blocks, request, wanted)
    scored = [feature in request.measured for feature in request.features]
    form, missed = copula.calibrated(blocks, wanted, request.sample, scored)
    _warn_of_missed(request, missed, blocks.n)
    on_regressors, _ = blocks.residual_noise(blocks.p + blocks.q)
    refuse_inexact(request, *blocks.noise_equations(blocks.p + blocks.q, on_regressors))
    return form


def _rank_correlations(request: Request) -> Array:
    """Correlations of mid-ranks (indicators as they are) from their sums of products about the middle."""
    moments = request.ranks
    assert moments is not None
    sd = np.where(moments.sd > 0, moments.sd, 1.0)
    return np.asarray(moments.covariance / np.outer(sd, sd))


def _refuse_determined(blocks: Blocks, request: Request, wanted: Array) -> None:
    """A column that follows nonconf in every rank would come out as it is."""
    _, residual = blocks.regression_of_x()
    faults = request.faults()
    for j, name in enumerate(request.conf):
        alone = np.abs(wanted[: blocks.p, blocks.p + j]).max(initial=0.0)
        if residual[j, j] < DETERMINED or alone > 1 - DETERMINED:
            faults.add(
                f"conf column {quoted(name)} follows the nonconf columns{request.where} in every rank, so its masked "
                "values would be the originals; leave the columns that determine it out of nonconf and drop them."
            )
    faults.raise_if_any()


def _warn_of_missed(request: Request, missed: Array, n: int) -> None:
    """Rank correlations that no normal copula gives, such as some of columns with many equal values."""
    worst = np.unravel_index(int(np.abs(missed).argmax()), missed.shape) if missed.size else (0, 0)
    if missed.size and abs(missed[worst]) > max(3 / math.sqrt(n), 0.005):
        names = [*request.features, *request.conf]
        sentence = (
            f"the rank correlation of {quoted(names[worst[0]])} and {{columns}} does not come out{{groups}}: equal "
            "values or the shape of the relation allow no better."
        )
        off = float(abs(missed[worst]))
        notes.add(request.note(sentence, request.conf[worst[1]], f"{off:.3f} off", off))


def staying(blocks: Blocks, request: Request, form: LinearForm) -> Array:
    """The share of rows of the sample whose value, put into the order of masked scores, is the one they had."""
    rows = request.sample
    _, x, _ = blocks.parts(rows)
    masked = rows @ np.vstack([form.on_s, form.on_x, form.on_v])
    found = np.empty(blocks.q)
    for j, (score, own) in enumerate(zip(masked.T, x.T, strict=True)):
        shuffled = np.empty_like(own)
        shuffled[np.argsort(score, kind="stable")] = np.sort(own)
        found[j] = nearness.staying(own, shuffled)
    return found
