"""Sufficiency-based noise addition.

Y = u + α·r + e with u = S·B, r = X - u, e orthogonal to [1, S, X] and Σee = Σr - αΣrα. α = 0 is
EGADP, α near 1 keeps the values near the originals; means and covariances are exact for every α.
A level of noise asks for the α with var(e) = level·var(X): α² = 1 - level·Σxx/Σr, column by column.
(Muralidhar & Sarathy 2008, sections on sufficiency-based noise addition and value disclosure risk.)
"""

from __future__ import annotations

import numpy as np

from ppduck.call.arguments import number, per_column
from ppduck.call.guarantees import Loss, LossKind
from ppduck.call.linear_mask import Request
from ppduck.call.numeric_mask import NumericCall, PerColumn, check_columns
from ppduck.call.parameters import parameter, parameters
from ppduck.call.ranges import Range
from ppduck.call.registry import register
from ppduck.errors import quoted
from ppduck.kernels.linear import Blocks, LinearForm
from ppduck.masks._level import LEVEL, level_up_to
from ppduck.masks._promises import EXACT, EXACT_LOSSES, MANY_RELEASES
from ppduck.masks._regression import regression
from ppduck.masks.egadp import orthogonal_form
from ppduck.stages.linear import linear_mask
from ppduck.values import Array

# Eigenvalues of Σee below this share of the largest of Σr count as zero: such noise would hide nothing.
FLAT = 1e-6
NEAREST = 0.999999  # alpha, at which the noise of a column has about twice that share of its residuals' variance
_OR = "give alpha or level, one of them"


@parameters
class SufficiencyCall(NumericCall):
    alpha: PerColumn | None = parameter(
        per_column(number(Range(0, NEAREST), ": at 1 the confidential values would pass through")),
        f"nearness to the originals; one number or {{column: number}}; {_OR}",
        None,
    )
    level: PerColumn | None = parameter(level_up_to(1), f"{LEVEL.doc}; {_OR}", None)


def solve(blocks: Blocks, request: Request) -> LinearForm:
    coefficients, residual = regression(blocks, request, noise_ranks=2)
    alpha = _alpha(request, residual)
    target = residual - alpha[:, None] * residual * alpha
    _refuse_indefinite(request, residual, target, alpha, blocks.x_scale)
    return orthogonal_form(blocks, request, coefficients, alpha, target)


def _alpha(request: Request, residual: Array) -> Array:
    call: SufficiencyCall = request.call
    if call.level is None:
        assert call.alpha is not None
        return request.per_column(call.alpha)
    level = request.per_column(call.level)
    # Columns are standardised here, so Σxx is 1 and Σr the share of variance that S leaves open.
    square = 1 - level / np.diag(residual)
    faults = request.faults()
    for name, got, share, value in zip(request.conf, level, np.diag(residual), square, strict=True):
        if value < 0:
            faults.add(
                f"level {got:g} is more noise than conf column {quoted(name)} has room for{request.where}: the nonconf "
                f"columns leave {share:.6g} of its variance open. Give a level of at most that, or use egadp_mask."
            )
    faults.raise_if_any()
    return np.asarray(np.sqrt(square))


def _refuse_indefinite(
    request: Request, residual: Array, target: Array, alpha: Array, scale: Array
) -> None:
    """Σee must be positive definite wherever Σr is; a direction that X does not have needs no noise."""
    spread = np.linalg.eigvalsh(residual)
    values = np.linalg.eigvalsh(target)
    floor = FLAT * spread[-1]
    if values[0] >= -floor and np.sum(values > floor) == np.sum(spread > floor):
        return
    raw = target * np.outer(scale, scale)
    rows = ", ".join("[" + ", ".join(f"{value:.4f}" for value in row) + "]" for row in raw)
    smallest = np.linalg.eigvalsh(raw)[0]
    given = ", ".join(
        f"{name}: {value:.6g}" for name, value in zip(request.conf, alpha, strict=True)
    )
    remedy = (
        "values of alpha that are closer to each other, or lower"
        if request.call.alpha is not None
        else "levels that are closer to each other, or higher"
    )
    raise request.refuse(
        f"with alpha {{{given}}} the noise covariance{request.where} would be [{rows}], which is not positive definite "
        f"(smallest eigenvalue {smallest:.4f}). Take {remedy}."
    )


def _check(call: SufficiencyCall, conf: list[str]) -> list[str]:
    if (call.alpha is None) == (call.level is None):
        return ["give either alpha (nearness to the originals) or level (share of noise variance)."]
    return [*check_columns("alpha", call.alpha, conf), *check_columns("level", call.level, conf)]


MASK = register(
    linear_mask(
        "sufficiency_mask",
        SufficiencyCall,
        solve=solve,
        summary="Exact means and covariances with values as near the originals as alpha says; alpha 0 is egadp_mask.",
        reference="Muralidhar & Sarathy 2008, Transactions on Data Privacy 1(1)",
        keeps=EXACT,
        loses=(
            Loss(
                LossKind.EXTREMES,
                "secrecy of extremes above alpha 0: a row stays alpha times as far out as it was, give or "
                "take the noise",
            ),
            Loss(
                LossKind.NEARNESS,
                "protection falls as alpha rises: masked values predict the originals the better the "
                "nearer alpha is to 1",
            ),
            *EXACT_LOSSES,
            MANY_RELEASES,
        ),
        check=_check,
        stays_near=lambda call: call.alpha != 0,
        remedy="a lower alpha (or a higher level), or fewer columns in nonconf",
        example="FROM sufficiency_mask('customers', conf=['x1','x2'], alpha={'x1': 0.6, 'x2': 0.5}, key='id')",
    )
)
