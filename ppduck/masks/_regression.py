"""The regression of X on S with which most linear masks begin, and what they refuse about it."""

from __future__ import annotations

import numpy as np

from ppduck.call.linear_mask import Request
from ppduck.errors import PpduckError, listed, quoted
from ppduck.kernels.linear import Blocks, independent
from ppduck.values import Array

# A conf column with a smaller residual share is as good as a function of nonconf: masked, it would be itself to within
# a thousandth of its standard deviation.
DETERMINED = 1e-6
EXACT = 1e-9


def regression(blocks: Blocks, request: Request, *, noise_ranks: int) -> tuple[Array, Array]:
    """B and Σr of X on S, after the checks: rows enough, and something left to hide.

    ``noise_ranks`` is how many times q directions the mask needs beside S and the constant: 1 to
    scale noise to Σr, 2 to make it orthogonal to X before.
    """
    refuse_few(blocks, request, noise_ranks=noise_ranks)
    coefficients, residual = blocks.regression_of_x()
    refuse_inexact(request, blocks.ss, coefficients, blocks.sx)
    faults = request.faults()
    for name, share in zip(request.conf, np.diag(residual), strict=True):
        if share < DETERMINED:
            faults.add(
                f"conf column {quoted(name)} is a linear function of the nonconf columns{request.where} "
                f"(R² = {1 - max(share, 0):.7f}), so its masked values would be the originals; leave the columns that "
                "determine it out of nonconf and drop them."
            )
    faults.raise_if_any()
    return coefficients, residual


def refuse_few(blocks: Blocks, request: Request, *, noise_ranks: int) -> None:
    p = len(independent(blocks.ss))
    needed = p + noise_ranks * blocks.q + 2
    if blocks.n < needed:
        times = "" if noise_ranks == 1 else str(noise_ranks)
        raise request.refuse(
            f"{blocks.n} rows{request.where} are too few; at least {needed} are needed (p + {times}q + 2 with p = {p} "
            f"independent nonconf columns and q = {blocks.q} conf columns). Name fewer columns in nonconf or conf"
            + (", or merge small groups." if request.group else ".")
        )


def refuse_ill_conditioned(request: Request, coefficients: Array) -> None:
    """Nearly collinear columns get large coefficients of opposite sign, in which the sums' last digits come up.

    ``coefficients`` are of standardised S and X. An error of 1e-15 in the covariances shows in the
    masked variance multiplied by their squared size.
    """
    size = np.abs(coefficients).sum(axis=0).max(initial=0.0)
    if 1e-15 * size**2 > EXACT:
        order = np.argsort(-np.abs(coefficients).max(axis=1))
        raise _nearly_collinear(request, order[:2].tolist())


def refuse_inexact(request: Request, covariance: Array, coefficients: Array, cross: Array) -> None:
    """A column that was taken for a combination of others must be one: the normal equations hold for it too."""
    missed = np.abs(covariance @ coefficients - cross).max(axis=1, initial=0.0)
    if missed.max(initial=0.0) > EXACT:
        partner = covariance[int(missed.argmax())].copy()
        partner[int(missed.argmax())] = 0
        raise _nearly_collinear(request, [int(missed.argmax()), int(np.abs(partner).argmax())])


def _nearly_collinear(request: Request, columns: list[int]) -> PpduckError:
    names = [*request.features, *request.conf]
    worst = sorted({names[i] for i in columns})
    return request.refuse(
        f"columns {listed(worst)} are so nearly collinear{request.where} that moments cannot be kept to {EXACT:g}; "
        "leave one of them out, or replace one by their difference in a SELECT."
    )
